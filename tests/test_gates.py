"""The gates that need no GPU: each passes, fails and, without evidence, says that it could not run."""

from pathlib import Path

import pytest

from kdiag.executors import gates
from kdiag.records import CompileEvidence, CompileFailure, Evidence, Launch, Promise


def compiled(code: str, stack: int = 0) -> tuple[CompileEvidence, ...]:
    return (CompileEvidence("k", "sm_90", Launch("k", (1,), ()), 32, stack, 0, 100, code, (), 0.1),)


def observed(**values: int) -> dict[str, Evidence]:
    return {
        f"compile.{name}": Evidence("resource", f"compile.{name}", value) for name, value in values.items()
    }


UNAVAILABLE = CompileFailure("unavailable", "no compiler here")


def test_scope() -> None:
    kept = {Path("test_k.py"): "a"}
    assert gates.scope([], kept, kept).outcome == "passed"
    assert "other.py" in gates.scope(["other.py"], kept, kept).reason
    assert gates.scope([], kept, {Path("test_k.py"): "b"}).outcome == "failed"
    assert gates.scope([], kept, {**kept, Path("conftest.py"): "c"}).outcome == "failed"


def test_compile() -> None:
    assert gates.compiles(compiled("a"), compiled("p")).outcome == "passed"
    assert gates.compiles(CompileFailure("crash", "signal 11"), compiled("p")).outcome == "failed"
    assert gates.compiles(UNAVAILABLE, UNAVAILABLE).outcome == "could-not-run"
    assert (
        gates.compiles(CompileFailure("error", "no"), CompileFailure("error", "no")).outcome
        == "could-not-run"
    )


def test_no_op() -> None:
    assert gates.not_a_no_op(compiled("b"), compiled("a"), set()).outcome == "passed"
    assert gates.not_a_no_op(compiled("a"), compiled("a"), set()).outcome == "failed"
    assert gates.not_a_no_op(compiled("b"), compiled("a"), {("b",)}).outcome == "failed"
    assert gates.not_a_no_op(compiled("b"), UNAVAILABLE, set()).outcome == "could-not-run"


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
def test_effect(change: str, before: int, after: int, outcome: str) -> None:
    promise = Promise("compile.tma_loads", change, "loads use TMA")  # type: ignore[arg-type] # parametrized
    record = gates.effect(
        [promise], observed(stack_bytes=0, tma_loads=before), observed(stack_bytes=0, tma_loads=after)
    )
    assert record.outcome == outcome


def test_an_edit_that_spills_fails_whatever_it_promised() -> None:
    record = gates.effect([], observed(stack_bytes=0), observed(stack_bytes=1808))
    assert (record.outcome, "1808 bytes" in record.reason) == ("failed", True)
    assert gates.effect([], observed(stack_bytes=1808), observed(stack_bytes=64)).outcome == "passed"


def test_a_promise_about_something_unavailable_could_not_run() -> None:
    promise = Promise("compile.tma_loads", "increases", "loads use TMA")
    assert (
        gates.effect([promise], observed(stack_bytes=0), observed(stack_bytes=0)).outcome == "could-not-run"
    )
    assert gates.effect([promise], {}, {}).outcome == "could-not-run"
