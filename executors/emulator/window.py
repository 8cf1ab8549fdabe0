"""A part of memory seen as an array, with the shadow of its elements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .dtypes import Array
from .memory import RAW_TYPES, Allocation

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
    def overlaps(self) -> bool:
        """Whether two elements may lie in the same place."""
        axes = sorted(pair for pair in zip(self.strides, self.shape, strict=True) if pair[1] > 1)
        reach = 0
        for stride, extent in axes:
            if stride <= reach:
                return True
            reach += stride * (extent - 1)
        return False

    @cached_property
    def undefined(self) -> list[Array]:
        """The cells of each element that nothing wrote; no planes where all of the allocation is defined."""
        return self._planes(self.allocation.undefined)

    @cached_property
    def writer(self) -> list[Array]:
        """Who wrote the cells of each element; no planes for an allocation that this launch does not write."""
        return self._planes(self.allocation.writer)

    @cached_property
    def reader(self) -> list[Array]:
        """Who read the cells of each element."""
        return self._planes(self.allocation.reader)

    @cached_property
    def atomic(self) -> list[Array]:
        """Which cells were last written atomically."""
        return self._planes(self.allocation.atomic)

    def never_written(self, index: Index) -> Array | None:
        """Which elements nothing ever wrote; None if all are defined."""
        planes = [plane[index] for plane in self.undefined]
        return np.logical_or.reduce(planes) if planes else None

    def _planes(self, shadow: Array | None) -> list[Array]:
        """The shadow as views of this window's shape, one for each cell of an element; none where there is no shadow."""
        if shadow is None:
            return []
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
