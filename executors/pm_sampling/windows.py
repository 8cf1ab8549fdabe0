"""Runs windows of launches under the sampler until one is accepted, and names what they say. No GPU in here:
the sampler and the launches are behind protocols, so a recorded series can stand in for both.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from kdiag.records import Evidence
from kdiag.rules.load_metrics import load_metrics
from kdiag.rules.load_pm_sampling import MetricSet, SampledMetric, load_metric_set

from .records import SamplingFailed
from .samples import Series, Trimmed, fitting_interval, longer_interval, objection, trim, values_per_metric

WINDOW_MS = 40.0  # 400 samples at 100 us
HOW = {
    "mean": "average over back-to-back launches",
    "active": "average over the time in which an SM had work",
    "launch": "total of the window divided by its launches",
}


class Overflow(Exception):
    """The hardware buffer ran over; a longer sampling interval fills it more slowly."""


@dataclass(frozen=True)
class Launched:
    """What ran in a window: `launches` of `blocks` blocks each, `launch_ms` apart."""

    launches: int
    blocks: int
    launch_ms: float


class Sampler(Protocol):
    """Runs a window and returns what was sampled meanwhile, with what the window says."""

    def record(
        self, metrics: Sequence[str], interval_ns: int, window: Callable[[], Launched]
    ) -> tuple[Series, Launched]:
        """Sample `metrics`, all in one hardware pass, every `interval_ns` from before to after `window()`.

        Raises Overflow and SamplingFailed.
        """
        ...


class Launches(Protocol):
    """Repeats one launch and nothing else."""

    def fill(self, window_ms: float) -> Launched:
        """Launch back to back for about `window_ms`, at least once, and wait for the end."""
        ...

    def expected_ms(self, window_ms: float) -> float:
        """How long `fill(window_ms)` will take."""
        ...


@dataclass(frozen=True)
class Accepted:
    """One window that held the launches alone."""

    trimmed: Trimmed
    launched: Launched
    interval_ns: int


def metric_set(capability: tuple[int, int]) -> MetricSet:
    """The metric set of a card. Raises SamplingFailed where there is none."""
    architecture = "sm_{}{}".format(*capability)
    found = load_metric_set(architecture)
    if found is None:
        raise SamplingFailed(f"There is no set of metrics to sample on {architecture}; use ncu.")
    return found


def runs_of(chosen: MetricSet, passes: Sequence[str]) -> tuple[tuple[SampledMetric, ...], ...]:
    """The hardware passes of the named passes. Raises SamplingFailed for a name that the set does not know."""
    if unknown := [name for name in passes if name not in chosen.passes]:
        raise SamplingFailed(
            f"{chosen.architecture} has no pass {', '.join(unknown)}; it has {', '.join(chosen.passes)}."
        )
    return tuple(run for name in passes for run in chosen.passes[name])


def accepted(sampler: Sampler, launches: Launches, chosen: MetricSet, metrics: Sequence[SampledMetric]) -> Accepted:
    """A window sampled in one hardware pass and proved to hold the launches alone. Raises SamplingFailed."""
    names = tuple(dict.fromkeys([*chosen.window.names, *(metric.name for metric in metrics)]))
    interval: int | None = fitting_interval(chosen.interval_ns, launches.expected_ms(WINDOW_MS))
    while interval is not None:
        fill = partial(launches.fill, WINDOW_MS)
        try:
            series, ran = sampler.record(names, interval, fill)
        except Overflow:
            interval = longer_interval(interval)
            continue
        trimmed = trim(series, chosen.window)
        reason = objection(trimmed, chosen.window, ran.launches, ran.blocks)
        if trimmed is None or reason:
            raise SamplingFailed(str(reason))
        return Accepted(trimmed, ran, interval)
    raise SamplingFailed("The GPU's buffer for samples ran over at every sampling interval; use ncu.")


def sampled_values(windows: Sequence[tuple[Accepted, Sequence[SampledMetric]]]) -> Mapping[str, Evidence]:
    """The observations of all windows, by canonical name; of several values for one name the largest."""
    found: dict[str, tuple[SampledMetric, float]] = {}
    for window, metrics in windows:
        values = values_per_metric(window.trimmed, metrics, window.launched.launches)
        for name, entry in values.items():
            found[name] = max(found.get(name, entry), entry, key=lambda pair: pair[1])
    return {name: _evidence(metric, value) for name, (metric, value) in found.items()}


def _evidence(metric: SampledMetric, value: float) -> Evidence:
    described = load_metrics()[metric.metric]
    text = f"PM sampling, L2 warm: {HOW[metric.reduce]}" + (f"; {metric.difference}" if metric.difference else "")
    return Evidence("metric", metric.name, value * described.scale, described.unit, text=text)


def data_notes(before: Sequence[float], after: Sequence[float]) -> tuple[str, ...]:
    """What to know of the data of launches repeated in place; the numbers are sums over each tensor argument."""
    if not all(map(math.isfinite, after)):
        return ("The arguments hold NaN or infinity after the window, which can change a kernel's time.",)
    if tuple(before) != tuple(after):
        return (
            "A launch changes the data of the next (it works in place or accumulates); the values are of such a chain.",
        )
    return ()
