"""Reads and writes of memory, with the hazards between blocks that they show.

A block may read and write what it likes; what another block wrote it may not read, and what another block read or wrote
it may not write, unless an acquire followed a release (CUDA's memory model; hardware gives no order among blocks).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kdiag.records import FaultKind

from .dtypes import Array
from .memory import NOBODY, SEVERAL, Allocation
from .window import Index, Window

if TYPE_CHECKING:
    from .frame import Frame
    from .run import Run


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
        window.allocation.read = True
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
        for writer, reader, atomic in zip(window.writer, window.reader, window.atomic, strict=True):
            self._check_write(window, index, raw, writer, atomic)
            self._check_readers(window, index, reader)
            writer[index] = self.blocks
            atomic[index] = self.ordered
        window.data[index] = raw
        if isinstance(index, np.ndarray) and not self.ordered:
            for writer in window.writer[:1]:
                self._check_collisions(window, index, raw, writer)
        for undefined in window.undefined:
            undefined[index] = False

    def _check_collisions(self, window: Window, index: Array, raw: Array, writer: Array) -> None:
        """Report elements that this one operation wrote more than once: only the last value is left."""
        turn = np.arange(index.size, dtype=writer.dtype)
        writer[index] = turn
        last = writer[index]
        blocks = np.broadcast_to(self.blocks, index.shape)
        writer[index] = blocks
        lost = last != turn
        if not lost.any():
            return
        others, same = blocks[last], window.data[index] == raw
        foreign = lost & (others != blocks)
        if foreign.any():
            self._report_race(window, index, foreign, others, same)
        for part, kind in ((lost & ~foreign & ~same, "race"), (lost & ~foreign & same, "redundant-write")):
            if part.any():
                self._report_twice(kind, window, index, part)

    def _report_twice(self, kind: Any, window: Window, index: Array, where: Array) -> None:
        position = (int(np.argmax(where)),)
        values = "different values" if kind == "race" else "the same value"
        self.run.report(
            kind,
            self.location,
            f"one store writes one element several times, with {values}; only one of them stays",
            block=int(np.broadcast_to(self.blocks, index.shape)[position]),
            at=window.address_of(index, position),
            count=int(np.count_nonzero(where)),
        )

    def _check_write(self, window: Window, index: Index, raw: Array, writer: Array, atomic: Array) -> None:
        wrote = writer[index]
        if wrote.size and int(wrote.max()) != NOBODY:
            foreign = (wrote != NOBODY) & (wrote != self.blocks)
            if self.ordered:
                foreign &= ~atomic[index]
            if foreign.any():
                self._report_race(window, index, foreign, wrote, window.data[index] == raw)

    def _check_readers(self, window: Window, index: Index, reader: Array) -> None:
        read = reader[index]
        if read.size and int(read.max()) != NOBODY:
            foreign = (read != NOBODY) & (read != self.blocks)
            if foreign.any():
                self._report_dependency(window, index, foreign, read, "writes what {} read")

    def update(self, window: Window, index: Array, change: Callable[[Array], Array]) -> Array:
        """Change elements atomically (`index` names each once) and give what was there."""
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
            self._report("race", window, index, where & ~same, others, "and {} write different values")
        if (where & same).any():
            self._report("redundant-write", window, index, where & same, others, "and {} write the same value")

    def _report_dependency(self, window: Window, index: Index, where: Array, others: Array, text: str) -> None:
        self._report("read-write-race", window, index, where, others, text)

    def _report(self, kind: FaultKind, window: Window, index: Index, where: Array, others: Array, text: str) -> None:
        position = tuple(int(part) for part in np.argwhere(where)[0])
        block = int(self.blocks[position]) if isinstance(self.blocks, np.ndarray) else int(self.blocks)
        other = int(others[position])
        if self.run.synchronized(other, block):
            return
        named = "another block" if other == SEVERAL else f"block {self.run.block_index(other)}"
        self.run.report(
            kind,
            self.location,
            f"block {self.run.block_index(block)} {text.format(named)}, with no synchronization between them",
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

    def note_store(self, allocation: Allocation, address: int) -> None:
        """Keep that something is stored in an array, known by an address in it."""
        allocation.written_at.setdefault(self.location, set()).add(address)
