"""Every row of the verdict table, and the promises behind it: wrong or unproven code is never kept."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.executors.decide import CandidateOutcome, decide, errors, gain_pct, needs_confirmation, speedup_so_far
from kdiag.records import ConfigurationCheck, ConfigurationTiming, GateRecord
from verdict_cases import ADAPTIVE, COMPILED, POLICIES, RIGHT, TILEGYM, WRONG, outcome, row, timing


@pytest.mark.parametrize(
    ("facts", "name", "reason"),
    [
        (
            outcome(gates=(GateRecord("compile", "failed", "crash: SIGSEGV in tileiras"),), checks=()),
            "crash",
            "SIGSEGV",
        ),
        (outcome(died="illegal memory access", checks=()), "crash", "illegal memory access"),
        (outcome(gates=(COMPILED, GateRecord("no-op", "failed", "identical")), checks=()), "no-op", "identical"),
        (outcome(gates=(GateRecord("scope", "failed", "it changed test_a.py"),)), "revert", "scope: it changed"),
        (outcome(gates=(GateRecord("effect", "failed", "it spills"),)), "revert", "effect: it spills"),
        (outcome(gates=(GateRecord("emulation", "failed", "tail"),)), "revert", "emulation: tail"),
        (outcome(timing(2.0), checks=(RIGHT, WRONG)), "revert", "wrong in b with an error of 0.7 where 0.01 is"),
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
def test_a_row_of_the_table(facts, name, reason, policy):
    verdict = decide(facts, policy)
    assert verdict.name == name
    assert reason in verdict.reason


def test_the_first_rule_that_applies_wins():
    gates = (GateRecord("effect", "failed"), GateRecord("no-op", "failed"), GateRecord("compile", "failed", "no"))
    everything = outcome(timing(0.1), gates=gates, checks=(WRONG,), died="dead")
    order: list[str] = [decide(everything, TILEGYM).name]
    everything = replace(everything, gates=gates[:2], died=None)
    order.append(decide(everything, TILEGYM).name)
    everything = replace(everything, gates=())
    order.append(decide(everything, TILEGYM).reason[:7])
    everything = replace(everything, checks=(RIGHT,))
    order.append(decide(everything, TILEGYM).reason[:11])
    assert order == ["crash", "no-op", "wrong i", "slower in a"]


def test_a_gate_that_could_not_run_is_not_a_failure():
    assert decide(outcome(timing(1.2), gates=(GateRecord("effect", "could-not-run"),)), TILEGYM).name == "keep"


def test_a_small_gain_below_the_noise_floor_is_inconclusive_and_the_floor_is_in_the_reason():
    verdict = decide(outcome(timing(1.015, width=0.001, floor=0.02)), TILEGYM)
    assert verdict.name == "inconclusive"
    assert "noise floor 2.0 %" in verdict.reason


def test_a_regression_is_a_time_that_grew_by_more_than_2_pct():
    assert decide(outcome(timing(1.2), timing(1 / 1.0201, width=0.0, name="b")), TILEGYM).name == "revert"
    assert decide(outcome(timing(1.2), timing(1 / 1.0199, width=0.0, name="b")), TILEGYM).name == "keep"


def test_where_small_gains_add_up_none_is_bought_by_a_loss():
    both = timing(1.03), timing(0.991, width=0.002, name="b")
    verdict = decide(outcome(*both), ADAPTIVE)
    assert (verdict.name, "only 1.0 % faster, and slower in b: 0.991x" in verdict.reason) == ("revert", True)
    for policy in (TILEGYM, replace(TILEGYM, stop_on_small_gain=False)):  # as with --continue-anyway
        assert decide(outcome(*both), policy).name == "keep"
    assert decide(outcome(timing(1.06), both[1]), ADAPTIVE).name == "keep"


def test_small_losses_do_not_add_up_to_a_regression():
    loses = (timing(1.3), timing(0.985, name="b"))
    assert decide(outcome(*loses), TILEGYM).name == "keep"
    before = speedup_so_far([row(0, "keep"), replace(row(1, "keep"), timings=loses), row(2, "revert", 0.5)])
    assert before == {"a": 1.3, "b": 0.985}
    verdict = decide(outcome(*loses, so_far=before), TILEGYM)
    assert verdict.name == "revert"
    assert "with the edits before it 0.970x of the baseline in b" in verdict.reason
    assert decide(outcome(timing(1.3), timing(1.0, name="b"), so_far={"b": 0.979}), TILEGYM).name == "keep"


@pytest.mark.parametrize(
    ("speedup", "floor", "again"),
    [(1.10, 0.002, False), (1.10, 0.021, True), (1.2, 0.03, False), (1.033, 0.002, True), (1.05, 0.02, False)],
)
def test_small_or_noisy_gains_are_measured_again(speedup, floor, again):
    timing = ConfigurationTiming("n=1", 1.0, 1.0 / speedup, speedup, speedup, speedup, floor, 50)
    assert needs_confirmation([timing], ADAPTIVE) is again
    assert not needs_confirmation([], ADAPTIVE)


def test_an_edit_that_does_not_round_keeps_the_parents_error():
    unit = 2.0**-24
    check = ConfigurationCheck("a", True, 1e-4, 1e-2, unit=unit)
    known = {"a": 1e-6}
    verdict = decide(outcome(timing(2.0), checks=(check,), parent_errors=known), ADAPTIVE)
    assert verdict.name == "revert"
    assert "error is 0.0001 in a, the parent's 1e-06" in verdict.reason
    assert decide(outcome(timing(2.0), checks=(check,)), ADAPTIVE).name == "keep"  # it may round
    for error, parent, name in ((3.9e-6, 1e-6, "keep"), (7.9 * unit, 0.0, "keep"), (8.1 * unit, 0.0, "revert")):
        facts = outcome(timing(2.0), checks=(replace(check, error=error),), parent_errors={"a": parent})
        assert decide(facts, ADAPTIVE).name == name, error


def test_errors_are_those_of_the_version_that_was_kept_last():
    table = [
        replace(r, checks=(replace(RIGHT, error=10.0**r.n),))
        for r in (row(0, "keep"), row(1, "keep"), row(2, "revert"))
    ]
    assert (errors(table), errors(table[:1]), errors([])) == ({"a": 10.0}, {"a": 1.0}, {})


def test_faster_than_the_card_can_be_is_not_kept():
    verdict = decide(outcome(timing(2.0), least_ms={"a": 1.001}), ADAPTIVE)
    assert verdict.name == "inconclusive"
    assert "either bytes_moved() or flops() is wrong or work was skipped" in verdict.reason
    assert decide(outcome(timing(2.0), least_ms={"a": 0.999}), ADAPTIVE).name == "keep"
    assert decide(outcome(timing(2.0), checks=(WRONG,), least_ms={"a": 1.001}), ADAPTIVE).name == "revert"


RATIO = st.floats(0.2, 5.0)


@st.composite
def timings(draw):
    low, speedup, high = sorted((draw(RATIO), draw(RATIO), draw(RATIO)))
    return ConfigurationTiming(
        draw(st.text(max_size=3)), 1.0, 1 / speedup, speedup, low, high, draw(st.floats(0, 0.3)), 9
    )


CHECK = st.builds(ConfigurationCheck, st.text(max_size=3), st.booleans(), st.none() | st.floats(0), st.just(1e-2))
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
def test_what_is_kept_is_right_measured_and_beyond_the_noise(facts, policy):
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
def test_a_surely_slower_configuration_is_always_reverted(rows, policy):
    worse = replace(rows[0], speedup=0.7, low=0.69, high=0.71)
    assert decide(outcome(worse, *rows[1:]), policy).name == "revert"
