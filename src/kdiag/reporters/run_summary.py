"""What a run of `kdiag auto` hands to its reporters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean, geometric_mean, median

from kdiag.records import Clocks, ConfigurationTiming, Iteration


@dataclass(frozen=True)
class RunHeader:
    """What is known before the first iteration. Paths are absolute; `gpu` is None where there is none."""

    kernel: str
    gpu: str | None
    policy: str
    branch: str
    worktree: str
    repository: str


@dataclass(frozen=True)
class RunSummary:
    """A run at its end. `files` are absolute paths by what they hold; `hint` is what to do next, if anything.

    `tree` is the priority tree as text, `final` the original against the best version, interleaved, measured after the last iteration.
    """

    header: RunHeader
    iterations: tuple[Iteration, ...]
    stop_reason: str
    files: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    final: tuple[ConfigurationTiming, ...] = ()
    tree: str = ""


@dataclass(frozen=True)
class Totals:
    """What a run has achieved so far: times in ms, `speedup` over the baseline; None is not measured."""

    baseline_ms: float | None
    best_ms: float | None
    speedup: float | None


def clocks(summary: RunSummary) -> list[Clocks]:
    """From the baseline's to the last comparison's, as far as they are known."""
    timings = (*(timing for row in summary.iterations for timing in row.timings), *summary.final)
    first = [each for row in summary.iterations for each in row.clocks]
    return first + [timing.clocks for timing in timings if timing.clocks]


def loop_s(summary: RunSummary) -> float | None:
    """What the loop itself takes for a candidate, the median."""
    own = [row.seconds - sum(row.waited.values()) for row in summary.iterations if row.n and row.waited]
    return median(own) if own else None


def achieved(summary: RunSummary) -> Totals:
    """What the run achieved: by the final comparison where there is one, else by its kept iterations."""
    final = summary.final
    if not final:
        return totals(summary.iterations)
    before, after = (fmean(getattr(timing, name) for timing in final) for name in ("parent_ms", "candidate_ms"))
    return Totals(before, after, geometric_mean(timing.speedup for timing in final))


def totals(iterations: tuple[Iteration, ...]) -> Totals:
    """Add up the kept iterations.

    The speed-up is the product of the paired ratios, each measured within the same seconds: the baseline's time
    over the last one would hold all that the card's clock did in between. It is 1 when nothing was kept.
    """
    kept = [row for row in iterations if row.verdict == "keep" and row.latency_ms is not None]
    if not kept or kept[0].n != 0:
        return Totals(None, None, None)
    ratios = [row.speedup for row in kept[1:] if row.speedup is not None]
    speedup = math.prod(ratios) if len(ratios) == len(kept) - 1 else None
    return Totals(kept[0].latency_ms, kept[-1].latency_ms, speedup)
