"""When a run ends, and when it asks."""

from dataclasses import replace

import pytest

from kdiag.executors.stopping import attempts, round_status, stop_reason
from verdict_cases import ADAPTIVE, GOING, OPTIMIZE_LOOP, TILEGYM, row, rows


@pytest.mark.parametrize(
    ("verdicts", "stops"),
    [
        (("revert", "inconclusive"), True),
        (("crash", "revert"), True),
        (("revert", "keep", "revert"), False),
        (("revert", "no-op", "revert"), True),
        (("revert", "no-op", "no-op", "ready"), False),
        (("no-op", "ready", "no-op"), False),
    ],
)
def test_two_attempts_in_a_row_without_improvement(verdicts, stops):
    reason = stop_reason(TILEGYM, rows(*verdicts), GOING)
    assert (reason == "2 iterations in a row without improvement") is stops
    assert stop_reason(ADAPTIVE, rows(*verdicts), GOING) is None


def test_a_small_gain_does_not_stop_a_user_who_wants_to_go_on():
    done = [row(0, "keep"), row(1, "keep", 1.01)]
    assert stop_reason(replace(TILEGYM, stop_on_small_gain=False), done, GOING) is None
    assert stop_reason(TILEGYM, [row(0, "keep", 1.0)], GOING) is None


def test_no_ops_do_not_count_as_iterations():
    done = rows(*(["keep"] * 4), *(["no-op"] * 30))
    assert stop_reason(OPTIMIZE_LOOP, done, GOING) is None
    assert stop_reason(OPTIMIZE_LOOP, [*done, row(99, "keep")], GOING) is not None
    assert len(attempts(done)) == 4
    assert stop_reason(OPTIMIZE_LOOP, rows(*(["ready"] * 5)), GOING) is not None, "without a GPU there is nothing else"


@pytest.mark.parametrize("unknown", [{"headroom_pct": None}, {"headroom_pct": 2.0}, {"metric": None, "target": 1.0}])
def test_what_is_unknown_or_at_the_border_ends_no_run(unknown):
    assert stop_reason(ADAPTIVE, rows("keep"), replace(GOING, **unknown)) is None


def test_the_words_of_the_optimization_loop():
    met = replace(GOING, metric=9.0, target=9.0)
    assert round_status(row(1, "keep"), met, last=True) == "TARGET_MET"
    assert round_status(row(1, "keep"), GOING, last=True) == "MAX_ITERATIONS"
    assert round_status(row(1, "keep"), GOING, last=False) == "IMPROVED"
    assert round_status(row(1, "inconclusive"), GOING, last=False) == "REGRESSED"
