"""Atomic operations: element by element, in the order of the blocks."""

from typing import Any, TypeAlias

import numpy as np
from cuda.tile._ir import ops as ir

from . import arithmetic, pointers, views
from .access import Site
from .dtypes import Array, numpy_dtype
from .frame import Frame, Origins
from .memory import RAW_TYPES
from .memory_operations import active_elements, output_used, synchronize
from .shapes import NO_TOKEN

Mode: TypeAlias = ir.AtomicRMWMode

_BITWISE = {Mode.BITWISE_AND: "and_", Mode.BITWISE_OR: "or_", Mode.BITWISE_XOR: "xor"}
_ARITHMETIC = {
    Mode.ADD_INT: "add",
    Mode.ADD_FLOAT: "add",
    Mode.MAX_SIGNED_INT: "max",
    Mode.MAX_UNSIGNED_INT: "max",
    Mode.MIN_SIGNED_INT: "min",
    Mode.MIN_UNSIGNED_INT: "min",
}


def _changed(mode: Mode, before: Array, operand: Array, dtype: Any) -> Array:
    if mode is Mode.EXCHANGE:
        return operand
    if mode in _BITWISE:
        return arithmetic.bitwise(_BITWISE[mode], before, operand, dtype)
    return arithmetic.binary(_ARITHMETIC[mode], before, operand, dtype)


def _synchronize(frame: Frame, operation: Any) -> None:
    looks = operation.result_vars[0].name in frame.run.code.used
    synchronize(frame, operation.memory_order, looks=looks)


def _of_all_lanes(frame: Frame, value: Array, addresses: Array) -> Array:
    """The elements of all lanes in a row, as many as there are addresses."""
    return np.broadcast_to(value, (frame.count, *addresses.shape[1:])).reshape(-1)


def _updated(frame: Frame, operation: Any, addresses: Array, active: Array) -> tuple[Array, Origins | None]:
    """Update memory with the operation's operand; gives what was there, and where that was undefined."""
    dtype = operation.update.get_type().dtype
    storage = numpy_dtype(dtype)
    operand = _of_all_lanes(frame, frame[operation.update], addresses)

    def change(before: Array, where: Array) -> Array:
        after = _changed(operation.mode, before.view(storage), operand[where], dtype)
        return np.ascontiguousarray(after).view(RAW_TYPES[storage.itemsize])

    raw, origins = pointers.update(Site(frame, operation.loc), addresses, active, storage.itemsize, change)
    if operation.mode is not Mode.EXCHANGE:  # which asks for no value
        frame.run.use(origins, operation.loc, "an atomic update", frame.blocks, addresses)
    return raw.view(storage), origins


def read_modify_write(frame: Frame, operation: ir.TileAtomicRMW) -> None:
    """ct.atomic_add, atomic_max, atomic_xchg and the like; the result is what was there before."""
    active = active_elements(frame, operation)
    output_used(frame, operation.update, active, frame[operation.pointer], operation.loc)
    before, origins = _updated(frame, operation, frame[operation.pointer], active)
    _synchronize(frame, operation)
    frame.set(operation.result_vars[0], before, origins)
    frame.set(operation.result_vars[1], NO_TOKEN)


def reduce_into_view(frame: Frame, operation: ir.TileAtomicRedView) -> None:
    """TiledView.atomic_store_add and the like: no result, elements beyond the bounds left out."""
    found = views.tiles(frame, operation)
    views.check(found, ())
    addresses, valid = found.addresses()
    output_used(frame, operation.update, valid, addresses, operation.loc)
    _updated(frame, operation, addresses, valid)
    frame.set(operation.result_var, NO_TOKEN)


def compare_and_swap(frame: Frame, operation: ir.TileAtomicCAS) -> None:
    """ct.atomic_cas: the bits are compared; where nothing is done the expected value is given back."""
    active = active_elements(frame, operation)
    for operand in (operation.expected, operation.desired):
        output_used(frame, operand, active, frame[operation.pointer], operation.loc)
    storage = numpy_dtype(operation.desired.get_type().dtype)
    raw, addresses = RAW_TYPES[storage.itemsize], frame[operation.pointer]
    expected, desired = (
        _of_all_lanes(frame, np.ascontiguousarray(frame[part]).view(raw), addresses)
        for part in (operation.expected, operation.desired)
    )

    def change(before: Array, where: Array) -> Array:
        return np.where(before == expected[where], desired[where], before)

    found, origins = pointers.update(Site(frame, operation.loc), addresses, active, storage.itemsize, change)
    frame.run.use(origins, operation.loc, "an atomic comparison", frame.blocks, addresses)
    _synchronize(frame, operation)
    value = np.where(np.broadcast_to(active, found.shape), found, expected.reshape(found.shape)).view(storage)
    frame.set(operation.result_vars[0], value)
    frame.set(operation.result_vars[1], NO_TOKEN)


HANDLERS = {
    ir.TileAtomicRMW: read_modify_write,
    ir.TileAtomicRedView: reduce_into_view,
    ir.TileAtomicCAS: compare_and_swap,
}
