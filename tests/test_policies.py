"""Policies as data: every figure has its source, and every row of the three documents does what it says."""

from dataclasses import replace

import pytest

from kdiag.errors import UsageError
from kdiag.executors.decide import decide
from kdiag.executors.stopping import asks_user, stop_reason
from kdiag.rules import load_policies
from kdiag.rules.load_policies import PolicyError
from verdict_cases import ADAPTIVE, GOING, OPTIMIZE_LOOP, POLICIES, RIGHT, TILEGYM, WRONG, outcome, row, timing


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_every_figure_of_a_policy_has_a_source(policy):
    assert {"keep_pct", "slower_pct", "iteration_s"} <= set(policy.sources)
    assert all(policy.sources.values())
    assert policy.name in load_policies.names()
    assert load_policies.DEFAULT == "adaptive"


def test_an_unknown_policy_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="adaptive, optimize-loop, tilegym"):
        load_policies.load("../tilegym")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('title = "t"', "missing"),
        ("[surprise]\nvalue = 1\nsource = 's'", "unknown surprise"),
        ("[keep_pct]\nvalue = 5.0", "a value and a source"),
        ("[keep_pct]\nvalue = '5'\nsource = 's'", "is '5'"),
        ("[max_iterations]\nvalue = true\nsource = 's'", "is True"),
        ("keep_pct = 5.0", "a value and a source"),
    ],
)
def test_a_broken_policy_file_is_refused(text, problem):
    with pytest.raises(PolicyError, match=problem):
        load_policies.parse("p", text)


# ---- the rows of the documents: a last candidate, after others, and what becomes of it and of the run

END = replace(GOING, open_candidates=0)
LIMIT = replace(GOING, headroom_pct=1.9)
LATE = replace(GOING, elapsed_s=85.0)
MET = replace(GOING, metric=2010.0, target=2000.0)
SHORT = replace(GOING, metric=1990.0, target=2000.0)
WRONG_IN_ONE = outcome(checks=(RIGHT, WRONG))
SLOWER_IN_ONE = outcome(timing(1.5), timing(0.97, name="b"))
CRASH = outcome(died="illegal memory access", checks=())

ROWS = [
    (TILEGYM, [1.05], GOING, "keep", None),
    (TILEGYM, [1.0499], GOING, "keep, later", None),
    (TILEGYM, [1.02], GOING, "keep, later", None),
    (TILEGYM, [1.0199], GOING, "keep, later", "the last gain, 2.0 %, is below 2 %"),
    (TILEGYM, [SLOWER_IN_ONE], GOING, "revert", None),
    (TILEGYM, [WRONG_IN_ONE], GOING, "revert", None),
    (TILEGYM, [0.97, 1.0], GOING, "inconclusive", "2 iterations in a row without improvement"),
    (TILEGYM, [0.97, 1.05, CRASH], GOING, "crash", None),
    (TILEGYM, [1.05], END, "keep", "every candidate has been tried"),
    (TILEGYM, [1.05] * 24, LIMIT, "keep", None),
    (TILEGYM, [1.05] * 25, LATE, "keep", "as many iterations as are allowed (25)"),
    (OPTIMIZE_LOOP, [1.01], MET, "keep", "target met: 2010 of 2000"),
    (OPTIMIZE_LOOP, [1.01], SHORT, "keep", None),
    (OPTIMIZE_LOOP, [WRONG_IN_ONE], SHORT, "revert", None),
    (OPTIMIZE_LOOP, [CRASH, 1.0, 0.97, 0.97], SHORT, "revert", None),
    (OPTIMIZE_LOOP, [0.97] * 5, SHORT, "revert", "as many iterations as are allowed (5)"),
    (OPTIMIZE_LOOP, [0.97], replace(SHORT, open_candidates=0), "revert", "every candidate has been tried"),
    (ADAPTIVE, [1.0499], GOING, "keep, later", None),
    (ADAPTIVE, [1.01], GOING, "keep, later", None),
    (ADAPTIVE, [SLOWER_IN_ONE] * 30, GOING, "revert", None),
    (ADAPTIVE, [1.05], LIMIT, "keep", "at its limit: at most 1.9 % could still be gained"),
    (ADAPTIVE, [1.05], LATE, "keep", None),
    (ADAPTIVE, [1.05, 1.01], LATE, "keep, later", "the budget of 85 s (--budget) is over: 85 s have passed"),
    (ADAPTIVE, [1.05, 0.97], LATE, "revert", "the budget of 85 s (--budget) is over: 85 s have passed"),
    (ADAPTIVE, [1.05], MET, "keep", "target met: 2010 of 2000"),
]


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case[0].name)
def test_a_row_of_a_policy(case):
    policy, outcomes, progress, decision, stops = case
    done = [row(0, "keep")]
    for n, facts in enumerate(outcomes, 1):
        judged = outcome(timing(facts)) if isinstance(facts, float) else facts
        verdict = decide(judged, policy)
        done.append(replace(row(n, verdict.name), timings=judged.timings))
    assert verdict.name + (", later" if verdict.lower_priority else "") == decision
    assert stop_reason(policy, done, progress) == stops


@pytest.mark.parametrize(
    ("policy", "asks"), [(TILEGYM, ["scheduling", "unknown"]), (OPTIMIZE_LOOP, []), (ADAPTIVE, [])]
)
def test_who_decides_at_which_bottleneck(policy, asks):
    classes = ["memory", "compute", "latency", "scheduling", "host", "balanced", "unknown"]
    assert [bottleneck for bottleneck in classes if asks_user(policy, bottleneck)] == asks


def test_only_the_optimization_loop_goes_by_tiers_and_aims_at_a_share_of_the_peak():
    assert [policy.by_tier for policy in (TILEGYM, OPTIMIZE_LOOP, ADAPTIVE)] == [False, True, False]
    assert [policy.target_pct_of_peak for policy in (TILEGYM, OPTIMIZE_LOOP, ADAPTIVE)] == [None, 70.0, None]


def test_only_the_default_leaves_untried_what_is_not_expected_to_gain():
    assert [policy.least_expected_pct for policy in (TILEGYM, OPTIMIZE_LOOP, ADAPTIVE)] == [None, None, 2.0]
    assert [policy.at_copy_pct for policy in (TILEGYM, OPTIMIZE_LOOP, ADAPTIVE)] == [None, None, 90.0]
