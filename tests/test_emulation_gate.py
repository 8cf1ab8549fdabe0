"""The emulation gate: what it compares of a parent's and a candidate's runs, and when they say nothing."""

from dataclasses import replace

import pytest

from kdiag.executors.gates.emulation import emulation
from kdiag.records import ConfigurationCheck, EmulatedCase, EmulatedSource, EmulationCase, Fault, GateRecord

PLAIN = EmulationCase("n=7", True, 0)
SHUFFLED = EmulationCase("n=7", True, 0, shuffle=7)
NEGATIVE = EmulationCase("n=7", True, 0, perturbation="all negative")
RACE = Fault("race", "k", "k.py", 9, 4, "two blocks", array="y")


def ran(bits="a", passed=True, faults=(), **more):
    reason = "" if passed else "worst at [3]"
    return EmulatedCase(ConfigurationCheck("n=7", passed, 0.0, 1e-3, reason), (bits,), faults=faults, **more)


def judged(parent, candidate, exact=True):
    return emulation(EmulatedSource(parent), EmulatedSource(candidate), exact=exact)


@pytest.mark.parametrize(
    ("parent", "candidate", "exact", "outcome", "reason"),
    [
        (ran(), ran(), True, "passed", "bit for bit"),
        (ran(), ran("b"), True, "failed", "output 0"),
        (ran(), ran("b"), False, "passed", "within the tolerance"),
        (ran(), ran("b", passed=False), False, "failed", "worst at [3]"),
        (ran(), ran(faults=(RACE,)), True, "failed", "race in line 9"),
        (ran(faults=(RACE,)), ran(faults=(replace(RACE, line=12),)), True, "passed", "no new fault"),
        (ran(faults=(RACE,)), ran("b", faults=(RACE,)), True, "passed", "no new fault"),  # a race has no bits
        (ran(faults=(RACE,)), ran(faults=(replace(RACE, array="x"),)), True, "failed", "race"),
        (ran(), ran(changed=("x",)), True, "failed", "changes the input 'x'"),
        (ran(changed=("x",)), ran(changed=("x",)), True, "passed", ""),
        (ran(passed=False), ran(passed=False), True, "could-not-run", "the parent itself is wrong"),
    ],
)
def test_emulation(parent, candidate, exact, outcome, reason):
    record = judged({PLAIN: parent}, {PLAIN: candidate}, exact)
    assert record.outcome == outcome
    assert reason in record.reason


def test_perturbed_inputs_speak_only_where_the_parent_is_in_order():
    wrong = ran("c", passed=False)
    assert judged({PLAIN: ran(), NEGATIVE: ran("n")}, {PLAIN: ran(), NEGATIVE: wrong}, False).outcome == "failed"
    lost = ran("n", passed=False)  # the reference does not overflow, say; the bits are still the kernel's own
    assert judged({PLAIN: ran(), NEGATIVE: lost}, {PLAIN: ran(), NEGATIVE: wrong}, False).outcome == "passed"
    assert judged({PLAIN: ran(), NEGATIVE: lost}, {PLAIN: ran(), NEGATIVE: wrong}, True).outcome == "failed"
    at_fault = ran("n", passed=False, faults=(RACE,))
    assert judged({PLAIN: ran(), NEGATIVE: at_fault}, {PLAIN: ran(), NEGATIVE: wrong}, True).outcome == "passed"
    raised = ran(passed=False, failure="ValueError")
    assert judged({PLAIN: ran(), NEGATIVE: raised}, {PLAIN: ran(), NEGATIVE: wrong}, True).outcome == "passed"


def test_bits_that_depend_on_the_order_of_blocks_are_not_compared():
    parent = {PLAIN: ran("a"), SHUFFLED: ran("b")}
    assert judged(parent, {PLAIN: ran("c"), SHUFFLED: ran("d")}).outcome == "passed"
    assert judged({PLAIN: ran("a"), SHUFFLED: ran("a")}, {PLAIN: ran("a"), SHUFFLED: ran("d")}).outcome == "failed"


def test_what_was_not_emulated_could_not_run():
    whole = EmulatedSource({PLAIN: ran()})
    lacks = EmulatedSource({PLAIN: ran()}, {SHUFFLED: "the operation x is not emulated"})
    assert emulation("no torch", "no torch", exact=True) == GateRecord("emulation", "could-not-run", "no torch")
    assert "the parent in n=7, shuffled blocks" in emulation(lacks, whole, exact=True).reason
    assert emulation(whole, lacks, exact=True).outcome == "could-not-run"


def test_a_candidate_that_does_not_end_where_its_parent_does_is_wrong():
    late = EmulatedSource({}, {PLAIN: "no result within 20 s"}, late_s=20)
    assert emulation(EmulatedSource({PLAIN: ran(seconds=0.5)}), late, exact=True).outcome == "failed"
    assert emulation(EmulatedSource({PLAIN: ran(seconds=9)}), late, exact=True).outcome == "could-not-run"
