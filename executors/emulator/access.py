"""Reads and writes of memory, with the hazards between blocks that they show.

A block may read and write what it likes; what another block wrote it may not read, and what another block read or wrote
it may not write, unless an acquire followed a release (CUDA's memory model; hardware gives no order among blocks).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kdiag.executors.emulator.memory import NOBODY, RAW_TYPES, SEVERAL, Allocation
from kdiag.records import FaultKind

if TYPE_CHECKING:
    from kdiag.executors.emulator.frame import Frame
    from kdiag.executors.emulator.run import Run

Array = npt.NDArray[Any]
# Slices for one block's tile, or an integer array for the elements of many blocks.
Index = tuple[slice, ...] | Array


@dataclass(frozen=True)
class Window:
    """An array over an allocation: `shape` and `strides` in elements of `size` bytes, the first at `address`."""

    allocation: Allocation
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int

    @classmethod
    def flat(cls, allocation: Allocation, size: int) -> Window:
        """All elements of an allocation in a row."""
        return cls(allocation, allocation.start, (allocation.size // size,), (1,), size)

    @cached_property
    def data(self) -> Array:
        """The elements as unsigned integers; a view."""
        steps = tuple(stride * self.size for stride in self.strides)
        raw, offset = RAW_TYPES[self.size], self.address - self.allocation.start
        return np.ndarray(self.shape, raw, self.allocation.bytes, offset, steps)

    @cached_property
    def undefined(self) -> list[Array]:
        """The cells of each element that nothing wrote; no planes where all of the allocation is defined."""
        return [] if self.allocation.undefined is None else self._planes(self.allocation.undefined)

    @cached_property
    def writer(self) -> list[Array]:
        """Who wrote the cells of each element; no planes for an allocation that this launch does not write."""
        return [] if self.allocation.writer is None else self._planes(self.allocation.writer)

    @cached_property
    def reader(self) -> list[Array]:
        """Who read the cells of each element."""
        return [] if self.allocation.reader is None else self._planes(self.allocation.reader)

    @cached_property
    def atomic(self) -> list[Array]:
        """Which cells were last written atomically."""
        return [] if self.allocation.atomic is None else self._planes(self.allocation.atomic)

    def never_written(self, index: Index) -> Array | None:
        """Which elements nothing ever wrote; None if all are defined."""
        planes = [plane[index] for plane in self.undefined]
        return np.logical_or.reduce(planes) if planes else None

    def _planes(self, shadow: Array) -> list[Array]:
        """The shadow as views of this window's shape, one for each cell of an element."""
        cells = self.size // self.allocation.cell
        steps = tuple(stride * cells * shadow.itemsize for stride in self.strides)
        first = (self.address - self.allocation.start) // self.allocation.cell
        return [
            np.ndarray(self.shape, shadow.dtype, shadow, (first + plane) * shadow.itemsize, steps)
            for plane in range(cells)
        ]

    def address_of(self, index: Index, position: tuple[int, ...]) -> int:
        """The address of the element at `position` of what `index` selects."""
        if isinstance(index, tuple):
            steps = zip(index, position, self.strides, strict=True)
            offset = sum((int(part.start) + step) * stride for part, step, stride in steps)
        else:
            offset = int(index[position])
        return self.address + self.size * offset


