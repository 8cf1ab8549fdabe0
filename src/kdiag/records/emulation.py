"""What emulating a kernel on the CPU found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kdiag.records.run import ConfigurationCheck

FaultKind = Literal[
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

WARNINGS: frozenset[FaultKind] = frozenset({"redundant-write"})  # change no result by themselves


@dataclass(frozen=True)
class Fault:
    """One fault at one place of a kernel.

    `line` and `column` (from 1) are of the operation in `file`; `block` is (x, y, z); `element` indexes `array`, the
    name of the kernel's parameter; `count` is how many elements were affected.
    """

    kind: FaultKind
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

    @property
    def where(self) -> str:
        """Block, array and element in words, "" where none is known."""
        parts = [] if self.block is None else [f"block {self.block}"]
        if self.array is not None:
            at = "" if self.element is None else f"[{', '.join(map(str, self.element))}]"
            parts.append(f"array {self.array}{at}")
        return ", ".join(parts)

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        more = f", and {self.count - 1} more" if self.count > 1 else ""
        return f"{self.file}:{self.line}:{self.column}: {self.kernel}: {self.kind}: {self.text}{where}{more}"


@dataclass(frozen=True)
class EmulatedConfiguration:
    """One configuration of a workload, run on the CPU: is it right, and what did its launches do wrong?

    `launches` counts cuTile launches; `seconds` is the wall time of `run`, emulation included.
    """

    check: ConfigurationCheck
    launches: int
    seconds: float
    faults: tuple[Fault, ...]

    @property
    def passed(self) -> bool:
        """The result is right, and nothing but warnings was found."""
        return self.check.passed and all(fault.warning for fault in self.faults)
