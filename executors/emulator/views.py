"""Tile loads and stores: the tiles of a view on an array, with what lies beyond its bounds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.tile import MemoryOrder
from cuda.tile._ir.type import GatherScatterViewTy, StridedViewTy

from . import pointers
from .access import Site
from .dtypes import Array
from .frame import ArrayView, Frame, Origins, entry
from .memory import RAW_TYPES
from .origins import Origin
from .window import Window

SLICED = 256  # elements of a tile from which one copy per block is faster than one index per element


@dataclass(frozen=True)
class Tiles:
    """The tiles that the blocks of a frame access: `coordinates[j]` (lanes, extent) along axis j of the tile.

    `axes[j]` is the array's axis that axis j of the tile runs along; `sparse` that axis j may jump.
    """

    site: Site
    view: ArrayView
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    coordinates: tuple[Array, ...]
    size: int
    sparse: bool

    @property
    def frame(self) -> Frame:
        """The frame whose lanes access the tiles."""
        return self.site.frame

    def inside(self, axis: int) -> Array:
        """Which coordinates along an axis of the tile are the array's: (lanes, extent)."""
        extent = self.view.shape[self.axes[axis]][:, None]
        return (self.coordinates[axis] >= 0) & (self.coordinates[axis] < extent)

    def addresses(self) -> tuple[Array, Array]:
        """Address and validity of each element: (lanes, *shape)."""
        rank = len(self.shape)
        offset, valid = np.zeros((1,) * (rank + 1), np.int64), np.ones((1,) * (rank + 1), np.bool_)
        for axis in range(rank):
            spread = tuple(-1 if a == axis else 1 for a in range(rank))
            stride = self.view.strides[self.axes[axis]][:, None]
            part = self.coordinates[axis] * stride
            offset = offset + part.reshape(part.shape[0], *spread)
            inside = self.inside(axis)
            valid = valid & inside.reshape(inside.shape[0], *spread)
        base = self.view.address.reshape(-1, *(1,) * rank)
        return np.broadcast_arrays(base + offset * self.size, valid)  # type: ignore[return-value]

    def window(self) -> Window | None:
        """The array as a window with the tile's axes, if all blocks see one array that lies whole in its memory."""
        small = int(np.prod(self.shape)) < SLICED
        if self.sparse or not self.shape or not self.view.uniform or (small and self.frame.count > 1):
            return None
        address = int(self.view.address[0])
        shape = tuple(int(self.view.shape[axis][0]) for axis in self.axes)
        strides = tuple(int(self.view.strides[axis][0]) for axis in self.axes)
        span = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) + 1
        if min(shape, default=1) < 1 or min(strides, default=0) < 0:
            return None
        allocation = self.frame.run.memory.holding(address, span * self.size)
        return None if allocation is None else Window(allocation, address, shape, strides, self.size)

    def slices(self) -> Iterator[tuple[int, tuple[slice, ...], tuple[slice, ...]]]:
        """For each lane: its number, where its elements are in the array, and where in the tile."""
        firsts = [np.broadcast_to(part[:, 0], self.frame.count).tolist() for part in self.coordinates]
        extents = [int(self.view.shape[axis][0]) for axis in self.axes]
        for lane in range(self.frame.count):
            outer, inner = [], []
            for first, extent, length in zip(firsts, extents, self.shape, strict=True):
                start = first[lane]
                low, high = max(start, 0), min(start + length, extent)
                outer.append(slice(low, max(low, high)))
                inner.append(slice(low - start, max(low, high) - start))
            yield lane, tuple(outer), tuple(inner)


def steps(kind: Any) -> tuple[int, ...]:
    """How many elements lie between the starts of neighbouring tiles of a view, along each axis of the tile."""
    if isinstance(kind, GatherScatterViewTy):
        return (1,) * len(kind.tile_shape)
    return tuple(kind.traversal_steps if isinstance(kind, StridedViewTy) else kind.tile_shape)


