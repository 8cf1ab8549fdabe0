"""The gates: each passes, fails and, without evidence, says that it could not run."""

from importlib import import_module
from pathlib import Path

import pytest

from kdiag.executors.bench import Trial
from kdiag.executors.gates.compiles import compiles
from kdiag.executors.gates.correctness import correctness
from kdiag.executors.gates.effect import Said, effect
from kdiag.executors.gates.no_op import machine_code, not_a_no_op
from kdiag.executors.gates.pipeline import Inspection, without_device
from kdiag.executors.gates.scope import Protected, Texts, changed_lines, scope
from kdiag.isolate import Died
from kdiag.records import (
    GATES,
    ArrayArgument,
    CompileFailure,
    ConfigurationCheck,
    Evidence,
    GateRecord,
    Launch,
    Promise,
    ScalarArgument,
    TuningSpace,
)
from plan_cases import compiled


def said(lines=None, **values):
    observations = {f"compile.{name}": Evidence("resource", f"compile.{name}", value) for name, value in values.items()}
    return Said(observations, lines or {})


UNAVAILABLE = CompileFailure("unavailable", "no compiler here")


# ---- 1 scope


def test_scope_of_files():
    kept = {Path("test_k.py"): "a"}
    assert scope(Protected((), kept, kept)).outcome == "passed"
    assert "other.py" in scope(Protected(["other.py"], kept, kept)).reason
    assert scope(Protected((), kept, {Path("test_k.py"): "b"})).outcome == "failed"
    assert scope(Protected((), kept, {**kept, Path("conftest.py"): "c"})).outcome == "failed"


def test_scope_of_lines():
    before, planned = "a\nb\nc\nd\n", "a\nB\nc\nd\n"
    assert scope(Protected(), Texts(before, planned, planned)).outcome == "passed"
    assert scope(Protected(), Texts(before, planned, before)).outcome == "passed"
    record = scope(Protected(), Texts(before, planned, "a\nB\nc\nD\n"))
    assert (record.outcome, "line 4" in record.reason) == ("failed", True)
    assert scope(Protected(), Texts(before, None, "anything")).outcome == "passed"


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        ("a\nb\nc", ()),
        ("a\nc", (2,)),
        ("x\nb\nc", (1,)),
        ("a\nnew\nb\nc", (2,)),
        ("a\nb\nc\nend", (4,)),
        ("", (1, 2, 3)),
    ],
)
def test_changed_lines(after, lines):
    assert changed_lines("a\nb\nc", after) == frozenset(lines)


# ---- 2 compile and 3 no-op


def test_compile():
    assert compiles(compiled("a"), compiled("p")).outcome == "passed"
    assert compiles(CompileFailure("crash", "signal 11"), compiled("p")).outcome == "failed"
    assert compiles(UNAVAILABLE, UNAVAILABLE).outcome == "could-not-run"
    assert compiles(CompileFailure("error", "no"), CompileFailure("error", "no")).outcome == "could-not-run"


def test_no_op():
    assert not_a_no_op(compiled("b"), compiled("a")).outcome == "passed"
    assert not_a_no_op(compiled("a"), compiled("a")).outcome == "failed"
    assert not_a_no_op(compiled("b"), UNAVAILABLE).outcome == "could-not-run"


def test_an_earlier_candidate_is_known_again():
    assert not_a_no_op(compiled("b"), compiled("a"), {machine_code(compiled("b"))}).outcome == "failed"


@pytest.mark.parametrize(
    ("launch", "outcome"),
    [
        (Launch("k", (2,), ()), "passed"),
        (Launch("k", (1,), (ScalarArgument("n", 4, False),)), "passed"),
        (Launch("k", (1,), (ArrayArgument("x", "float32", (4,), (1,)),)), "passed"),
        (Launch("k", (1,), (), tuning=TuningSpace("k", ({"t": 1}, {"t": 2}), ((1,), (2,)), ({}, {}))), "passed"),
        (Launch("k", (1,), (ScalarArgument("TILE", 4, True),)), "failed"),  # a constant is part of the code
        (Launch("k", (1,), (), configuration=0, hints={"occupancy": 2}), "failed"),
    ],
)
def test_the_same_code_on_another_grid_or_other_arguments_is_no_no_op(launch, outcome):
    assert not_a_no_op(compiled("a", launch=launch), compiled("a")).outcome == outcome


