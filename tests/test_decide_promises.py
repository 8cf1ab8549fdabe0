"""The promises behind the verdicts: wrong or unproven code is never kept, whatever was measured."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kdiag.executors.decide import CandidateOutcome, decide, gain_pct
from kdiag.records import ConfigurationCheck, ConfigurationTiming, GateRecord
from verdict_cases import POLICIES, outcome

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
def test_nothing_whose_intervals_all_hold_1_is_kept(rows, policy):
    spanning = [replace(t, low=min(t.low, 1.0), high=max(t.high, 1.0)) for t in rows]
    assert decide(outcome(*spanning), policy).name == "inconclusive"


@given(st.lists(timings(), min_size=1, max_size=4), st.sampled_from(POLICIES))
def test_a_surely_slower_configuration_is_always_reverted(rows, policy):
    worse = replace(rows[0], speedup=0.7, low=0.69, high=0.71)
    assert decide(outcome(worse, *rows[1:]), policy).name == "revert"
