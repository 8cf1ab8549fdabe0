"""What was done to a kernel: gates, checks, timings, verdicts, iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

VerdictName = Literal["keep", "revert", "crash", "no-op", "inconclusive", "ready"]
GateOutcome = Literal["passed", "failed", "could-not-run"]


@dataclass(frozen=True)
class GateRecord:
    """What one gate said of a candidate, and why."""

    gate: str
    outcome: GateOutcome
    reason: str = ""


# The gates before timing, in their order.
GATES = ("scope", "compile", "no-op", "effect", "emulation", "correctness")


def failed(records: Sequence[GateRecord]) -> GateRecord | None:
    """The gate that failed, if one did; it is the last that was reached."""
    return next((record for record in records if record.outcome == "failed"), None)


@dataclass(frozen=True)
class ConfigurationCheck:
    """Correctness of one configuration: the largest error against the reference, scaled to its tolerance."""

    configuration: str
    passed: bool
    error: float | None
    tolerance: float | None
    reason: str = ""


@dataclass(frozen=True)
class ConfigurationTiming:
    """Paired, interleaved timing of one configuration.

    `speedup` is the typical ratio parent/candidate within a round, with its 95 % interval `low`..`high`;
    `noise_floor` the same statistic's distance from 1 for the parent against itself (A/A), as a ratio - 1.
    """

    configuration: str
    parent_ms: float
    candidate_ms: float
    speedup: float
    low: float
    high: float
    noise_floor: float
    samples: int


@dataclass(frozen=True)
class Verdict:
    """The decision on one candidate, by the precedence table of `executors/decide.py`."""

    name: VerdictName
    reason: str
    stop: bool = False
    lower_priority: bool = False


@dataclass(frozen=True)
class Iteration:
    """One row of a run. Row 0 is the baseline: `variant` is empty and `optimization` is "baseline"."""

    n: int
    optimization: str
    variant: str
    title: str
    correctness: Literal["PASS", "FAIL", "-"]
    latency_ms: float | None
    speedup: float | None
    verdict: VerdictName
    reason: str
    gates: tuple[GateRecord, ...] = ()
    timings: tuple[ConfigurationTiming, ...] = ()
    checks: tuple[ConfigurationCheck, ...] = ()
    source_hash: str = ""
    commit: str | None = None
    seconds: float = 0.0
