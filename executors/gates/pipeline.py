"""The gates in their order, cheap ones first: scope, compile, no-op, effect, emulation, correctness.

Each says passed, failed or could not run, and why; the first that fails is the last. A gate that cannot run never
passes. Whether the candidate is faster is not a gate's business but the verdict's (`executors.decide`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kdiag.records import Compilation, EmulatedSource, GateRecord, Promise

from . import compiles, effect, emulation, no_op
from .effect import Said

Emulated = tuple[EmulatedSource | str, EmulatedSource | str]


@dataclass(frozen=True)
class Inspection:
    """What the gates before the device look at. What takes long is asked for when its gate is reached.

    Of each pair the parent is first. Without `emulated` the gates end with what the compiler says. `exact`: the edit is
    said to change no bit of the result.
    """

    scope: Callable[[], GateRecord]
    compiled: Callable[[], tuple[Compilation, Compilation]]
    says: Callable[[Compilation], Said]
    emulated: Callable[[], Emulated] | None = None
    earlier: frozenset[tuple[str, ...]] = frozenset()
    promises: Sequence[Promise] = ()
    exact: bool = False


def without_device(inspection: Inspection) -> tuple[GateRecord, ...]:
    """The records of gates 1 to 5, up to the first that fails."""
    return tuple(_until_failure(_gates(inspection)))


def _gates(inspection: Inspection) -> Iterator[GateRecord]:
    yield inspection.scope()
    parent, candidate = inspection.compiled()
    yield compiles.compiles(candidate, parent)
    yield no_op.not_a_no_op(candidate, parent, inspection.earlier)
    yield effect.effect(inspection.promises, inspection.says(parent), inspection.says(candidate))
    if inspection.emulated is not None:
        yield emulation.emulation(*inspection.emulated(), exact=inspection.exact)


def _until_failure(records: Iterator[GateRecord]) -> Iterator[GateRecord]:
    for record in records:
        yield record
        if record.outcome == "failed":
            return