# ---- 4 effect


@pytest.mark.parametrize(
    ("change", "before", "after", "outcome"),
    [
        ("increases", 0, 1, "passed"),
        ("increases", 1, 1, "failed"),
        ("decreases", 1, 0, "passed"),
        ("decreases", 0, 0, "failed"),
        ("is-zero", 3, 0, "passed"),
        ("is-zero", 0, 1, "failed"),
        ("not-worse", 2, 2, "passed"),
        ("not-worse", 2, 3, "failed"),
    ],
)
def test_effect(change, before, after, outcome):
    promise = Promise("compile.tma_loads", change, "loads use TMA")
    record = effect([promise], said(stack_bytes=0, tma_loads=before), said(stack_bytes=0, tma_loads=after))
    assert record.outcome == outcome


@pytest.mark.parametrize(
    ("change", "lines", "outcome"),
    [
        ("at-lines", (4,), "passed"),
        ("at-lines", (4, 9), "passed"),
        ("at-lines", (4, 5), "failed"),
        ("not-at-lines", (5, 6), "passed"),
        ("not-at-lines", (5, 9), "failed"),
        ("at-lines", (), "passed"),
    ],
)
def test_an_effect_at_lines(change, lines, outcome):
    promise = Promise("compile.tma_loads", change, "loads use TMA", lines)
    candidate = said({"compile.tma_loads": frozenset({4, 9})}, stack_bytes=0, tma_loads=2)
    record = effect([promise], said(stack_bytes=0, tma_loads=0), candidate)
    assert record.outcome == outcome
    if outcome == "failed":
        assert "of the edited file" in record.reason


def test_lines_of_an_observation_without_remarks_could_not_run():
    promise = Promise("compile.loops_pipelined", "at-lines", "the loop is pipelined", (4,))
    assert effect([promise], said(stack_bytes=0), said(stack_bytes=0)).outcome == "could-not-run"


def test_an_edit_that_spills_fails_whatever_it_promised():
    record = effect([], said(stack_bytes=0), said(stack_bytes=1808))
    assert (record.outcome, "1808 bytes" in record.reason) == ("failed", True)
    assert effect([], said(stack_bytes=1808), said(stack_bytes=64)).outcome == "passed"


def test_a_promise_about_something_unavailable_could_not_run():
    promise = Promise("compile.tma_loads", "increases", "loads use TMA")
    assert effect([promise], said(stack_bytes=0), said(stack_bytes=0)).outcome == "could-not-run"
    assert effect([promise], said(), said()).outcome == "could-not-run"


# ---- 6 correctness, and the order


def test_correctness():
    right, wrong = (ConfigurationCheck("n=7", passed, 0.5, 0.1) for passed in (True, False))
    assert correctness(None) == GateRecord("correctness", "could-not-run", "there is no GPU")
    assert correctness(Died("crash", "signal 11")).outcome == "could-not-run"
    assert correctness(Trial((), ())).outcome == "could-not-run"
    assert correctness(Trial((right,), ())).outcome == "passed"
    record = correctness(Trial((right, wrong), ()))
    assert (record.outcome, record.reason) == ("failed", "wrong in n=7 with an error of 0.5 where 0.1 is allowed")


def test_the_names_of_the_gates():
    modules = ("scope", "compiles", "no_op", "effect", "emulation", "correctness")
    assert tuple(import_module(f"kdiag.executors.gates.{name}").GATE for name in modules) == GATES


def test_nothing_is_asked_for_after_the_first_failure():
    def never():
        raise AssertionError("asked for")

    passed, refused = GateRecord("scope", "passed"), GateRecord("scope", "failed", "other.py")
    inspection = Inspection(lambda: refused, never, never, never)
    assert without_device(inspection) == (refused,)
    same = Inspection(lambda: passed, lambda: (compiled("a"), compiled("a")), never, never)
    assert [record.gate for record in without_device(same)] == ["scope", "compile", "no-op"]
    nothing = Inspection(lambda: passed, lambda: (UNAVAILABLE, UNAVAILABLE), lambda _: Said(), lambda: ("no", "no"))
    outcomes = [(record.gate, record.outcome) for record in without_device(nothing)]
    assert outcomes[1:] == [(gate, "could-not-run") for gate in ("compile", "no-op", "effect", "emulation")]
