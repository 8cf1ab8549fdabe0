"""What a series of sampled counters says of one launch: trimming, proofs and reduction. Pure; no GPU.

A sample holds, for each metric, its value over the interval between two timestamps of the GPU. The window is the
span in which the launches ran; outside it the card idles, and its first and last sample are idle in part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kdiag.rules.load_pm_sampling import SampledMetric, Window

IDLE_PCT = 5.0  # below this the card did nothing for the launches
LEAST_BUSY_PCT = 90.0  # a window idle for longer says more of the gaps between launches than of the kernel
LEAST_SAMPLES = 20  # fewer leave an average that the two cut ends can move by 10 %
BLOCKS_TOLERANCE = 0.02
MAX_INTERVAL_NS = 1_600_000
MAX_SAMPLES = 2_000  # of one window; each takes 65 us to evaluate and 15 kB or more of the hardware's buffer


@dataclass(frozen=True)
class Series:
    """Samples in order of time. `starts_ns` and `ends_ns` are GPU timestamps; `values[i]` follows `names`."""

    names: tuple[str, ...]
    starts_ns: tuple[int, ...]
    ends_ns: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]

    def __len__(self) -> int:
        return len(self.values)

    def cut(self, first: int, last: int) -> Series:
        """The samples `first` up to, not with, `last`."""
        chosen = slice(first, last)
        return Series(self.names, self.starts_ns[chosen], self.ends_ns[chosen], self.values[chosen])

    def column(self, name: str) -> tuple[float, ...]:
        index = self.names.index(name)
        return tuple(row[index] for row in self.values)

    def lengths_ns(self) -> tuple[int, ...]:
        return tuple(end - start for start, end in zip(self.starts_ns, self.ends_ns, strict=True))


@dataclass(frozen=True)
class Trimmed:
    """A series without its idle ends. `whole` holds every sample with work; `inner` leaves out the two at the ends."""

    whole: Series
    inner: Series
    busy_pct: float
    active_pct: float


def trim(series: Series, window: Window) -> Trimmed | None:
    """Drop the idle samples at both ends; None when no sample shows work, or only samples at the ends do."""
    usable = _in_order(series)
    working = [index for index, busy in enumerate(usable.column(window.busy)) if busy >= IDLE_PCT]
    if len(working) < 3:
        return None
    first, last = working[0], working[-1]
    inner = usable.cut(first + 1, last)
    busy, active = mean(inner, window.busy), mean(inner, window.active)
    if busy is None or active is None:
        return None
    return Trimmed(usable.cut(first, last + 1), inner, busy, active)


def _in_order(series: Series) -> Series:
    """Without samples that have no length; the hardware may start with one that has no start."""
    starts = series.starts_ns
    kept = [i for i, length in enumerate(series.lengths_ns()) if length > 0 and starts[i] > 0]
    return Series(
        series.names,
        tuple(starts[i] for i in kept),
        tuple(series.ends_ns[i] for i in kept),
        tuple(series.values[i] for i in kept),
    )


def mean(series: Series, name: str) -> float | None:
    """The average of a metric weighted by the length of the samples; None if one of its values is no number."""
    values, lengths = series.column(name), series.lengths_ns()
    if not values or not all(map(math.isfinite, values)):
        return None
    return sum(v * length for v, length in zip(values, lengths, strict=True)) / sum(lengths)


def total(series: Series, name: str) -> float | None:
    """The sum of a metric over all samples; None if one of its values is no number."""
    values = series.column(name)
    return math.fsum(values) if values and all(map(math.isfinite, values)) else None


def objection(trimmed: Trimmed | None, window: Window, launches: int, blocks: int) -> str | None:
    """Why the window does not hold the launches of the target kernel alone, in one sentence; None if it does.

    `blocks` is what one launch asks for. A kernel compiled for clusters starts a power of two times as many.
    """
    if trimmed is None:
        return "No sample shows the card at work; the launches may have run on another GPU."
    if len(trimmed.inner) < LEAST_SAMPLES:
        return f"The window holds {len(trimmed.inner)} samples, and {LEAST_SAMPLES} are needed."
    if trimmed.busy_pct < LEAST_BUSY_PCT:
        return (
            f"The card was busy for {trimmed.busy_pct:.0f} % of the window and {LEAST_BUSY_PCT:.0f} % are needed; "
            "the gaps between launches would be measured with the kernel."
        )
    return _strangers(trimmed, window, launches * blocks) if window.blocks else None


def _strangers(trimmed: Trimmed, window: Window, expected: int) -> str | None:
    """Why another kernel may have run in the window, by the blocks that started in it; None if none did."""
    started = total(trimmed.whole, window.blocks)
    if started is None:
        return "The blocks that started were not counted, so that another kernel cannot be ruled out; try again."
    if _explained(started / expected):
        return None
    return (
        f"{started:.0f} blocks started in the window and the launches explain {expected}: another kernel ran on the "
        "card at the same time; free the card and try again."
    )


def _explained(ratio: float) -> bool:
    return any(abs(ratio / ctas - 1) <= BLOCKS_TOLERANCE for ctas in (1, 2, 4, 8, 16))


def values_per_metric(
    trimmed: Trimmed, metrics: Sequence[SampledMetric], launches: int
) -> Mapping[str, tuple[SampledMetric, float]]:
    """One value per canonical metric, with the entry it comes from. Absent: not a number in some sample."""
    found: dict[str, tuple[SampledMetric, float]] = {}
    for metric in metrics:
        value = _reduced(trimmed, metric, launches)
        if value is not None and (metric.metric not in found or value > found[metric.metric][1]):
            found[metric.metric] = (metric, value)
    return found


def _reduced(trimmed: Trimmed, metric: SampledMetric, launches: int) -> float | None:
    if metric.reduce == "launch":
        whole = total(trimmed.whole, metric.name)
        return None if whole is None else whole / launches
    value = mean(trimmed.inner, metric.name)
    if value is None or metric.reduce == "mean":
        return value
    return value / (trimmed.active_pct / 100) if trimmed.active_pct > 0 else None


def fitting_interval(interval_ns: int, window_ms: float) -> int:
    """`interval_ns`, doubled until a window of `window_ms` has no more samples than are quick to evaluate."""
    while window_ms * 1e6 / interval_ns > MAX_SAMPLES:
        interval_ns *= 2
    return interval_ns


def longer_interval(interval_ns: int) -> int | None:
    """The interval to try after the hardware buffer ran over at `interval_ns`; None when there is none left."""
    return 2 * interval_ns if 2 * interval_ns <= MAX_INTERVAL_NS else None
