"""Operations that move elements without changing them, and those that make tiles of nothing."""

from typing import Any

import numpy as np
from cuda.tile import _datatype as datatype
from cuda.tile._ir.arithmetic_ops import TileBroadcast, TileReshape
from cuda.tile._ir.control_flow_ops import MakeDummy
from cuda.tile._ir.core_ops import Assign, TypedConst
from cuda.tile._ir.ops import (
    TileArange,
    TileBid,
    TileCat,
    TileExtract,
    TileInsert,
    TileNumBlocks,
    TilePack,
    TilePermute,
    TileUnpack,
)
from cuda.tile._ir.type import TokenTy

from . import casts
from .dtypes import Array, numpy_dtype
from .elementwise import any_of
from .frame import Frame
from .origins import Origin

NO_TOKEN = np.zeros(1, np.bool_)  # memory operations run in the order of the code; a token has nothing to say


def storage_of(variable: Any) -> np.dtype[Any]:
    """The NumPy type of a variable's elements; pointers are addresses."""
    dtype = variable.get_type().dtype
    return np.dtype(np.int64) if "pointer" in str(dtype) else numpy_dtype(dtype)


def constant(frame: Frame, operation: TypedConst) -> None:
    """A constant, of one value or one for each element."""
    kind = operation.result_var.get_type()
    frame.set(operation.result_var, np.broadcast_to(_typed(operation), (1, *kind.shape)))


def _typed(operation: TypedConst) -> Array:
    variable = operation.result_var
    storage, dtype = storage_of(variable), variable.get_type().dtype
    if storage.kind in "iu":  # an unsigned constant may be written as a negative number
        numbers = np.asarray(operation.value, object)
        bits = storage.itemsize * 8
        wrapped = [int(number) % (1 << bits) for number in numbers.ravel()]
        return np.array(wrapped, np.uint64).astype(f"u{storage.itemsize}").view(storage).reshape(numbers.shape)
    if storage.kind == "b":
        return np.asarray(operation.value).astype(np.bool_)
    return casts.convert(np.asarray(operation.value, np.float64), datatype.float64, dtype)


def dummy(frame: Frame, operation: MakeDummy) -> None:
    """A variable that no path has set here."""
    kind = operation.result_var.get_type()
    if isinstance(kind, TokenTy):
        frame.set(operation.result_var, NO_TOKEN)
        return
    code = frame.run.origin(Origin.undefined(operation.loc, "a variable that is not set on every path"))
    shape = (1, *kind.shape)
    value = np.zeros(shape, storage_of(operation.result_var))
    frame.set(operation.result_var, value, np.full(shape, code, np.uint8))


def assign(frame: Frame, operation: Assign) -> None:
    """Another name for a value."""
    frame.set(operation.result_var, frame[operation.value], frame.origins(operation.value))


