"""Whether a run goes on, whether a person is asked, and how a round ended in the words of the optimization loop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kdiag.records import Iteration
from kdiag.rules.load_policies import Policy

from .decide import gain_pct, reaches

TARGET_MET = "target met"


@dataclass(frozen=True)
class Progress:
    """Where a run stands. `headroom_pct` is what could still be gained, as (ratio - 1) * 100 of the best time.

    `metric` and `target` share one unit (GB/s or TFLOP/s); higher is better. None is unknown.
    """

    open_candidates: int
    elapsed_s: float
    headroom_pct: float | None = None
    metric: float | None = None
    target: float | None = None


def attempts(iterations: Sequence[Iteration]) -> tuple[Iteration, ...]:
    """The iterations that count: not the baseline, no no-op, nothing that could not run."""
    return tuple(row for row in iterations if row.n > 0 and row.verdict not in ("no-op", "ready"))


def stop_reason(policy: Policy, iterations: Sequence[Iteration], progress: Progress) -> str | None:
    """Why the run ends here, or None if it goes on."""
    tried = attempts(iterations)
    if progress.metric is not None and progress.target is not None and progress.metric >= progress.target:
        return f"{TARGET_MET}: {progress.metric:.4g} of {progress.target:.4g}"
    ready = sum(row.verdict == "ready" for row in iterations)  # without a GPU these are all there is
    reason = _gains_ended(policy, tried) or _limits_reached(policy, len(tried) + ready, progress)
    return reason or _time_over(policy, tried, progress)


def _gains_ended(policy: Policy, tried: Sequence[Iteration]) -> str | None:
    in_a_row = next((n for n, row in enumerate(reversed(tried)) if row.verdict == "keep"), len(tried))
    if policy.failures_in_a_row is not None and in_a_row >= policy.failures_in_a_row:
        return f"{in_a_row} iterations in a row without improvement"
    last = tried[-1] if tried else None
    if policy.stop_on_small_gain and last and last.verdict == "keep" and last.timings:
        gain = gain_pct(last.timings)
        if not reaches(gain, policy.low_priority_pct):
            return f"the last gain, {gain:.1f} %, is below {policy.low_priority_pct:g} %"
    return None


def _limits_reached(policy: Policy, count: int, progress: Progress) -> str | None:
    headroom, least = progress.headroom_pct, policy.min_headroom_pct
    if headroom is not None and least is not None and headroom < least:
        return f"at its limit: at most {max(headroom, 0):.1f} % could still be gained"
    if policy.max_iterations is not None and count >= policy.max_iterations:
        return f"as many iterations as are allowed ({policy.max_iterations})"
    if progress.open_candidates == 0:
        return "every candidate has been tried"
    return None


def _time_over(policy: Policy, tried: Sequence[Iteration], progress: Progress) -> str | None:
    last, least = tried[-1] if tried else None, policy.gaining_pct
    if least is not None and last and last.verdict == "keep" and reaches(gain_pct(last.timings), least):
        return None
    if policy.budget_s is not None and progress.elapsed_s >= policy.budget_s:
        return f"the budget of {policy.budget_s:g} s (--budget) is over: {progress.elapsed_s:.0f} s have passed"
    return None


def asks_user(policy: Policy, bottleneck: str) -> str | None:
    """Why a person has to decide at this bottleneck, or None under policies that go on."""
    if bottleneck not in policy.ask_when:
        return None
    return (
        f"The bottleneck is {bottleneck}, for which the policy {policy.name} asks you to decide; "
        "look at the evidence, then choose an optimization or another policy."
    )


RoundStatus = Literal["TARGET_MET", "IMPROVED", "REGRESSED", "MAX_ITERATIONS"]


def round_status(iteration: Iteration, progress: Progress, *, last: bool) -> RoundStatus:
    """How a round ended in the optimize-loop's words; `last` if no round or no candidate is left after it."""
    if progress.metric is not None and progress.target is not None and progress.metric >= progress.target:
        return "TARGET_MET"
    if last:
        return "MAX_ITERATIONS"
    return "IMPROVED" if iteration.verdict == "keep" else "REGRESSED"
