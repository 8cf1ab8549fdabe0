"""The verdict on a candidate, by precedence.

A speed-up is a ratio of times, parent over candidate. A difference counts when its whole 95 % interval lies beyond
the noise floor that the same statistic shows for the parent against itself; between the two nothing is claimed.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kdiag.records import ConfigurationCheck, ConfigurationTiming, GateRecord, Iteration, Verdict
from kdiag.rules.load_policies import Policy

from .gates import compiles, emulation
from .gates.correctness import describe, worst

EXACT_UNITS = 2.0  # roundings to the output's type; a parent that is more exact forbids no more
NOISE_FACTOR = 5.0
_ROUNDING = 1e-9  # of the logarithms of a geometric mean, so that exactly 5 % counts as 5 %


@dataclass(frozen=True)
class CandidateOutcome:
    """All that is known of a candidate when it is judged.

    `gates` as far as they ran; `died` says how its launch or its child process ended, if it did not answer;
    `measured` is False where there is nothing to measure with. `so_far` is the parent's speed-up over the baseline
    by configuration (see `speedup_so_far`): small losses must not add up to a regression. So are `parent_errors`, of an
    edit that may not change rounding, and `least_ms`, which no correct kernel can undercut.
    """

    gates: tuple[GateRecord, ...] = ()
    died: str | None = None
    checks: tuple[ConfigurationCheck, ...] = ()
    timings: tuple[ConfigurationTiming, ...] = ()
    measured: bool = True
    so_far: Mapping[str, float] = field(default_factory=dict)
    parent_errors: Mapping[str, float] = field(default_factory=dict)
    least_ms: Mapping[str, float] = field(default_factory=dict)


def decide(outcome: CandidateOutcome, policy: Policy) -> Verdict:
    """The verdict of the first rule that applies; the order is the order of precedence."""
    rules = (_crash, _no_op, _incorrect, _refused_by_a_gate, _unmeasured)
    for rule in rules:
        if (verdict := rule(outcome)) is not None:
            return verdict
    if (verdict := _less_accurate(outcome, policy) or _impossible(outcome)) is not None:
        return verdict
    return _slower(outcome, policy) or _undecided(outcome.timings, policy) or _faster(outcome.timings, policy)


def gain_pct(timings: Sequence[ConfigurationTiming]) -> float:
    """The geometric mean of the speed-ups, as (ratio - 1) * 100. There is at least one timing."""
    return (statistics.geometric_mean(timing.speedup for timing in timings) - 1) * 100


def needs_confirmation(timings: Sequence[ConfigurationTiming], policy: Policy) -> bool:
    """Whether a gain is to be measured once more, in a fresh process, before it is kept.

    A small gain is, and one measured while the parent differed from itself by what counts as a regression: a card
    near its power limit drifts, and two samples of one drift agree with each other (seen on an H200: 3.3 % over the
    parent at an A/A floor of 2.1 %, gone in the next process). What gains NOISE_FACTOR times the floor is no drift.
    """
    if not timings:
        return False
    gain, noisiest = gain_pct(timings), max(timing.noise_floor for timing in timings) * 100
    return gain < policy.keep_pct or (policy.slower_pct < noisiest and gain < NOISE_FACTOR * noisiest)


def confirmation(
    first: Sequence[ConfigurationTiming], second: Sequence[ConfigurationTiming]
) -> tuple[ConfigurationTiming, ...]:
    """The second measurement, with the larger noise floor of the two: where a process puts its buffers moves the
    parent against itself too, and a gain has to exceed what either process showed of that.
    """
    floors = {timing.configuration: timing.noise_floor for timing in first}
    return tuple(
        replace(timing, noise_floor=max(timing.noise_floor, floors.get(timing.configuration, 0.0))) for timing in second
    )


def speedup_so_far(iterations: Sequence[Iteration]) -> dict[str, float]:
    """The best version's speed-up over the baseline by configuration, multiplied up over the kept iterations."""
    product: dict[str, float] = {}
    for row in iterations:
        for timing in row.timings if row.n > 0 and row.verdict == "keep" else ():
            product[timing.configuration] = product.get(timing.configuration, 1.0) * timing.speedup
    return product


def errors(iterations: Sequence[Iteration]) -> dict[str, float]:
    """The best version's error by configuration: of the baseline, or of the edit that was kept last."""
    kept = [row for row in iterations if row.verdict == "keep"]
    checks = kept[-1].checks if kept else ()
    return {check.configuration: check.error for check in checks if check.error is not None}


def _crash(outcome: CandidateOutcome) -> Verdict | None:
    failed = _failed(outcome, "compile")
    reason = failed.reason if failed else outcome.died
    return None if reason is None else Verdict("crash", reason)


def _no_op(outcome: CandidateOutcome) -> Verdict | None:
    failed = _failed(outcome, "no-op")
    return Verdict("no-op", failed.reason) if failed else None


def _refused_by_a_gate(outcome: CandidateOutcome) -> Verdict | None:
    failed = _failed(outcome)
    return Verdict("revert", f"{failed.gate}: {failed.reason}") if failed else None


