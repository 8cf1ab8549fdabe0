"""Gate 4, effect: the compiler says what the edit promised, and the candidate does not spill where its parent did not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kdiag.records import GateRecord, Observations, Promise, number

GATE = "effect"
STACK = "compile.stack_bytes"


@dataclass(frozen=True)
class Said:
    """What the compiler says of a kernel: its observations, and the lines of the source that each is remarked at.

    An observation that no remark can be about, or that is unavailable, has no entry in `lines`.
    """

    observations: Observations = field(default_factory=dict)
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)


def effect(promises: Sequence[Promise], parent: Said, candidate: Said) -> GateRecord:
    """Every promise is kept, and there are no new spills."""
    if STACK not in candidate.observations or STACK not in parent.observations:
        return GateRecord(GATE, "could-not-run", "there is no compiler evidence")
    spilled = number(candidate.observations, STACK)
    if spilled is not None and spilled > (number(parent.observations, STACK) or 0):
        return GateRecord(GATE, "failed", f"it spills registers: a stack frame of {spilled:g} bytes")
    for promise in promises:
        record = _at_lines(promise, candidate) if promise.lines else _moves(promise, parent, candidate)
        if record is not None:
            return record
    kept = "; ".join(promise.text for promise in promises)
    return GateRecord(GATE, "passed", kept or "nothing was promised, and there are no new spills")


def _moves(promise: Promise, parent: Said, candidate: Said) -> GateRecord | None:
    """What is wrong with a promise about a figure, or None."""
    before, after = (number(said.observations, promise.observation) for said in (parent, candidate))
    if before is None or after is None:
        return GateRecord(GATE, "could-not-run", f"{promise.observation} is unavailable")
    if _holds(promise, before, after):
        return None
    return _broken(promise, f"{promise.observation} was {before:g} and is {after:g}")


def _at_lines(promise: Promise, candidate: Said) -> GateRecord | None:
    """What is wrong with a promise about lines of the edited source, or None."""
    said = candidate.lines.get(promise.observation)
    if said is None:
        return GateRecord(GATE, "could-not-run", f"no remark says where {promise.observation} is so")
    wanted = frozenset(promise.lines)
    if promise.change == "at-lines" and (silent := wanted - said):
        return _broken(promise, f"the compiler does not say {promise.observation} {_lines(silent)}")
    if promise.change == "not-at-lines" and (named := wanted & said):
        return _broken(promise, f"the compiler says {promise.observation} {_lines(named)}")
    return None


def _broken(promise: Promise, but: str) -> GateRecord:
    return GateRecord(GATE, "failed", f"promised that {promise.text}, but {but}")


def _lines(numbers: frozenset[int]) -> str:
    return f"at line {', '.join(map(str, sorted(numbers)))} of the edited file"


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
            return True  # of no line at all
