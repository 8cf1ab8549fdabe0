"""What was done to a kernel: gates, checks, timings, verdicts, iterations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

VerdictName = Literal["keep", "revert", "crash", "no-op", "inconclusive", "ready"]
GateOutcome = Literal["passed", "failed", "could-not-run"]
Stage = Literal["basic", "edge shapes", "determinism", "stress", "dtypes"]
# The stages of the check on the device, in their order, cheap ones first.
STAGES: tuple[Stage, ...] = get_args(Stage)


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
    """Correctness of one configuration: the largest error against the reference, scaled to its tolerance.

    `unit` is the largest relative error of one rounding to the output's type, where that is known.
    """

    configuration: str
    passed: bool
    error: float | None
    tolerance: float | None
    reason: str = ""
    stage: Stage = "basic"
    unit: float | None = None


@dataclass(frozen=True)
class NotEvaluated:
    """A check that says nothing about candidates, because the unedited kernel does not pass it."""

    stage: Stage
    configuration: str
    reason: str


@dataclass(frozen=True)
class Clocks:
    """Those of the card while it was timed."""

    sm_mhz: int
    memory_mhz: int | None = None


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
    clocks: Clocks | None = None


@dataclass(frozen=True)
class Verdict:
    """The decision on one candidate, by the precedence table of `executors/decide.py`."""

    name: VerdictName
    reason: str
    stop: bool = False
    lower_priority: bool = False


@dataclass(frozen=True)
class Prediction:
    """What an edit was to do to the hardware, against what it did; `planner.predictions` has the table behind it.

    `conclusion` is about the cause that the edit treats: "refuted" it was not what limits the kernel, "supported" it
    was, "edit-failed" this edit does not act on it, "open" nothing follows.
    """

    cause: str
    outcome: Literal["confirmed", "contradicted", "not-evaluated"]
    conclusion: Literal["supported", "refuted", "edit-failed", "open"]
    text: str


@dataclass(frozen=True)
class Iteration:
    """One row of a run. Row 0 is the baseline: `variant` is empty, `optimization` is "baseline", and `clocks` are there.

    `paired` says why two edits were tried as one. `seconds` are since the row before, `waited` those of them that it
    waited: for the "compiler" (or emulator), or for the device's "baseline", "counters", "checks", "race" or "trial".
    """

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
    paired: str = ""
    source_hash: str = ""
    commit: str | None = None
    seconds: float = 0.0
    prediction: Prediction | None = None
    clocks: tuple[Clocks, ...] = ()
    waited: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Standing:
    """How one racer left a race; `speedup` over the parent is that of its last heat, None if it was never timed."""

    optimization: str
    variant: str
    fate: Literal["won", "lost", "wrong"]
    reason: str
    speedup: float | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """(optimization, variant), which no two of a race share."""
        return (self.optimization, self.variant)
