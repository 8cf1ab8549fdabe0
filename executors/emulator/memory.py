"""Memory as a kernel sees it: allocations at their real addresses, with a shadow that knows what was ever written.

Every array a launch is given lies in an allocation; pointers are real addresses, so that pointer arithmetic, views of
one allocation and lists of arrays need no special case. Elements are moved as raw unsigned integers of their size.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .dtypes import Array

Integers = npt.NDArray[np.int64]

NOBODY = -1  # no block of this launch touched the cell
SEVERAL = 2**31 - 1  # more than one block did
RAW_TYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(eq=False)
class Allocation:
    """One piece of memory: `size` bytes from address `start`, and one shadow cell per `cell` bytes.

    `writer` and `reader` hold, for each cell and this launch, the number of the block that wrote or read it, or NOBODY
    or SEVERAL; `atomic` marks cells last written atomically. `undefined` marks cells that nothing ever wrote.
    """

    start: int
    size: int
    cell: int
    bytes: npt.NDArray[np.uint8]
    owner: object = None
    undefined: npt.NDArray[np.bool_] | None = None
    writer: npt.NDArray[np.int32] | None = None
    reader: npt.NDArray[np.int32] | None = None
    atomic: npt.NDArray[np.bool_] | None = None
    read: bool = False  # by a kernel of this launch
    written_at: dict[Any, set[int]] = field(default_factory=dict)  # addresses stored to, by location

    @property
    def cells(self) -> int:
        return -(-self.size // self.cell)

    def holds(self, address: int) -> bool:
        return self.start <= address < self.start + self.size

    def raw(self, size: int) -> Array:
        """The elements of `size` bytes, as unsigned integers of that size."""
        return self.bytes[: self.size // size * size].view(RAW_TYPES[size])

    def watch(self) -> None:
        """Follow from here which block writes and reads which cell."""
        self.writer = np.full(self.cells, NOBODY, np.int32)
        self.reader = np.full(self.cells, NOBODY, np.int32)
        self.atomic = np.zeros(self.cells, np.bool_)

    def forget_blocks(self) -> None:
        """The end of a launch: what its blocks did no longer matters."""
        self.writer = self.reader = self.atomic = None


def allocation_at(start: int, size: int, cell: int, owner: object) -> Allocation:
    """The memory of `size` bytes at address `start`, which `owner` keeps alive."""
    data = (ctypes.c_uint8 * size).from_address(start) if size else (ctypes.c_uint8 * 0)()
    return Allocation(start, size, cell, np.ctypeslib.as_array(data), owner)


@dataclass
class Memory:
    """The allocations that a launch may touch, found by address."""

    allocations: list[Allocation] = field(default_factory=list)
    _starts: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    _ends: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    def add(self, allocation: Allocation) -> None:
        self.allocations = sorted([*self.allocations, allocation], key=lambda one: one.start)
        self._starts = np.array([one.start for one in self.allocations], np.int64)
        self._ends = np.array([one.start + one.size for one in self.allocations], np.int64)

    def holding(self, address: int, size: int) -> Allocation | None:
        """The allocation that holds all of `size` bytes at `address`."""
        number = int(np.searchsorted(self._starts, address, "right")) - 1
        if number < 0 or address + size > self._ends[number]:
            return None
        return self.allocations[number]

    def watched_at(self, addresses: Integers, size: int) -> bool:
        """Whether any of the addresses (1-D) lies in memory whose accesses are followed."""
        if all(one.writer is None for one in self.allocations):
            return False
        return any(one is not None and one.writer is not None for one, _ in self.groups(addresses, size))

    def groups(self, addresses: Integers, size: int) -> Iterator[tuple[Allocation | None, Any]]:
        """The addresses (1-D) by allocation: each with the positions of its addresses; None for those in none."""
        if not addresses.size:
            return
        first = self.holding(int(addresses.min()), size)
        if first is not None and int(addresses.max()) + size <= first.start + first.size:
            yield first, slice(None)
            return
        number = np.searchsorted(self._starts, addresses, "right") - 1
        number[(number >= 0) & (addresses + size > self._ends[number])] = -1
        for one in np.unique(number):
            yield (self.allocations[one] if one >= 0 else None), np.flatnonzero(number == one)


@dataclass(frozen=True)
class ArrayInMemory:
    """An array given to a launch: its name among the parameters, and where and how its elements lie.

    `shape` and `strides` are in elements, `size` is that of an element in bytes; NumPy arrays may not be `writable`.
    """

    name: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    writable: bool = True

    def element_at(self, address: int) -> tuple[int, ...] | None:
        """The index of the element at an address; None if it is none of the array's."""
        rest = (address - self.address) // self.size
        index = [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda a: -abs(self.strides[a])):
            stride = self.strides[axis]
            index[axis] = min(rest // stride, max(self.shape[axis] - 1, 0)) if stride > 0 else 0
            rest -= index[axis] * stride
        return tuple(index) if rest == 0 and address >= self.address else None