def _incorrect(outcome: CandidateOutcome) -> Verdict | None:
    wrong = [check for check in outcome.checks if not check.passed]
    return Verdict("revert", describe(worst(wrong))) if wrong else None


def _unmeasured(outcome: CandidateOutcome) -> Verdict | None:
    if not outcome.measured:
        passed = {gate.gate for gate in outcome.gates if gate.outcome == "passed"}
        known = f"{'compiled' if compiles.GATE in passed else 'not compiled'}"
        if emulation.GATE in passed:
            return Verdict("ready", f"{known}, right on the CPU; no GPU to time it")
        return Verdict("ready", f"{known}; no GPU to check and time it")
    if not outcome.checks:
        return Verdict("inconclusive", "its correctness was not checked")
    if not outcome.timings:
        return Verdict("inconclusive", "it was not timed")
    for timing in outcome.timings:
        figures = (timing.speedup, timing.low, timing.high)
        if not all(math.isfinite(figure) and figure > 0 for figure in figures) or not timing.noise_floor >= 0:
            return Verdict("inconclusive", f"the timing of {timing.configuration} is unusable")
    return None


def _less_accurate(outcome: CandidateOutcome, policy: Policy) -> Verdict | None:
    for check in outcome.checks:
        parent = outcome.parent_errors.get(check.configuration)
        if parent is None or check.error is None or check.unit is None:
            continue
        if check.error > policy.error_factor * max(parent, EXACT_UNITS * check.unit):
            figures = f"{check.error:.3g} in {check.configuration}, the parent's {parent:.3g}"
            return Verdict("revert", f"its error is {figures}, and the edit is not said to change rounding")
    return None


def _impossible(outcome: CandidateOutcome) -> Verdict | None:
    for timing in outcome.timings:
        least = outcome.least_ms.get(timing.configuration, 0.0)
        if timing.candidate_ms < least:
            took = f"{timing.candidate_ms:.4g} ms in {timing.configuration}"
            why = "either bytes_moved() or flops() is wrong or work was skipped"
            return Verdict("inconclusive", f"{took} is less than the {least:.4g} ms that this card needs: {why}")
    return None


def _slower(outcome: CandidateOutcome, policy: Policy) -> Verdict | None:
    limit = 1 / (1 + policy.slower_pct / 100)  # the speed-up of a time that has grown by slower_pct
    for timing in sorted(outcome.timings, key=lambda timing: timing.speedup):
        if timing.speedup < limit and timing.high < 1 / (1 + timing.noise_floor):
            return Verdict("revert", f"slower in {_describe(timing)}")
        total = outcome.so_far.get(timing.configuration, 1.0) * timing.speedup
        if total < limit and timing.high < 1:
            return Verdict("revert", f"with the edits before it {total:.3f}x of the baseline in {_describe(timing)}")
    return None


def _undecided(timings: Sequence[ConfigurationTiming], policy: Policy) -> Verdict | None:
    faster = [timing for timing in timings if timing.low > 1 + timing.noise_floor]
    if not faster:
        best = max(timings, key=lambda timing: timing.low - timing.noise_floor)
        return Verdict("inconclusive", f"within the noise: {_describe(best)}")
    for timing in timings:
        # Nothing proves a regression, but the constraint is that there is none.
        if timing.speedup < 1 / (1 + max(policy.slower_pct / 100, timing.noise_floor)):
            return Verdict("inconclusive", f"perhaps slower in {_describe(timing)}")
    return None


def _faster(timings: Sequence[ConfigurationTiming], policy: Policy) -> Verdict:
    gain = gain_pct(timings)
    slowest = min(timings, key=lambda timing: timing.speedup)
    reason = f"{gain:.1f} % faster" + (
        f", least in {_describe(slowest)}" if len(timings) > 1 else f": {_describe(slowest)}"
    )
    if gain <= 0:
        return Verdict("revert", f"faster in some configurations but {-gain:.1f} % slower on average")
    if reaches(gain, policy.keep_pct):
        return Verdict("keep", reason)
    if reaches(gain, policy.low_priority_pct):
        return Verdict("keep", reason, lower_priority=True)
    if slowest.high < 1 and not policy.small_gain_may_lose:
        return Verdict("revert", f"only {gain:.1f} % faster, and slower in {_describe(slowest)}")
    return Verdict("keep", reason, stop=policy.stop_on_small_gain, lower_priority=True)


def reaches(gain: float, threshold: float) -> bool:
    """Whether a gain in percent is as large as a policy asks, but for what a logarithm rounds."""
    return gain >= threshold - _ROUNDING


def _failed(outcome: CandidateOutcome, gate: str | None = None) -> GateRecord | None:
    failures = (g for g in outcome.gates if g.outcome == "failed" and gate in (None, g.gate))
    return next(failures, None)


def _describe(timing: ConfigurationTiming) -> str:
    return (
        f"{timing.configuration}: {timing.speedup:.3f}x [{timing.low:.3f}, {timing.high:.3f}], "
        f"noise floor {timing.noise_floor * 100:.1f} %"
    )