def block_index(frame: Frame, operation: TileBid) -> None:
    """ct.bid."""
    width, height, _ = frame.run.grid
    number = frame.blocks.astype(np.int32)
    steps = (1, width, width * height)[operation.axis]
    frame.set(operation.result_var, number // steps % frame.run.grid[operation.axis])


def block_count(frame: Frame, operation: TileNumBlocks) -> None:
    frame.set(operation.result_var, np.array([frame.run.grid[operation.axis]], np.int32))


def arange(frame: Frame, operation: TileArange) -> None:
    """0, 1, 2, ..."""
    kind = operation.result_var.get_type()
    frame.set(operation.result_var, np.arange(kind.shape[0], dtype=numpy_dtype(kind.dtype))[None])


def _moved(frame: Frame, operation: Any, move: Any, *sources: Any) -> None:
    """Set the result to `move` of the sources' values, and its shadow to `move` of theirs."""
    values = [frame[source] for source in sources]
    shadows = [frame.origins(source) for source in sources]
    origins = None
    if any(shadow is not None for shadow in shadows):
        filled = [
            np.zeros((1, *value.shape[1:]), np.uint8) if shadow is None else np.broadcast_to(shadow, value.shape)
            for value, shadow in zip(values, shadows, strict=True)
        ]
        origins = move(*filled)
    frame.set(operation.result_var, move(*values), origins)


def reshape(frame: Frame, operation: TileReshape) -> None:
    """The elements in row-major order in another shape."""
    shape = operation.result_var.get_type().shape
    _moved(frame, operation, lambda x: x.reshape(x.shape[0], *shape), operation.x)


def broadcast(frame: Frame, operation: TileBroadcast) -> None:
    """Axes of extent 1 repeated."""
    shape = operation.result_var.get_type().shape
    _moved(frame, operation, lambda x: np.broadcast_to(x, (x.shape[0], *shape)), operation.x)


def permute(frame: Frame, operation: TilePermute) -> None:
    axes = (0, *(axis + 1 for axis in operation.axes))
    _moved(frame, operation, lambda x: x.transpose(axes), operation.x)


def concatenate(frame: Frame, operation: TileCat) -> None:
    """Two tiles, one after the other along an axis."""

    def cat(x: Array, y: Array) -> Array:
        lanes = max(x.shape[0], y.shape[0])
        whole = [np.broadcast_to(part, (lanes, *part.shape[1:])) for part in (x, y)]
        return np.concatenate(whole, axis=operation.axis + 1)

    _moved(frame, operation, cat, operation.x, operation.y)


def _blocked(tile: Array, part: tuple[int, ...]) -> Array:
    """A tile (lanes, *shape) as (lanes, number of parts along each axis..., *part)."""
    lanes, shape = tile.shape[0], tile.shape[1:]
    counts = [whole // size for whole, size in zip(shape, part, strict=True)]
    split = [extent for pair in zip(counts, part, strict=True) for extent in pair]
    rank = len(part)
    order = (0, *(1 + 2 * axis for axis in range(rank)), *(2 + 2 * axis for axis in range(rank)))
    return tile.reshape(lanes, *split).transpose(order)


def _part_index(frame: Frame, operation: Any, counts: tuple[int, ...]) -> tuple[Array, ...]:
    """The indices of a part, reported and wrapped where they are beyond the tile."""
    indices = []
    for axis, (item, count) in enumerate(zip(operation.index, counts, strict=True)):
        frame.run.use(frame.origins(item), operation.loc, "the index of a part of a tile", frame.blocks)
        value = frame[item].astype(np.int64)
        outside = (value < 0) | (value >= count)
        if outside.any():
            lane = int(np.flatnonzero(outside)[0])
            text = f"the part {int(value[lane])} of axis {axis} is taken of a tile that has {count}"
            frame.run.report("out-of-bounds", operation.loc, text, block=int(frame.blocks[lane]))
        indices.append(value % count)
    return tuple(indices)


def extract(frame: Frame, operation: TileExtract) -> None:
    """One part of a tile that is divided into parts of equal shape."""
    part, whole = tuple(operation.shape), operation.x.get_type().shape
    index = _part_index(frame, operation, tuple(w // p for w, p in zip(whole, part, strict=True)))

    def take(x: Array) -> Array:
        lanes = max([x.shape[0], *(item.size for item in index)])
        first = np.arange(lanes) if x.shape[0] > 1 else np.zeros(lanes, np.intp)
        result: Array = _blocked(x, part)[(first, *index)]
        return result

    _moved(frame, operation, take, operation.x)


def insert(frame: Frame, operation: TileInsert) -> None:
    """A tile with one of its parts replaced."""
    part, whole = operation.value.get_type().shape, operation.x.get_type().shape
    index = _part_index(frame, operation, tuple(w // p for w, p in zip(whole, part, strict=True)))

    def put(x: Array, value: Array) -> Array:
        lanes = max([x.shape[0], value.shape[0], *(item.size for item in index)])
        result = np.array(np.broadcast_to(x, (lanes, *x.shape[1:])))
        _blocked(result, part)[(np.arange(lanes), *index)] = value
        return result

    _moved(frame, operation, put, operation.x, operation.value)


def pack(frame: Frame, operation: TilePack) -> None:
    """The bytes of a tile; 4-bit elements lie two in a byte, the first in its low half."""
    stored: Array = np.ascontiguousarray(frame[operation.x]).view(np.uint8)
    origins = any_of(frame, (operation.x,))
    if operation.x.get_type().dtype.bitwidth == 4:
        stored = stored[:, ::2] & 0xF | stored[:, 1::2] << 4
        origins = None if origins is None else np.maximum(origins[:, ::2], origins[:, 1::2])
    elif origins is not None:
        origins = origins.repeat(stored.shape[1] // origins.shape[1], axis=1)
    frame.set(operation.result_var, stored, origins)


def unpack(frame: Frame, operation: TileUnpack) -> None:
    """A tile of its bytes."""
    dtype = operation.result_var.get_type().dtype
    value = np.ascontiguousarray(frame[operation.x])
    origins = any_of(frame, (operation.x,))
    if dtype.bitwidth == 4:
        value = np.stack([value & 0xF, value >> 4], axis=-1).reshape(value.shape[0], -1)
        origins = None if origins is None else origins.repeat(2, axis=1)
    elif origins is not None:
        origins = origins.reshape(origins.shape[0], -1, dtype.bitwidth // 8).max(axis=2)
    frame.set(operation.result_var, value.view(numpy_dtype(dtype)), origins)


HANDLERS = {
    TypedConst: constant,
    MakeDummy: dummy,
    Assign: assign,
    TileBid: block_index,
    TileNumBlocks: block_count,
    TileArange: arange,
    TileReshape: reshape,
    TileBroadcast: broadcast,
    TilePermute: permute,
    TileCat: concatenate,
    TileExtract: extract,
    TileInsert: insert,
    TilePack: pack,
    TileUnpack: unpack,
}
