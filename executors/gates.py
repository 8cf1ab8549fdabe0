"""The gates that need no GPU, cheap ones first: scope, compile, no-op, effect.

Each returns a GateRecord: passed, failed, or could-not-run with the reason. A gate that cannot run never passes.
Correctness, regressions and gain are judged from the bench's Trial in `executors.decide`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kdiag.records import Compilation, CompileFailure, GateRecord, Observations, Promise


def scope(
    changed: Sequence[str], before: Mapping[Path, str | None], after: Mapping[Path, str | None]
) -> GateRecord:
    """Only the target may differ. `changed` are other changed files; the mappings hash the protected ones."""
    moved = {str(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    if touched := sorted({*changed, *moved}):
        return GateRecord("scope", "failed", f"it changed {', '.join(touched)}")
    return GateRecord("scope", "passed", "only the target file changed")


def compiles(candidate: Compilation, parent: Compilation) -> GateRecord:
    """The candidate compiles to a cubin for the target, unless not even its parent can be compiled here."""
    if isinstance(parent, CompileFailure):
        return GateRecord("compile", "could-not-run", parent.message)
    if isinstance(candidate, CompileFailure):
        if candidate.kind == "unavailable":
            return GateRecord("compile", "could-not-run", candidate.message)
        return GateRecord("compile", "failed", f"{candidate.kind}: {candidate.message}")
    seconds = sum(evidence.seconds for evidence in candidate)
    return GateRecord("compile", "passed", f"{len(candidate)} cubins in {seconds:.1f} s")


def not_a_no_op(
    candidate: Compilation, parent: Compilation, earlier: Collection[tuple[str, ...]]
) -> GateRecord:
    """The machine code differs from the parent's and from that of every earlier candidate."""
    if isinstance(candidate, CompileFailure) or isinstance(parent, CompileFailure):
        return GateRecord("no-op", "could-not-run", "there is no machine code to compare")
    code = machine_code(candidate)
    if code == machine_code(parent):
        return GateRecord("no-op", "failed", "machine code is identical to the parent's")
    if code in earlier:
        return GateRecord("no-op", "failed", "machine code is identical to an earlier candidate's")
    return GateRecord("no-op", "passed", "machine code differs")


def machine_code(compilation: Compilation) -> tuple[str, ...]:
    """The identity of what runs: the code hash of every launch in order; empty when nothing was compiled."""
    return () if isinstance(compilation, CompileFailure) else tuple(item.code_hash for item in compilation)


def effect(promises: Sequence[Promise], parent: Observations, candidate: Observations) -> GateRecord:
    """The compiler says what the edit promised, and the candidate does not spill where its parent did not."""
    if "compile.stack_bytes" not in candidate or "compile.stack_bytes" not in parent:
        return GateRecord("effect", "could-not-run", "there is no compiler evidence")
    spilled = _number(candidate, "compile.stack_bytes")
    if spilled is not None and spilled > (_number(parent, "compile.stack_bytes") or 0):
        return GateRecord("effect", "failed", f"it spills registers: a stack frame of {spilled:g} bytes")
    for promise in promises:
        before, after = _number(parent, promise.observation), _number(candidate, promise.observation)
        if before is None or after is None:
            return GateRecord("effect", "could-not-run", f"{promise.observation} is unavailable")
        if not _holds(promise, before, after):
            moved = f"{promise.observation} was {before:g} and is {after:g}"
            return GateRecord("effect", "failed", f"promised that {promise.text}, but {moved}")
    return GateRecord("effect", "passed", "; ".join(promise.text for promise in promises))


def _number(observations: Observations, name: str) -> float | None:
    evidence = observations.get(name)
    return float(evidence.value) if evidence is not None and isinstance(evidence.value, int | float) else None


def _holds(promise: Promise, before: float, after: float) -> bool:
    match promise.change:
        case "increases":
            return after > before
        case "decreases":
            return after < before
        case "is-zero":
            return after == 0
        case "not-worse":
            return after <= before
        case "at-lines" | "not-at-lines":
            raise NotImplementedError
