"""What a run is to reach: a rate in GB/s or TFLOP/s, or a share of what the card can do, and how far it is.

With several configurations the rate of a run is that of its lowest one: a target is met when each meets it.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal, get_args

from kdiag.codec import DecodeError, decode
from kdiag.errors import KdiagError, WorkloadError
from kdiag.executors.bench import Baseline
from kdiag.records import Gpu, Iteration
from kdiag.rules.load_devices import device_named

Metric = Literal["gbps", "tflops"]
Vendor = Literal["auto", "nvidia", "amd"]
METRICS: tuple[Metric, ...] = get_args(Metric)
UNITS: Mapping[Metric, str] = {"gbps": "GBps", "tflops": "TFLOPS"}


@dataclass(frozen=True)
class Target:
    """What the user asks for, in the words of the command line, of `[target]` in a kdiag.toml and of the journal.

    `target_value` is in GB/s or TFLOP/s, `target_pct_of_peak` in percent, or up to 1 a fraction. None is not given.
    """

    target_metric: Metric | None = None
    target_value: float | None = None
    target_pct_of_peak: float | None = None
    max_iterations: int | None = None
    gpu: Vendor | None = None

    @property
    def pct_of_peak(self) -> float | None:
        share = self.target_pct_of_peak
        return share * 100 if share is not None and share <= 1 else share

    @property
    def named(self) -> bool:
        """Whether a rate is asked for in any way."""
        return any((self.target_metric, self.target_value, self.target_pct_of_peak))

    def over(self, other: Target) -> Target:
        """What is asked for here, then there; a value is not joined by a percentage, nor the other way round."""
        goals = {"target_value", "target_pct_of_peak"}
        skipped = goals if self.target_value or self.target_pct_of_peak else set()
        rest = {name: value for name, value in asdict(other).items() if name not in skipped}
        return Target(**{**rest, **{name: value for name, value in asdict(self).items() if value is not None}})


NO_TARGET = Target()


def from_table(table: object, where: str) -> Target:
    """A target from plain values; keys that it does not have are refused. Raises WorkloadError."""
    try:
        target = decode(Target, table)
    except DecodeError as error:
        names = ", ".join(entry.name for entry in fields(Target))
        raise WorkloadError(f"{where} is no target ({error}); it may have {names}.") from None
    numbers = (target.target_value, target.target_pct_of_peak, target.max_iterations)
    if not all(number is None or 0 < number < math.inf for number in numbers):
        raise WorkloadError(f"{where} has a number that is not above 0, or not finite.")
    if (target.target_pct_of_peak or 0) > 100:
        raise WorkloadError(f"{where} has a target_pct_of_peak above 100.")
    return target


def from_toml(workload: Path | None) -> Target:
    """The `[target]` of a kdiag.toml, or of the folder that holds one. Raises WorkloadError."""
    path = workload / "kdiag.toml" if workload is not None and workload.is_dir() else workload
    if path is None or path.suffix != ".toml" or not path.is_file():
        return NO_TARGET
    try:
        table = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return NO_TARGET  # reading the workload says what is wrong with the file
    return from_table(table.get("target", {}), f"[target] in {path}")


@dataclass(frozen=True)
class Goal:
    """A target against what this card and this workload are.

    `work` by configuration over its milliseconds is its rate in the unit of `metric`; `wanted` is the rate to reach
    and `peak` what the card can do, None if unknown.
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
        if not self.work.keys() <= times_ms.keys():
            return None
        return min(work / times_ms[name] for name, work in self.work.items())

    def rate_of(self, row: Iteration, unedited_ms: Mapping[str, float]) -> float | None:
        """The rate of one iteration, row 0 being the unedited kernel."""
        times = {timing.configuration: timing.candidate_ms for timing in row.timings}
        return self.rate(unedited_ms if row.n == 0 else times)


def goal(target: Target, usual_pct: float | None, baseline: Baseline, gpu: Gpu | None) -> Goal | None:
    """The target in figures; None if none is named and the workload does not say how much work there is.

    `usual_pct` of the peak is what the policy aims at where the user names no figure. The peak is the copy bandwidth
    or matrix rate measured with the baseline, else the card's DRAM bandwidth by its exact name. Raises KdiagError if
    a target is named that cannot be told.
    """
    bound = {row.limited_by for row in baseline.configurations}
    order = METRICS if bound != {"matrix rate"} else METRICS[::-1]
    known = [metric for metric in order if _work(metric, baseline)]
    metric = target.target_metric or next(iter(known), None)
    if metric not in known or metric is None:
        if not target.named:
            return None
        raise KdiagError(
            f"The {metric or 'rate'} of this workload is unknown: let bytes_moved(config) or flops(config) say how much "
            'work there is, or the benchmark print "gbps" or "tflops" in its JSON lines; or leave the target out.'
        )
    peak = _peak(metric, baseline, gpu)
    if peak is None and target.target_value is None and target.pct_of_peak is not None:
        raise KdiagError(
            f"The peak of this card in {UNITS[metric]} is unknown; give --target-metric and --target-value instead."
        )
    share = target.pct_of_peak or usual_pct
    in_percent = peak * share / 100 if peak is not None and share is not None else None
    return Goal(metric, _work(metric, baseline), target.target_value or in_percent, peak)


def described(aim: Goal | None) -> str:
    """What a run is to reach, or why it has no target."""
    if aim is None or aim.wanted is None:
        why = f"the peak of this card in {aim.unit} is unknown" if aim else "only milliseconds are known"
        return f"no target, as {why}"
    return f"target: {aim.wanted:.4g} {aim.unit}"


def _work(metric: Metric, baseline: Baseline) -> dict[str, float]:
    """Rate times milliseconds by configuration; empty unless the rate of every configuration is known."""
    rows = {row.configuration: (row.gbs if metric == "gbps" else row.tflops, row.ms) for row in baseline.configurations}
    work = {name: (rate or 0.0) * ms for name, (rate, ms) in rows.items()}
    return work if all(work.values()) else {}


def _peak(metric: Metric, baseline: Baseline, gpu: Gpu | None) -> float | None:
    measured = baseline.copy_gbs if metric == "gbps" else baseline.matrix_tflops
    card = device_named(gpu.name, gpu.sm_count) if gpu is not None and metric == "gbps" else None
    return measured or (card.dram_gbs if card else None)
