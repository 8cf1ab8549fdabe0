"""Gate 2, compile: the candidate becomes a cubin for the target."""

from kdiag.records import Compilation, CompileFailure, GateRecord

GATE = "compile"


def compiles(candidate: Compilation, parent: Compilation) -> GateRecord:
    """The candidate compiles to a cubin for the target, unless not even its parent can be compiled here."""
    if isinstance(parent, CompileFailure):
        return GateRecord(GATE, "could-not-run", parent.message)
    if isinstance(candidate, CompileFailure):
        if candidate.kind == "unavailable":
            return GateRecord(GATE, "could-not-run", candidate.message)
        return GateRecord(GATE, "failed", f"{candidate.kind}: {candidate.message}")
    seconds = sum(evidence.seconds for evidence in candidate)
    return GateRecord(GATE, "passed", f"{len(candidate)} cubin{'s' * (len(candidate) > 1)} in {seconds:.1f} s")
