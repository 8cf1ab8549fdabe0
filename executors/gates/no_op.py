"""Gate 3, no-op: what runs is not known already: machine code, grid or arguments differ."""

from collections.abc import Collection

from kdiag.records import Argument, ArrayArgument, Compilation, CompileEvidence, CompileFailure, GateRecord

GATE = "no-op"
WHAT = "machine code, grids and arguments are identical to"


def not_a_no_op(candidate: Compilation, parent: Compilation, earlier: Collection[tuple[str, ...]] = ()) -> GateRecord:
    """Something of what the candidate runs differs from its parent, and from every earlier candidate."""
    if isinstance(candidate, CompileFailure) or isinstance(parent, CompileFailure):
        return GateRecord(GATE, "could-not-run", "there is no machine code to compare")
    code = machine_code(candidate)
    if code == machine_code(parent):
        return GateRecord(GATE, "failed", f"{WHAT} the parent's")
    if code in earlier:
        return GateRecord(GATE, "failed", f"{WHAT} an earlier candidate's")
    same = [item.code_hash for item in candidate] == [item.code_hash for item in parent]
    return GateRecord(GATE, "passed", "grid or arguments differ" if same else "machine code differs")


def machine_code(compilation: Compilation) -> tuple[str, ...]:
    """The identity of what runs, launch by launch; empty when nothing was compiled."""
    return () if isinstance(compilation, CompileFailure) else tuple(map(_identity, compilation))


def _identity(evidence: CompileEvidence) -> str:
    """The hash of the code, the grid, the arguments that are not part of the code, which of them share memory, and what
    the wrapper tunes over.

    Names do not count; of a wrapper that tunes, only its first configuration was compiled.
    """
    launch = evidence.launch
    values = tuple(filter(None, map(_value, launch.arguments)))
    return repr((evidence.code_hash, launch.grid, values, launch.overlaps, launch.tuning))


def _value(argument: Argument) -> tuple[object, ...] | None:
    if isinstance(argument, ArrayArgument):
        return (argument.dtype, argument.shape, argument.strides)
    return None if argument.constant else (argument.value,)
