"""Operations on memory: arrays and their views, loads and stores, pointers, lists of arrays."""

from typing import Any

import numpy as np
from cuda.tile import MemoryOrder, PaddingMode
from cuda.tile._datatype import PointerInfo
from cuda.tile._ir import ops as ir
from cuda.tile._ir.cast_ops import AddrSpaceCast, ReinterpretPointer

from . import pointers, views
from .access import Site
from .dtypes import Array, numpy_dtype
from .elementwise import any_of
from .frame import ArrayView, Frame, Origins
from .memory import RAW_TYPES
from .origins import Origin
from .shapes import NO_TOKEN

_PADDING = {
    PaddingMode.ZERO: 0.0,
    PaddingMode.NEG_ZERO: -0.0,
    PaddingMode.NAN: np.nan,
    PaddingMode.POS_INF: np.inf,
    PaddingMode.NEG_INF: -np.inf,
}


def tensor_view(frame: Frame, operation: ir.MakeTensorView) -> None:
    """An array: its base, extents and strides."""
    for part in (operation.base_ptr, *operation.shape, *operation.strides):
        frame.run.use(frame.origins(part), operation.loc, "the extents of an array", frame.blocks)
    view = ArrayView(
        frame[operation.base_ptr],
        tuple(frame[part].astype(np.int64) for part in operation.shape),
        tuple(frame[part].astype(np.int64) for part in operation.strides),
    )
    if (part := frame.run.code.slices.get(operation.result_var.name)) is not None:
        part.check(frame, view, operation.loc)
    frame.set(operation.result_var, view)


def same_array(frame: Frame, operation: Any) -> None:
    """A view of tiles: the array itself, since the type of the view says how it is divided."""
    frame.set(operation.result_var, frame[operation.array])


