"""The values of a kernel's variables for a set of blocks that run in lockstep.

A value is an array whose first axis is the lane: one entry for each block that runs, or a single entry where all have
the same. The axes after it are the tile's. Where blocks take different ways, a narrower frame holds those of one way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .dtypes import Array

if TYPE_CHECKING:
    from .run import Run

Origins = npt.NDArray[np.uint8]  # 0: defined; else the number of the origin of an undefined value


@dataclass(frozen=True)
class ArrayView:
    """An array in memory: address in bytes, extents and strides in elements; each an int64 array over the lanes."""

    address: Array
    shape: tuple[Array, ...]
    strides: tuple[Array, ...]

    @property
    def uniform(self) -> bool:
        """Whether all lanes see the same array."""
        return all(part.size == 1 for part in (self.address, *self.shape, *self.strides))

    def take(self, positions: Array) -> ArrayView:
        """The views of some lanes."""
        return ArrayView(
            take(self.address, positions),
            tuple(take(part, positions) for part in self.shape),
            tuple(take(part, positions) for part in self.strides),
        )


def take(value: Any, positions: Array) -> Any:
    """The entries of some lanes; a value that all lanes share stays one."""
    if isinstance(value, ArrayView):
        return value.take(positions)
    return value if value.shape[0] == 1 else value[positions]


def entry(value: Array, position: tuple[int, ...]) -> Any:
    """One entry of a value some of whose axes have a single entry that stands for all."""
    return value[tuple(min(at, extent - 1) for at, extent in zip(position, value.shape, strict=True))]


def along_lanes(value: Array, rank: int) -> Array:
    """A value that has only the axis of the lanes, with `rank` axes."""
    return value.reshape(-1, *(1,) * (rank - 1))


class Frame:
    """Variables by name for the blocks at the positions `lanes` of the run, in ascending order."""

    __slots__ = ("_origins", "_parent", "_positions", "_values", "lanes", "run")

    def __init__(self, run: Run, lanes: Array, parent: Frame | None = None, positions: Array | None = None) -> None:
        self.run = run
        self.lanes = lanes
        self._parent = parent
        self._positions = positions
        self._values: dict[str, Any] = {}
        self._origins: dict[str, Origins] = {}

    @property
    def count(self) -> int:
        return int(self.lanes.size)

    @property
    def blocks(self) -> Array:
        """The numbers of the blocks, x running fastest."""
        return self.run.blocks[self.lanes]

    def narrowed(self, lanes: Array) -> Frame:
        """The frame of some of the lanes; itself if these are all."""
        if lanes.size == self.lanes.size:
            return self
        return Frame(self.run, lanes, self, np.searchsorted(self.lanes, lanes))

    def repeated(self, positions: Array) -> Frame:
        """A frame in which each lane is repeated as `positions` says: for the body of a reduction or scan."""
        return Frame(self.run, self.lanes[positions], self, positions)

    def __getitem__(self, variable: Any) -> Any:
        try:
            return self._values[variable.name]
        except KeyError:
            return self._inherited(variable)

    def _inherited(self, variable: Any) -> Any:
        if self._parent is None or self._positions is None:
            raise AssertionError(f"{variable.name} is used before it is defined")
        value = take(self._parent[variable], self._positions)
        origins = self._parent.origins(variable)
        if origins is not None:
            self._origins[variable.name] = take(origins, self._positions)
        self._values[variable.name] = value
        return value

    def origins(self, variable: Any) -> Origins | None:
        """Where a value is undefined, by origin; None if it is defined throughout."""
        if not self.run.origins:
            return None
        if variable.name not in self._values:
            self._inherited(variable)
        return self._origins.get(variable.name)

    def set(self, variable: Any, value: Any, origins: Origins | None = None) -> None:
        self._values[variable.name] = value
        if origins is not None:
            self._origins[variable.name] = origins
        elif self._origins:
            self._origins.pop(variable.name, None)

    def spread(self, value: Array) -> Array:
        """The value with one entry for each lane, as a view."""
        return np.broadcast_to(value, (self.count, *value.shape[1:]))
