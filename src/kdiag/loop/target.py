"""What a run is to reach: a rate in GB/s or TFLOP/s, or a percentage of what the card can do, and how far it is.

With several configurations the rate of a run is that of its lowest one: a target is met when each meets it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from kdiag.errors import KdiagError, WorkloadError
from kdiag.executors.bench import Baseline
from kdiag.records import Gpu, Iteration, Scalar
from kdiag.rules.load_devices import device_named

Metric = Literal["gbps", "tflops"]
METRICS: tuple[Metric, ...] = get_args(Metric)
UNITS: Mapping[Metric, str] = {"gbps": "GBps", "tflops": "TFLOPS"}
KEYS = ("target_metric", "target_value", "target_pct_of_peak", "max_iterations", "gpu")


@dataclass(frozen=True)
class Target:
    """What the user asks for. `value` is in GB/s or TFLOP/s, `pct_of_peak` in percent; None is not asked for."""

    metric: Metric | None = None
    value: float | None = None
    pct_of_peak: float | None = None

    def as_dict(self) -> dict[str, Scalar]:
        """Plain values, for the journal."""
        return {"metric": self.metric, "value": self.value, "pct_of_peak": self.pct_of_peak}

    def over(self, other: Target) -> Target:
        """What is asked for here, completed by `other`; a value asked for here is not joined by a percentage from there."""
        asked = self.value is not None or self.pct_of_peak is not None
        goal = self if asked else other
        return Target(self.metric or other.metric, goal.value, goal.pct_of_peak)


NO_TARGET = Target()


@dataclass(frozen=True)
class Goal:
    """A target against what this card and this workload are.

    `work` by configuration divided by its milliseconds is its rate, in the unit of `metric`; `wanted` is the rate to
    reach and `peak` what the card can do at most, None if unknown.
    """

    metric: Metric
    work: Mapping[str, float] = field(default_factory=dict)
    wanted: float | None = None
    peak: float | None = None

    @property
    def unit(self) -> str:
        """GBps or TFLOPS."""
        return UNITS[self.metric]

    def rate(self, times_ms: Mapping[str, float]) -> float | None:
        """The lowest rate of all configurations; None if one was not timed."""
        if not self.work or not self.work.keys() <= times_ms.keys():
            return None
        return min(work / times_ms[name] for name, work in self.work.items())

    def rate_of(self, row: Iteration, unedited_ms: Mapping[str, float]) -> float | None:
        """The rate of one iteration, row 0 being the unedited kernel."""
        times = {timing.configuration: timing.candidate_ms for timing in row.timings}
        return self.rate(unedited_ms if row.n == 0 else times)

    def pct_of_peak(self, rate: float | None) -> float | None:
        """A rate in percent of the peak."""
        return None if rate is None or self.peak is None else 100 * rate / self.peak


def goal(target: Target, usual_pct: float | None, baseline: Baseline, gpu: Gpu | None) -> Goal | None:
    """The target in figures; None if nothing was asked for and the workload does not say how much work there is.

    `usual_pct` of the peak is what the policy aims at where the user names no figure. The peak is the copy bandwidth
    or matrix rate measured with the baseline, else the card's own DRAM bandwidth by its exact name. Raises KdiagError
    if a target is asked for that cannot be told.
    """
    metric = target.metric or _usual_metric(baseline)
    work = _work(metric, baseline) if metric else {}
    if metric is None or not work:
        if target == NO_TARGET:
            return None
        raise KdiagError(
            f"The {metric or 'rate'} of this workload is unknown: let bytes_moved(config) or flops(config) say how much "
            'work there is, or the benchmark print "gbps" or "tflops" in its JSON lines; or leave the target out.'
        )
    peak = _peak(metric, baseline, gpu)
    if peak is None and target.value is None and target.pct_of_peak is not None:
        raise KdiagError(f"The peak of this card in {UNITS[metric]} is unknown; give --target-value instead.")
    share = target.pct_of_peak or usual_pct
    in_percent = peak * share / 100 if peak is not None and share is not None else None
    return Goal(metric, work, in_percent if target.value is None else target.value, peak)


def from_toml(workload: Path | None) -> tuple[Target, Mapping[str, Scalar]]:
    """The `[target]` table of a kdiag.toml (or of the folder that holds one), and its keys that are no target.

    Raises WorkloadError for an unknown key or a value of the wrong kind.
    """
    path = workload / "kdiag.toml" if workload is not None and workload.is_dir() else workload
    if path is None or path.suffix != ".toml" or not path.is_file():
        return NO_TARGET, {}
    try:
        table = tomllib.loads(path.read_text()).get("target", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return NO_TARGET, {}  # reading the workload says what is wrong with the file
    if not isinstance(table, dict) or (unknown := sorted(set(table) - set(KEYS))):
        what = f"has the unknown {', '.join(unknown)}" if isinstance(table, dict) else "is no table"
        raise WorkloadError(f"[target] in {path} {what}; it may have {', '.join(KEYS)}.")
    metric = table.get("target_metric")
    if metric not in (None, *METRICS):
        raise WorkloadError(f"target_metric in {path} is {metric!r}; it is one of {', '.join(METRICS)}.")
    value, share = (_number(path, table, key) for key in ("target_value", "target_pct_of_peak"))
    most = _number(path, table, "max_iterations")
    rest: dict[str, Scalar] = {"max_iterations": None if most is None else int(most), "gpu": table.get("gpu")}
    return Target(metric, value, percent(share)), rest


def percent(share: float | None) -> float | None:
    """A percentage of the peak; up to 1 it is meant as a fraction, 0.7 as 70 %."""
    return share * 100 if share is not None and share <= 1 else share


def _number(path: Path, table: Mapping[str, object], key: str) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise WorkloadError(f"{key} in {path} is {value!r}; it is a number above 0.")
    return float(value)


def _usual_metric(baseline: Baseline) -> Metric | None:
    """TFLOP/s where the matrix rate limits every configuration, GB/s where the bytes are known, else neither."""
    rows = baseline.configurations
    if rows and all(row.limited_by == "matrix rate" for row in rows):
        return "tflops"
    return next((metric for metric in METRICS if _work(metric, baseline)), None)


def _work(metric: Metric, baseline: Baseline) -> dict[str, float]:
    """Rate times milliseconds by configuration; empty unless the rate of every configuration is known."""
    rates = {
        row.configuration: row.gbs if metric == "gbps" else row.tflops for row in baseline.configurations
    }
    work = {row.configuration: (rates[row.configuration] or 0.0) * row.ms for row in baseline.configurations}
    return work if all(work.values()) else {}


def _peak(metric: Metric, baseline: Baseline, gpu: Gpu | None) -> float | None:
    measured = baseline.copy_gbs if metric == "gbps" else baseline.matrix_tflops
    card = device_named(gpu.name, gpu.sm_count) if gpu is not None and metric == "gbps" else None
    return measured or (card.dram_gbs if card else None)