def number_of_tiles(frame: Frame, operation: ir.NumTiles) -> None:
    """How many tiles begin inside the array, along each axis of the view."""
    kind, view = operation.view.get_type(), frame[operation.view]
    for result, axis, step in zip(operation.result_vars, kind.order, views.steps(kind), strict=True):
        frame.set(result, -(-view.shape[axis] // step).astype(np.int32))


def load_tile(frame: Frame, operation: ir.TileLoad) -> None:
    """ct.load and its kin."""
    synchronize(frame, operation.memory_order)
    found = views.tiles(frame, operation)
    views.check(found, operation.inbounds)
    kind = operation.view.get_type()
    storage = numpy_dtype(kind.array_ty.dtype)
    undetermined = kind.padding_mode is PaddingMode.UNDETERMINED
    raw, origins = views.load(found, _padding(kind.padding_mode, storage), undetermined)
    frame.set(operation.result_vars[0], raw.view(storage), origins)
    frame.set(operation.result_vars[1], NO_TOKEN)


def _padding(mode: PaddingMode, storage: np.dtype[Any]) -> Any:
    raw = RAW_TYPES[storage.itemsize]
    if mode is PaddingMode.UNDETERMINED:
        return raw(int.from_bytes(b"\x5a" * storage.itemsize)) if storage.kind in "iu" else _bits(np.nan, storage)
    return _bits(_PADDING[mode], storage)


def _bits(value: float, storage: np.dtype[Any]) -> Any:
    with np.errstate(all="ignore"):
        return np.array(value).astype(storage).view(RAW_TYPES[storage.itemsize])


def store_tile(frame: Frame, operation: ir.TileStore) -> None:
    """ct.store and its kin."""
    found = views.tiles(frame, operation)
    views.check(found, operation.inbounds)
    if frame.origins(operation.tile) is not None:
        addresses, inside = found.addresses()
        output_used(frame, operation.tile, inside, addresses, operation.loc)
    views.store(found, _raw(frame[operation.tile]))
    synchronize(frame, operation.memory_order)
    frame.set(operation.result_var, NO_TOKEN)


def output_used(frame: Frame, variable: Any, active: Array, addresses: Array, location: Any) -> None:
    """Report what is undefined of a value whose active elements go to the addresses."""
    origins = frame.origins(variable)
    if origins is not None:
        used = np.where(active, origins, np.uint8(0))
        frame.run.use(used, location, "an output", frame.blocks, addresses)


def _raw(value: Array) -> Array:
    contiguous = np.ascontiguousarray(value)
    return contiguous.view(RAW_TYPES[contiguous.dtype.itemsize])


def synchronize(frame: Frame, order: MemoryOrder, *, looks: bool = True) -> None:
    """Release and acquire. A block that does not look at what it found cannot know whether it came after another."""
    if order in (MemoryOrder.RELEASE, MemoryOrder.ACQ_REL):
        frame.run.release(frame.blocks)
    if looks and order in (MemoryOrder.ACQUIRE, MemoryOrder.ACQ_REL):
        frame.run.acquire(frame.blocks)


def pointer_offset(frame: Frame, operation: ir.PointerOffset) -> None:
    """A pointer moved by a number of elements, modulo 2**64 as hardware does."""
    size = _pointee_size(operation.result_var)
    with np.errstate(over="ignore"):
        offset = frame[operation.offset].astype(np.int64) * size
        value = frame[operation.pointer] + offset
    frame.set(operation.result_var, value, any_of(frame, (operation.pointer, operation.offset)))


def _pointee_size(variable: Any) -> int:
    return max(1, int(PointerInfo(variable.get_type().dtype).pointee_dtype.bitwidth) // 8)


def same_pointer(frame: Frame, operation: Any) -> None:
    """The pointer as one of another type: addresses have none."""
    frame.set(operation.result_var, frame[operation.pointer], frame.origins(operation.pointer))


def active_elements(frame: Frame, operation: Any) -> Array:
    """Where a masked operation takes place; undefined pointers and masks are reported, and out-of-range indices."""
    mask = np.ones((1,) * frame[operation.pointer].ndim, np.bool_)
    if operation.mask is not None:
        mask = frame[operation.mask]
        frame.run.use(frame.origins(operation.mask), operation.loc, "a mask or an index", frame.blocks)
    origins = frame.origins(operation.pointer)
    if origins is not None:
        frame.run.use(np.where(mask, origins, np.uint8(0)), operation.loc, "an address", frame.blocks)
    gather = frame.run.code.gathers.get(operation.pointer.name)
    return mask if gather is None else gather.check(frame, mask, operation.loc)


def load_pointer(frame: Frame, operation: ir.LoadPointer) -> None:
    """ct.gather and loads from raw memory."""
    active = active_elements(frame, operation)
    storage = numpy_dtype(operation.result_vars[0].get_type().dtype)
    site = Site(frame, operation.loc)
    raw, origins = pointers.load(site, frame[operation.pointer], active, storage.itemsize)
    value = raw.view(storage)
    outside = np.broadcast_to(~active, value.shape)
    if outside.any():
        if operation.padding_value is None:
            code = frame.run.origin(Origin.padding(operation.loc, None))
            padded: Origins | None = np.uint8(code) * outside
        else:
            value = np.where(outside, frame[operation.padding_value], value)
            shadow = frame.origins(operation.padding_value)
            padded = None if shadow is None else np.where(outside, shadow, np.uint8(0))
        if padded is not None:
            origins = padded if origins is None else np.maximum(origins, padded)
    frame.set(operation.result_vars[0], value, origins)
    frame.set(operation.result_vars[1], NO_TOKEN)


def store_pointer(frame: Frame, operation: ir.StorePointer) -> None:
    """ct.scatter and stores to raw memory."""
    active = active_elements(frame, operation)
    addresses = frame[operation.pointer]
    output_used(frame, operation.value, active, addresses, operation.loc)
    pointers.store(Site(frame, operation.loc), addresses, active, _raw(frame[operation.value]))
    frame.set(operation.result_var, NO_TOKEN)


def list_view(frame: Frame, operation: ir.MakeListView) -> None:
    """A list of arrays: where its table lies, and its length."""
    view = ArrayView(frame[operation.base_ptr], (frame[operation.length].astype(np.int64),), ())
    frame.set(operation.result_var, view)


def list_item(frame: Frame, operation: ir.GetArrayListItem) -> None:
    """One array of a list: its address, extents and strides, from the table of 64-bit words."""
    frame.run.use(frame.origins(operation.index), operation.loc, "the index of a list", frame.blocks)
    table, index = frame[operation.x], frame[operation.index].astype(np.int64)
    outside = (index < 0) | (index >= table.shape[0])
    if outside.any():
        lane = int(np.flatnonzero(outside)[0])
        text = f"item {int(index[lane])} is taken of a list of {int(table.shape[0].max())}"
        frame.run.report(
            "out-of-bounds", operation.loc, text, block=int(frame.blocks[lane]),
            at=(frame.run.array_at(int(table.address[0]))[0], (int(index[lane]),)), count=int(outside.sum()),
        )  # fmt: skip
    words = len(operation.result_vars)
    index = np.where(outside, 0, index)
    for number, result in enumerate(operation.result_vars):
        address = table.address + (index * words + number) * 8
        raw, _ = pointers.load(Site(frame, operation.loc), address, np.ones(1, np.bool_), 8)
        value = raw.view(np.int64)
        frame.set(result, value if number == 0 else value.astype(numpy_dtype(result.get_type().dtype)))


def no_memory(frame: Frame, operation: Any) -> None:
    """Tokens and programmatic launch: the order of the code is the order of memory here."""
    frame.set(operation.result_var, NO_TOKEN)


HANDLERS = {
    ir.MakeTensorView: tensor_view,
    ir.MakePartitionView: same_array,
    ir.MakeStridedView: same_array,
    ir.MakeGatherScatterView: same_array,
    ir.NumTiles: number_of_tiles,
    ir.TileLoad: load_tile,
    ir.TileStore: store_tile,
    ir.PointerOffset: pointer_offset,
    ir.ForeignPointerCast: same_pointer,
    ReinterpretPointer: same_pointer,
    AddrSpaceCast: same_pointer,
    ir.LoadPointer: load_pointer,
    ir.StorePointer: store_pointer,
    ir.MakeListView: list_view,
    ir.GetArrayListItem: list_item,
    ir.MakeToken: no_memory,
    ir.JoinTokens: no_memory,
    ir.GridDependencyControlWait: no_memory,
    ir.GridDependencyControlLaunchDependents: no_memory,
}
