"""Gate 5, emulation: on the CPU the candidate gives what its parent gives, and does nothing that its parent does not.

Parent and candidate ran the same cases (`executors.emulator.cases`). A case speaks only where the parent itself is in
order: inputs that were perturbed may be some that the kernel was never meant for.
"""

from collections.abc import Iterator, Mapping

from kdiag.records import EmulatedCase, EmulatedSource, EmulationCase, Fault, GateRecord

GATE = "emulation"
HANGS = 10.0  # a candidate that has no result after so many times its parent's time is stuck
Ran = Mapping[EmulationCase, EmulatedCase]


def emulation(parent: EmulatedSource | str, candidate: EmulatedSource | str, *, exact: bool) -> GateRecord:
    """Compare all cases; a text says why a source could not be emulated.

    Every result must be as right as the parent's, no fault may be new, and no input may be changed that the parent
    leaves alone. `exact`: outputs must also have the bits of the parent's.
    """
    for one in (parent, candidate):
        if isinstance(one, str):
            return GateRecord(GATE, "could-not-run", one)
    assert isinstance(parent, EmulatedSource)
    assert isinstance(candidate, EmulatedSource)
    if wrong := next(_differences(parent.ran, candidate.ran, exact=exact), None):
        return GateRecord(GATE, "failed", wrong)
    if stuck := _stuck(parent.ran, candidate):
        return GateRecord(GATE, "failed", stuck)
    for words, source in (("the parent in ", parent), ("", candidate)):
        if source.missing:
            case, why = next(iter(source.missing.items()))
            return GateRecord(GATE, "could-not-run", f"{words}{case}: {why}")
    if broken := next((c for c, ran in parent.ran.items() if not c.perturbation and not ran.check.passed), None):
        reason = parent.ran[broken].check.reason
        return GateRecord(GATE, "could-not-run", f"the parent itself is wrong in {broken}: {reason}")
    return GateRecord(GATE, "passed", _summary(parent.ran, candidate.ran))


def _differences(parent: Ran, candidate: Ran, *, exact: bool) -> Iterator[str]:
    """What is wrong with the candidate, one sentence for each case."""
    known = {_kind(fault) for ran in parent.values() for fault in ran.faults}
    ordered = _order_dependent(parent)
    for case, ran in candidate.items():
        theirs = parent.get(case)
        if theirs is None or (case.perturbation and not _in_order(theirs)):
            continue
        if new := next((fault for fault in ran.faults if _kind(fault) not in known), None):
            yield f"{case}: {new.kind} in line {new.line}: {new.text}{f' ({new.where})' if new.where else ''}"
        elif theirs.check.passed and not ran.check.passed:
            yield f"wrong in {case}: {ran.check.reason}"
        elif added := sorted(set(ran.changed) - set(theirs.changed)):
            yield f"{case}: it changes the input {added[0]!r}"
        elif exact and theirs.outputs != ran.outputs and not theirs.faults and not ordered:
            which = next(
                n for n, pair in enumerate(zip(theirs.outputs, ran.outputs, strict=False)) if pair[0] != pair[1]
            )
            yield f"{case}: output {which} has not the bits of the parent's, and the edit is said to be exact"


def _in_order(ran: EmulatedCase) -> bool:
    """Whether a case says anything: the kernel is right in it, or at least at no fault."""
    return not ran.failure and (ran.check.passed or not ran.faults)


def _kind(fault: Fault) -> tuple[str, str, str | None]:
    """What makes two faults the same: lines shift."""
    return (fault.kind, fault.kernel, fault.array)


def _order_dependent(ran: Ran) -> bool:
    """Whether the parent's own bits depend on the order of its blocks, as where floats are added atomically."""
    plain = {
        (c.edge, c.index): r.outputs for c, r in ran.items() if c.seed == 1 and not c.perturbation and c.shuffle is None
    }
    return any(c.shuffle is not None and r.outputs != plain.get((c.edge, c.index), r.outputs) for c, r in ran.items())


def _stuck(parent: Ran, candidate: EmulatedSource) -> str | None:
    """A candidate that ran out of time where its parent needed next to none."""
    theirs = sum(ran.seconds for ran in parent.values())
    case = next((case for case in candidate.missing if case in parent), None)
    if case is None or candidate.late_s is None or theirs * HANGS > candidate.late_s:
        return None
    return f"{case}: no result within {candidate.late_s:g} s; all runs of its parent take {theirs:.1f} s"


def _summary(parent: Ran, candidate: Ran) -> str:
    both = [case for case in candidate if case in parent]
    same = all(parent[case].outputs == candidate[case].outputs for case in both)
    spoken = [case for case in both if not case.perturbation or _in_order(parent[case])]
    configurations = len({(case.edge, case.index) for case in both})
    words = "bit for bit as the parent" if same else "within the tolerance"
    return f"{len(spoken)} runs of {configurations} configurations on the CPU, {words}, no new fault"
