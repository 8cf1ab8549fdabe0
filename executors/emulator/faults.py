"""What an emulated launch did that hardware would have let pass: each fault once per place, with its first element."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from kdiag.errors import KdiagError

Kind = Literal[
    "out-of-bounds",  # an access past what the array holds, or past what cuTile defines
    "uninitialized",  # an element that nothing ever wrote reached an output, an address, a branch or a mask
    "undetermined-padding",  # padding of PaddingMode.UNDETERMINED (or no padding value) reached one of these
    "undefined-value",  # a variable no path set, or an integer division by zero, reached one of these
    "race",  # two blocks wrote one element without synchronization
    "redundant-write",  # a warning: two blocks wrote one element, and the same value
    "block-dependency",  # a block read what another wrote, or wrote what another read, without synchronization
    "unwritten",  # elements of an output that no launch wrote
    "index-overflow",  # 32-bit arithmetic of an index wrapped around
    "assumption",  # what the kernel told the compiler to believe is not so
    "assertion",  # ct.assert_ failed
    "type-rule",  # a rule of cuTile on ranks, shapes or types that the tile compiler enforces
]

WARNINGS: frozenset[Kind] = frozenset({"redundant-write"})  # change no result by themselves
FAULTS_SHOWN = 5  # in the message of the exception; all are in `Emulation.faults`


@dataclass(frozen=True)
class Fault:
    """One fault at one place of a kernel.

    `line` and `column` (from 1) are of the operation in `file`; `block` is (x, y, z); `element` indexes `array`, the
    name of the kernel's parameter; `count` is how many elements were affected.
    """

    kind: Kind
    kernel: str
    file: str
    line: int
    column: int
    text: str
    block: tuple[int, int, int] | None = None
    array: str | None = None
    element: tuple[int, ...] | None = None
    count: int = 1

    @property
    def warning(self) -> bool:
        """Whether it changes no result by itself."""
        return self.kind in WARNINGS

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}"
        block = "" if self.block is None else f" in block {self.block}"
        element = "" if self.element is None else f", element {list(self.element)}"
        array = "" if self.array is None else f" (array {self.array}{element})"
        more = f" and {self.count - 1} more" if self.count > 1 else ""
        return f"{where}: {self.kernel}: {self.kind}: {self.text}{block}{array}{more}"


class EmulationError(KdiagError):
    """A launch was emulated and is at fault. `faults` holds each, the warnings included."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        serious = [fault for fault in faults if not fault.warning]
        shown = "\n".join(map(str, serious[:FAULTS_SHOWN]))
        rest = f"\n... and {len(serious) - FAULTS_SHOWN} more places" if len(serious) > FAULTS_SHOWN else ""
        super().__init__(shown + rest)


class NotEmulated(KdiagError):
    """The kernel uses something that the emulator does not know; nothing was computed."""


class FaultLog:
    """Collects the faults of an emulation: one entry for each kind, place and array."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Fault] = {}

    def add(self, fault: Fault) -> None:
        """Keep a fault, or add to the count of the one already kept for its place."""
        key = (fault.kind, fault.kernel, fault.file, fault.line, fault.column, fault.array)
        known = self._found.get(key)
        self._found[key] = fault if known is None else replace(known, count=known.count + fault.count)

    def all(self) -> tuple[Fault, ...]:
        """Every fault in the order in which they were found."""
        return tuple(self._found.values())

    def extend(self, faults: Iterable[Fault]) -> None:
        """Keep several faults."""
        for fault in faults:
            self.add(fault)


def place(location: Any) -> tuple[str, int, int]:
    """File, line and column (from 1) of a cuTile location."""
    return str(location.filename or "<unknown>"), int(location.line), int(location.col) + 1
