"""Memory that nothing wrote yet: filled with a pattern when it is made, and followed until a kernel reads it.

Writes by anything but an emulated kernel are seen by the pattern being gone when the next launch begins.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .memory import RAW_TYPES, Allocation, ArrayInMemory, allocation_at

# Every float type reads 0xff.. as a NaN that no arithmetic makes; as an integer it would be -1, so those get another.
FLOAT_BYTE, INTEGER_BYTE = 0xFF, 0xA5


@dataclass
class Tracked:
    """One piece of memory, the byte it was filled with, and which of its cells of `cell` bytes still are undefined."""

    allocation: Allocation
    byte: int
    alive: Callable[[], bool]
    ambiguous: bool  # of so few bits that the pattern may as well be a value
    stores: dict[tuple[str, Any, str], ArrayInMemory] = field(default_factory=dict)
    read: bool = False  # by a kernel: a workspace, which need not be filled

    def refresh(self) -> None:
        """Take what other code wrote since the last look as defined."""
        undefined, cell = self.allocation.undefined, self.allocation.cell
        assert undefined is not None
        pattern = RAW_TYPES[cell](int.from_bytes(bytes([self.byte]) * cell))
        same = self.allocation.raw(cell)[: undefined.size] == pattern
        if self.ambiguous and not (same | ~undefined).all():
            undefined[:] = False
        undefined[: same.size] &= same

    def with_cells_of(self, cell: int) -> npt.NDArray[np.bool_]:
        """The undefined cells in another, smaller or equal, cell size; kept in that size from now on."""
        assert self.allocation.undefined is not None
        if cell < self.allocation.cell:
            self.allocation.undefined = np.repeat(self.allocation.undefined, self.allocation.cell // cell)
            self.allocation.cell = cell
        return self.allocation.undefined


class NeverWritten:
    """The memory that an emulation follows, by address."""

    def __init__(self, forgotten: Callable[[Tracked], None]) -> None:
        """`forgotten` is called with memory that nobody holds any more, while it still can be looked at."""
        self._tracked: dict[int, Tracked] = {}
        self._forgotten = forgotten

    def track_numpy(self, array: npt.NDArray[Any]) -> None:
        """Fill an array that owns its memory, and follow it."""
        start = array.ctypes.data
        reference = weakref.ref(array, lambda _: self._forget(start))
        floats = array.dtype.kind not in "iub"
        self._track(
            start, array.nbytes, array.itemsize, floats, lambda: reference() is not None,
            ambiguous=array.itemsize <= (2 if array.dtype.kind in "iu" else 1) and array.dtype.kind != "b",
        )  # fmt: skip

    def track_torch(self, tensor: Any) -> None:
        """Fill a CPU tensor's whole memory, and follow it as long as someone else holds it."""
        import torch

        storage = tensor.untyped_storage()
        integers = not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
        self._track(
            storage.data_ptr(), storage.nbytes(), min(tensor.element_size(), 8), not integers,
            lambda: torch._C._storage_Use_Count(storage._cdata) > 1,
            ambiguous=tensor.element_size() <= (2 if integers else 1) and tensor.dtype != torch.bool,
        )  # fmt: skip

    def _track(
        self, start: int, size: int, cell: int, floats: bool, alive: Callable[[], bool], *, ambiguous: bool
    ) -> None:
        self.forget_dead()
        if size == 0:
            return
        allocation = allocation_at(start, size, cell, None)
        byte = FLOAT_BYTE if floats else INTEGER_BYTE
        allocation.bytes[:] = byte
        allocation.undefined = np.ones(allocation.cells, np.bool_)
        self._tracked[start] = Tracked(allocation, byte, alive, ambiguous)

    def forget_dead(self) -> None:
        """Let go of memory that nobody holds any more."""
        for start in [start for start, one in self._tracked.items() if not one.alive()]:
            self._forget(start)

    def _forget(self, start: int) -> None:
        found = self._tracked.pop(start, None)
        if found is not None:
            found.refresh()
            self._forgotten(found)

    def at(self, start: int) -> Tracked | None:
        found = self._tracked.get(start)
        if found is None:
            return None
        if not found.alive():  # other memory may lie there by now
            self._forget(start)
            return None
        return found

    def all(self) -> list[Tracked]:
        """All that is followed and still held, brought up to date."""
        self.forget_dead()
        for one in self._tracked.values():
            one.refresh()
        return list(self._tracked.values())