def tiles(frame: Frame, operation: Any) -> Tiles:
    """The tiles that an operation with a view and an index is about."""
    for item in operation.index:
        frame.run.use(frame.origins(item), operation.loc, "the index of a tile", frame.blocks)
    kind = operation.view.get_type()
    shape, rank = tuple(kind.tile_shape), len(kind.tile_shape)
    axes = tuple(range(rank)) if isinstance(kind, GatherScatterViewTy) else tuple(kind.order)
    coordinates = []
    for axis, item in enumerate(operation.index):
        value = frame[item].astype(np.int64)
        if value.ndim == 1:
            value = value[:, None] * steps(kind)[axis] + np.arange(shape[axis])
        coordinates.append(value)
    sparse = isinstance(kind, GatherScatterViewTy)
    size = max(1, kind.array_ty.dtype.bitwidth // 8)
    site = Site(frame, operation.loc, operation.memory_order is not MemoryOrder.WEAK)
    return Tiles(site, frame[operation.view], shape, axes, tuple(coordinates), size, sparse)


def check(found: Tiles, unchecked: tuple[bool, ...]) -> None:
    """Report tiles that lie wholly outside, and any outside element along axes whose bounds are not checked."""
    frame = found.frame
    for axis in range(len(found.shape)):
        inside = found.inside(axis)
        trusted = bool(unchecked) and unchecked[axis]
        extent = found.view.shape[found.axes[axis]]
        # The first tile of an empty array holds padding alone; cuTile's own tests load it.
        empty = (extent == 0) & (found.coordinates[axis][:, 0] == 0)
        bad = ~(inside.all(axis=1) if trusted else inside.any(axis=1) | empty)
        if not bad.any():
            continue
        lane = int(np.flatnonzero(bad)[0])
        row = found.coordinates[axis][lane if found.coordinates[axis].shape[0] > 1 else 0]
        limit = int(extent[lane if extent.size > 1 else 0])
        low, high = int(row.min()), int(row.max())
        elements = f"elements {low} to {high}" if low < high else f"element {low}"
        reach = f"{elements} of axis {found.axes[axis]}, which is of size {limit}"
        how = "although its bounds are not checked" if trusted else "it lies wholly outside, which is undefined"
        text = f"the tile reaches {reach}: {how}"
        block = int(frame.blocks[lane if inside.shape[0] > 1 else 0])
        at = _first_outside(found, axis, lane)
        frame.run.report("out-of-bounds", found.site.location, text, block=block, at=at, count=int(bad.sum()))


def _first_outside(found: Tiles, axis: int, lane: int) -> tuple[str | None, tuple[int, ...]]:
    """The array's name, and the first element of a lane's tile that is outside along an axis."""
    element = [0] * len(found.axes)
    for along, coordinates in enumerate(found.coordinates):
        inside = found.inside(along)
        step = int(np.argmin(inside[lane if inside.shape[0] > 1 else 0])) if along == axis else 0
        element[found.axes[along]] = int(entry(coordinates, (lane, step)))
    return found.frame.run.array_at(int(entry(found.view.address, (lane,))))[0], tuple(element)


def load(found: Tiles, padding: Any, padding_origin: bool) -> tuple[Array, Origins | None]:
    """The raw tiles (lanes, *shape) and their undefined elements. `padding` is the raw value beyond the bounds.

    `padding_origin`: that value is undetermined.
    """
    window, run = found.window(), found.frame.run
    if window is None:
        addresses, valid = found.addresses()
        raw, origins = pointers.load(found.site, addresses, valid, found.size)
        outside = ~valid
        raw[np.broadcast_to(outside, raw.shape)] = padding
    else:
        raw = np.full((found.frame.count, *found.shape), padding, RAW_TYPES[found.size])
        outside = None
        origins = None
        for lane, outer, inner in found.slices():
            access = found.site.access(int(found.frame.blocks[lane]))
            values, undefined = access.read(window, outer)
            raw[lane][inner] = values
            if undefined is not None and undefined.any():
                origins = np.zeros(raw.shape, np.uint8) if origins is None else origins
                position = tuple(int(part) for part in np.argwhere(undefined)[0])
                address = window.address_of(outer, position)
                origin = run.origin(Origin.never_written(run, found.site.location, address))
                origins[lane][inner] = undefined * np.uint8(origin)
    if padding_origin:
        outside = ~found.addresses()[1] if outside is None and not _all_inside(found) else outside
        if outside is not None and outside.any():
            code = run.origin(Origin.padding(found.site.location, run.array_at(int(found.view.address[0]))[0]))
            origins = np.zeros(raw.shape, np.uint8) if origins is None else origins
            origins[np.broadcast_to(outside, raw.shape)] = code
    return raw, origins


def _all_inside(found: Tiles) -> bool:
    return all(bool(found.inside(axis).all()) for axis in range(len(found.shape)))


def store(found: Tiles, raw: Array) -> None:
    """Store raw tiles; elements beyond the bounds are left out."""
    window = found.window()
    if window is None or window.overlaps:
        addresses, valid = found.addresses()
        pointers.store(found.site, addresses, valid, raw)
        return
    found.site.note_store(window.allocation, window.address)
    spread = found.frame.spread(raw)
    for lane, outer, inner in found.slices():
        access = found.site.access(int(found.frame.blocks[lane]))
        access.write(window, outer, spread[lane][inner])