@dataclass(frozen=True)
class Access:
    """One operation's access: `blocks` is the block's number, or an array of numbers, one for each element.

    `ordered`: the operation has a memory order of its own, so it may meet those of other blocks that have.
    """

    run: Run
    location: Any
    blocks: Any
    ordered: bool = False

    def read(self, window: Window, index: Index) -> tuple[Array, Array | None]:
        """The raw elements, and which of them nothing ever wrote (None: all are defined)."""
        if not self.ordered:
            for writer, reader in zip(window.writer, window.reader, strict=True):
                self._note_read(window, index, writer, reader)
        return window.data[index], window.never_written(index)

    def _note_read(self, window: Window, index: Index, writer: Array, reader: Array) -> None:
        wrote = writer[index]
        foreign = (wrote != NOBODY) & (wrote != self.blocks)
        if foreign.any():
            self._report_dependency(window, index, foreign, wrote, "reads what {} wrote")
        before = reader[index]
        mixed = (before != NOBODY) & (before != self.blocks)
        reader[index] = np.where(mixed, SEVERAL, self.blocks)
        if isinstance(index, np.ndarray):  # several blocks of one step may read an element
            lost = reader[index] != self.blocks
            if lost.any():
                reader[index[lost]] = SEVERAL

    def write(self, window: Window, index: Index, raw: Array) -> None:
        """Store raw elements."""
        window.allocation.written_at.setdefault(self.location)
        for writer, reader, atomic in zip(window.writer, window.reader, window.atomic, strict=True):
            if not (self.ordered and bool((atomic[index] | (writer[index] == NOBODY)).all())):
                self._check_write(window, index, raw, writer, reader)
            writer[index] = self.blocks
            atomic[index] = self.ordered
        window.data[index] = raw
        if isinstance(index, np.ndarray) and not self.ordered:
            for writer in window.writer[:1]:
                self._check_collisions(window, index, raw, writer[index])
        for undefined in window.undefined:
            undefined[index] = False

    def _check_collisions(self, window: Window, index: Array, raw: Array, last: Array) -> None:
        """Report elements that this one operation wrote more than once: only one of the values is left."""
        same = window.data[index] == raw
        lost = last != self.blocks
        if lost.any():
            self._report_race(window, index, lost, last, same)
        twice = ~lost & ~same
        if twice.any():
            position = tuple(int(part) for part in np.argwhere(twice)[0])
            block = int(self.blocks[position]) if isinstance(self.blocks, np.ndarray) else int(self.blocks)
            text = "two elements of one tile go to the same place, and which of their values is left is undefined"
            at = window.address_of(index, position)
            self.run.report("race", self.location, text, block=block, at=at, count=int(twice.sum()))

    def _check_write(self, window: Window, index: Index, raw: Array, writer: Array, reader: Array) -> None:
        wrote, read = writer[index], reader[index]
        if wrote.size and int(wrote.max()) != NOBODY:
            foreign = (wrote != NOBODY) & (wrote != self.blocks)
            if foreign.any():
                self._report_race(window, index, foreign, wrote, window.data[index] == raw)
        if read.size and int(read.max()) != NOBODY:
            foreign = (read != NOBODY) & (read != self.blocks)
            if foreign.any():
                self._report_dependency(window, index, foreign, read, "writes what {} read")

    def update(self, window: Window, index: Array, change: Callable[[Array], Array]) -> Array:
        """Change elements atomically (`index` names each once) and give what was there."""
        window.allocation.written_at.setdefault(self.location)
        for writer, reader, atomic in zip(window.writer, window.reader, window.atomic, strict=True):
            wrote, read = writer[index], reader[index]
            foreign = (wrote != NOBODY) & (wrote != self.blocks)
            plain = foreign & ~atomic[index]
            if plain.any():
                self._report_dependency(window, index, plain, wrote, "updates atomically what {} wrote")
            plain = (read != NOBODY) & (read != self.blocks)
            if plain.any():
                self._report_dependency(window, index, plain, read, "updates atomically what {} read")
            writer[index] = np.where(foreign, SEVERAL, self.blocks)
            atomic[index] = True
        before = window.data[index]
        window.data[index] = change(before)
        for undefined in window.undefined:
            undefined[index] = False
        return before

    def _report_race(self, window: Window, index: Index, where: Array, others: Array, same: Array) -> None:
        """Two blocks write one element: a fault, or a warning where they write the same value."""
        if (where & ~same).any():
            self._report("race", window, index, where & ~same, others, "writes another value than {} wrote")
        if (where & same).any():
            self._report(
                "redundant-write", window, index, where & same, others, "writes the value that {} wrote"
            )

    def _report_dependency(
        self, window: Window, index: Index, where: Array, others: Array, text: str
    ) -> None:
        self._report("block-dependency", window, index, where, others, text)

    def _report(
        self, kind: FaultKind, window: Window, index: Index, where: Array, others: Array, text: str
    ) -> None:
        position = tuple(int(part) for part in np.argwhere(where)[0])
        block = int(self.blocks[position]) if isinstance(self.blocks, np.ndarray) else int(self.blocks)
        other = int(others[position])
        if self.run.synchronized(other, block):
            return
        named = "another block" if other == SEVERAL else f"block {self.run.block_index(other)}"
        self.run.report(
            kind,
            self.location,
            f"the block {text.format(named)}, and nothing orders the two",
            block=block,
            at=window.address_of(index, position),
            count=int(np.count_nonzero(where)),
        )


@dataclass(frozen=True)
class Site:
    """A memory operation at a location, for the lanes of a frame; see `Access` for `ordered`."""

    frame: Frame
    location: Any
    ordered: bool = False

    def access(self, blocks: Any) -> Access:
        """The access of one block, or of the blocks to which elements belong."""
        return Access(self.frame.run, self.location, blocks, self.ordered)
