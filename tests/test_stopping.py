"""When a run ends, and when it asks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kdiag.executors.decide import (
    Progress,
    attempts,
    round_status,
    stop_reason,
)
from kdiag.records import VerdictName
from kdiag.rules import load_policies
from verdict_cases import (
    ADAPTIVE,
    GOING,
    OPTIMIZE_LOOP,
    TILEGYM,
    row,
    rows,
)


@pytest.mark.parametrize(
    ("verdicts", "stops"),
    [
        ((), False),
        (("revert",), False),
        (("revert", "inconclusive"), True),
        (("crash", "revert"), True),
        (("revert", "keep", "revert"), False),
        (("revert", "no-op", "revert"), True),
        (("revert", "no-op", "no-op", "ready"), False),
        (("no-op", "ready", "no-op"), False),
    ],
)
def test_two_attempts_in_a_row_without_improvement(verdicts: tuple[VerdictName, ...], stops: bool) -> None:
    reason = stop_reason(TILEGYM, rows(*verdicts), GOING)
    assert (reason == "2 iterations in a row without improvement") is stops
    assert stop_reason(ADAPTIVE, rows(*verdicts), GOING) is None


def test_a_small_gain_stops_unless_told_to_go_on() -> None:
    done = [row(0, "keep"), row(1, "keep", 1.01)]
    assert stop_reason(TILEGYM, done, GOING) == "the last gain, 1.0 %, is below 2 %"
    assert stop_reason(replace(TILEGYM, stop_on_small_gain=False), done, GOING) is None
    assert stop_reason(ADAPTIVE, done, GOING) is None
    assert stop_reason(TILEGYM, [row(0, "keep", 1.0)], GOING) is None


@pytest.mark.parametrize(("policy", "most"), [(TILEGYM, 25), (OPTIMIZE_LOOP, 5)])
def test_the_most_iterations_do_not_count_no_ops(policy: load_policies.Policy, most: int) -> None:
    done = rows(*(["keep"] * (most - 1)), *(["no-op"] * 30))
    assert stop_reason(policy, done, GOING) is None
    assert "as many iterations as the policy" in (stop_reason(policy, [*done, row(99, "keep")], GOING) or "")
    assert len(attempts(done)) == most - 1


@pytest.mark.parametrize(
    ("progress", "policy"),
    [
        (replace(GOING, headroom_pct=2.0), ADAPTIVE),
        (replace(GOING, headroom_pct=None), ADAPTIVE),
        (replace(GOING, elapsed_s=1e6), TILEGYM),
        (replace(GOING, metric=None, target=2000.0), OPTIMIZE_LOOP),
    ],
)
def test_what_is_unknown_or_no_limit_ends_no_run(progress: Progress, policy: load_policies.Policy) -> None:
    assert stop_reason(policy, rows("keep"), progress) is None


def test_the_words_of_the_optimization_loop() -> None:
    met = replace(GOING, metric=9.0, target=9.0)
    assert round_status(row(1, "keep"), met, last=True) == "TARGET_MET"
    assert round_status(row(1, "keep"), GOING, last=True) == "MAX_ITERATIONS"
    assert round_status(row(1, "keep"), GOING, last=False) == "IMPROVED"
    assert round_status(row(1, "inconclusive"), GOING, last=False) == "REGRESSED"
