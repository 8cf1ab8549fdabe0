"""Every row of the verdict table, and the promises behind it: wrong or unproven code is never kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.errors import UsageError
from kdiag.executors.decide import (
    CandidateOutcome,
    Progress,
    asks_user,
    attempts,
    decide,
    errors,
    gain_pct,
    needs_confirmation,
    round_status,
    speedup_so_far,
    stop_reason,
)
from kdiag.records import ConfigurationCheck, ConfigurationTiming, GateRecord, Iteration, VerdictName
from kdiag.rules import load_policies
from kdiag.rules.load_policies import PolicyError

TILEGYM = load_policies.load("tilegym")
ADAPTIVE = load_policies.load("adaptive")
OPTIMIZE_LOOP = load_policies.load("optimize-loop")
POLICIES = [TILEGYM, ADAPTIVE, OPTIMIZE_LOOP]
RIGHT = ConfigurationCheck("a", True, 1e-4, 1e-2)
WRONG = ConfigurationCheck("b", False, 0.7, 1e-2, "row 3 is zero")
COMPILED = GateRecord("compile", "passed")


def timing(
    speedup: float, width: float = 0.002, floor: float = 0.003, name: str = "a"
) -> ConfigurationTiming:
    return ConfigurationTiming(name, speedup, 1.0, speedup, speedup - width, speedup + width, floor, 50)


def outcome(*timings: ConfigurationTiming, **more: Any) -> CandidateOutcome:
    return CandidateOutcome(**({"gates": (COMPILED,), "checks": (RIGHT,), "timings": timings} | more))


def test_an_edit_that_does_not_round_keeps_the_parents_error() -> None:
    unit = 2.0**-24
    check = ConfigurationCheck("a", True, 1e-4, 1e-2, unit=unit)
    known = {"a": 1e-6}
    verdict = decide(outcome(timing(2.0), checks=(check,), parent_errors=known), ADAPTIVE)
    assert verdict.name == "revert"
    assert "error is 0.0001 in a, the parent's 1e-06" in verdict.reason
    assert decide(outcome(timing(2.0), checks=(check,)), ADAPTIVE).name == "keep"  # it may round
    for error, parent, name in (
        (3.9e-6, 1e-6, "keep"),
        (7.9 * unit, 0.0, "keep"),
        (8.1 * unit, 0.0, "revert"),
    ):
        facts = outcome(timing(2.0), checks=(replace(check, error=error),), parent_errors={"a": parent})
        assert decide(facts, ADAPTIVE).name == name, error


def test_errors_are_those_of_the_version_that_was_kept_last() -> None:
    table = [replace(r, checks=(replace(RIGHT, error=10.0**r.n),)) for r in rows("keep", "revert")]
    assert (errors(table), errors(table[:1]), errors([])) == ({"a": 10.0}, {"a": 1.0}, {})


def test_faster_than_the_card_can_be_is_not_kept() -> None:
    verdict = decide(outcome(timing(2.0), least_ms={"a": 1.001}), ADAPTIVE)
    assert verdict.name == "inconclusive"
    assert "either bytes_moved() or flops() is wrong or work was skipped" in verdict.reason
    assert decide(outcome(timing(2.0), least_ms={"a": 0.999}), ADAPTIVE).name == "keep"
    assert decide(outcome(timing(2.0), checks=(WRONG,), least_ms={"a": 1.001}), ADAPTIVE).name == "revert"


# ---- the table, row by row --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "name", "reason"),
    [
        (
            outcome(gates=(GateRecord("compile", "failed", "crash: SIGSEGV in tileiras"),), checks=()),
            "crash",
            "SIGSEGV",
        ),
        (outcome(died="illegal memory access", checks=()), "crash", "illegal memory access"),
        (outcome(died="no answer within 60 s", checks=()), "crash", "60 s"),
        (
            outcome(gates=(COMPILED, GateRecord("no-op", "failed", "identical")), checks=()),
            "no-op",
            "identical",
        ),
        (
            outcome(gates=(GateRecord("scope", "failed", "it changed test_a.py"),)),
            "revert",
            "scope: it changed",
        ),
        (outcome(gates=(GateRecord("effect", "failed", "it spills"),)), "revert", "effect: it spills"),
        (outcome(gates=(GateRecord("emulation", "failed", "tail"),)), "revert", "emulation: tail"),
        (
            outcome(timing(2.0), checks=(RIGHT, WRONG)),
            "revert",
            "wrong in b with an error of 0.7 where 0.01 is",
        ),
        (outcome(checks=(WRONG,)), "revert", "row 3 is zero"),
        (outcome(measured=False, checks=()), "ready", "compiled; no GPU"),
        (outcome(measured=False, checks=(), gates=()), "ready", "not compiled; no GPU"),
        (outcome(timing(1.2), checks=()), "inconclusive", "not checked"),
        (outcome(), "inconclusive", "not timed"),
        (outcome(timing(0.5)), "revert", "slower in a: 0.500x"),
        (outcome(timing(1.5), timing(0.97, name="b")), "revert", "slower in b: 0.970x"),
        (outcome(timing(1.0)), "inconclusive", "within the noise"),
        (outcome(timing(0.995, width=0.001)), "inconclusive", "within the noise"),
        (outcome(timing(1.3, width=0.4)), "inconclusive", "within the noise"),
        (outcome(timing(1.1), timing(0.95, width=0.06, name="b")), "inconclusive", "perhaps slower in b"),
        (outcome(timing(1.004, width=0.0), timing(0.985, name="b")), "revert", "slower on average"),
        (outcome(timing(float("nan"))), "inconclusive", "unusable"),
        (outcome(timing(1.35)), "keep", "35.0 % faster: a: 1.350x [1.348, 1.352], noise floor 0.3 %"),
        (outcome(timing(1.35), timing(1.1, name="b")), "keep", "least in b: 1.100x"),
    ],
)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_a_row_of_the_table(
    facts: CandidateOutcome, name: str, reason: str, policy: load_policies.Policy
) -> None:
    verdict = decide(facts, policy)
    assert verdict.name == name
    assert reason in verdict.reason


def test_the_first_rule_that_applies_wins() -> None:
    gates = (
        GateRecord("effect", "failed"),
        GateRecord("no-op", "failed"),
        GateRecord("compile", "failed", "no"),
    )
    everything = outcome(timing(0.1), gates=gates, checks=(WRONG,), died="dead")
    order: list[str] = [decide(everything, TILEGYM).name]
    everything = replace(everything, gates=gates[:2], died=None)
    order.append(decide(everything, TILEGYM).name)
    everything = replace(everything, gates=())
    order.append(decide(everything, TILEGYM).reason[:7])
    everything = replace(everything, checks=(RIGHT,))
    order.append(decide(everything, TILEGYM).reason[:11])
    assert order == ["crash", "no-op", "wrong i", "slower in a"]


def test_a_gate_that_could_not_run_is_not_a_failure() -> None:
    assert (
        decide(outcome(timing(1.2), gates=(GateRecord("effect", "could-not-run"),)), TILEGYM).name == "keep"
    )


def test_a_small_gain_below_the_noise_floor_is_inconclusive_and_the_floor_is_in_the_reason() -> None:
    verdict = decide(outcome(timing(1.015, width=0.001, floor=0.02)), TILEGYM)
    assert verdict.name == "inconclusive"
    assert "noise floor 2.0 %" in verdict.reason


@pytest.mark.parametrize(
    ("speedup", "stop", "lower"),
    [
        (1.05, False, False),
        (1.0499, False, True),
        (1.02, False, True),
        (1.0199, True, True),
        (1.01, True, True),
    ],
)
def test_the_sizes_of_a_gain_under_the_tilegym_policy(speedup: float, stop: bool, lower: bool) -> None:
    verdict = decide(outcome(timing(speedup)), TILEGYM)
    assert (verdict.name, verdict.stop, verdict.lower_priority) == ("keep", stop, lower)
    assert not decide(outcome(timing(speedup)), ADAPTIVE).stop
    assert not decide(outcome(timing(speedup)), replace(TILEGYM, stop_on_small_gain=False)).stop
    assert not decide(outcome(timing(speedup)), OPTIMIZE_LOOP).lower_priority


def test_a_regression_is_a_time_that_grew_by_more_than_2_pct() -> None:
    assert decide(outcome(timing(1.2), timing(1 / 1.0201, width=0.0, name="b")), TILEGYM).name == "revert"
    assert decide(outcome(timing(1.2), timing(1 / 1.0199, width=0.0, name="b")), TILEGYM).name == "keep"


def test_small_losses_do_not_add_up_to_a_regression() -> None:
    loses = (timing(1.3), timing(0.985, name="b"))
    assert decide(outcome(*loses), TILEGYM).name == "keep"
    before = speedup_so_far([row(0, "keep"), replace(row(1, "keep"), timings=loses), row(2, "revert", 0.5)])
    assert before == {"a": 1.3, "b": 0.985}
    verdict = decide(outcome(*loses, so_far=before), TILEGYM)
    assert verdict.name == "revert"
    assert "with the edits before it 0.970x of the baseline in b" in verdict.reason
    assert decide(outcome(timing(1.3), timing(1.0, name="b"), so_far={"b": 0.979}), TILEGYM).name == "keep"


# ---- promises ---------------------------------------------------------------------------------------------

RATIO = st.floats(0.2, 5.0)


@st.composite
def timings(draw: st.DrawFn) -> ConfigurationTiming:
    low, speedup, high = sorted((draw(RATIO), draw(RATIO), draw(RATIO)))
    return ConfigurationTiming(
        draw(st.text(max_size=3)), 1.0, 1 / speedup, speedup, low, high, draw(st.floats(0, 0.3)), 9
    )


CHECK = st.builds(
    ConfigurationCheck, st.text(max_size=3), st.booleans(), st.none() | st.floats(0), st.just(1e-2)
)
GATE = st.builds(
    GateRecord,
    st.sampled_from(["scope", "compile", "no-op", "effect", "emulation"]),
    st.sampled_from(["passed", "failed", "could-not-run"]),
)
OUTCOME = st.builds(
    CandidateOutcome,
    gates=st.lists(GATE, max_size=4).map(tuple),
    died=st.none() | st.just("killed"),
    checks=st.lists(CHECK, max_size=3).map(tuple),
    timings=st.lists(timings(), max_size=4).map(tuple),
    measured=st.booleans(),
)


@given(OUTCOME, st.sampled_from(POLICIES))
def test_what_is_kept_is_right_measured_and_beyond_the_noise(
    facts: CandidateOutcome, policy: load_policies.Policy
) -> None:
    verdict = decide(facts, policy)
    if verdict.name == "keep":
        assert facts.died is None
        assert facts.measured
        assert facts.checks
        assert all(check.passed for check in facts.checks)
        assert not [gate for gate in facts.gates if gate.outcome == "failed"]
        assert any(t.low > 1 + t.noise_floor for t in facts.timings)
        assert all(t.speedup >= 1 / (1 + max(t.noise_floor, policy.slower_pct / 100)) for t in facts.timings)
        assert gain_pct(facts.timings) > 0
    assert verdict.reason or verdict.name in ("crash", "no-op")


@given(st.lists(timings(), min_size=1, max_size=4), st.sampled_from(POLICIES))
def test_nothing_whose_intervals_all_hold_1_is_kept(
    rows: list[ConfigurationTiming], policy: load_policies.Policy
) -> None:
    spanning = [replace(t, low=min(t.low, 1.0), high=max(t.high, 1.0)) for t in rows]
    assert decide(outcome(*spanning), policy).name == "inconclusive"


@given(st.lists(timings(), min_size=1, max_size=4), st.sampled_from(POLICIES))
def test_a_surely_slower_configuration_is_always_reverted(
    rows: list[ConfigurationTiming], policy: load_policies.Policy
) -> None:
    worse = replace(rows[0], speedup=0.7, low=0.69, high=0.71)
    assert decide(outcome(worse, *rows[1:]), policy).name == "revert"


# ---- does the run go on? ----------------------------------------------------------------------------------


def row(n: int, verdict: VerdictName, speedup: float = 1.2) -> Iteration:
    return Iteration(n, "E", str(n), "", "PASS", 1.0, speedup, verdict, "", timings=(timing(speedup),))


def rows(*verdicts: VerdictName) -> list[Iteration]:
    return [row(0, "keep"), *(row(n, verdict) for n, verdict in enumerate(verdicts, 1))]


GOING = Progress(open_candidates=5, elapsed_s=1.0, headroom_pct=40.0)


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
    assert "the most that the policy" in (stop_reason(policy, [*done, row(99, "keep")], GOING) or "")
    assert len(attempts(done)) == most - 1


@pytest.mark.parametrize(
    ("progress", "policy", "reason"),
    [
        (replace(GOING, headroom_pct=1.9), ADAPTIVE, "at its limit: at most 1.9 % could still be gained"),
        (replace(GOING, headroom_pct=1.9), TILEGYM, None),
        (replace(GOING, headroom_pct=2.0), ADAPTIVE, None),
        (replace(GOING, headroom_pct=None), ADAPTIVE, None),
        (replace(GOING, elapsed_s=85.0), ADAPTIVE, "the time is over: 85 s of 85 s"),
        (replace(GOING, elapsed_s=1e6), TILEGYM, None),
        (replace(GOING, open_candidates=0), TILEGYM, "every candidate has been tried"),
        (replace(GOING, metric=2010.0, target=2000.0), OPTIMIZE_LOOP, "target met: 2010 of 2000"),
        (replace(GOING, metric=1990.0, target=2000.0), OPTIMIZE_LOOP, None),
        (replace(GOING, metric=None, target=2000.0), OPTIMIZE_LOOP, None),
    ],
)
def test_other_ends_of_a_run(progress: Progress, policy: load_policies.Policy, reason: str | None) -> None:
    assert stop_reason(policy, rows("keep"), progress) == reason


def test_scheduling_and_unknown_go_to_the_user_under_the_tilegym_policy() -> None:
    for bottleneck in ("scheduling", "unknown"):
        assert bottleneck in (asks_user(TILEGYM, bottleneck) or "")
        assert asks_user(ADAPTIVE, bottleneck) is None
    assert asks_user(TILEGYM, "memory") is None


def test_the_words_of_the_optimization_loop() -> None:
    met = replace(GOING, metric=9.0, target=9.0)
    assert round_status(row(1, "keep"), met, last=True) == "TARGET_MET"
    assert round_status(row(1, "keep"), GOING, last=True) == "MAX_ITERATIONS"
    assert round_status(row(1, "keep"), GOING, last=False) == "IMPROVED"
    assert round_status(row(1, "inconclusive"), GOING, last=False) == "REGRESSED"


# ---- policies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_every_figure_of_a_policy_has_a_source(policy: load_policies.Policy) -> None:
    assert {"keep_pct", "slower_pct", "iteration_s"} <= set(policy.sources)
    assert all(policy.sources.values())
    assert policy.name in load_policies.names()
    assert load_policies.DEFAULT == "adaptive"


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
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
def test_a_broken_policy_file_is_refused(text: str, problem: str) -> None:
    with pytest.raises(PolicyError, match=problem):
        load_policies.parse("p", text)


@pytest.mark.parametrize(
    ("speedup", "floor", "again"),
    [(1.10, 0.002, False), (1.10, 0.021, True), (1.033, 0.002, True), (1.05, 0.02, False)],
)
def test_small_or_noisy_gains_are_measured_again(speedup: float, floor: float, again: bool) -> None:
    timing = ConfigurationTiming("n=1", 1.0, 1.0 / speedup, speedup, speedup, speedup, floor, 50)
    assert needs_confirmation([timing], ADAPTIVE) is again
    assert not needs_confirmation([], ADAPTIVE)
