"""Binds the arguments of a launch to the parameters of its IR, and finds the memory that the arrays lie in."""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cuda.tile.compilation import ArrayConstraint, ListConstraint, ScalarConstraint, TupleConstraint

from .dtypes import Array, numpy_dtype
from .memory import Allocation, ArrayInMemory, Memory, allocation_at
from .never_written import NeverWritten


@dataclass
class Bound:
    """The values of a kernel's flat parameters in order, its arrays, and the memory that these lie in."""

    values: list[Array] = field(default_factory=list)
    arrays: list[ArrayInMemory] = field(default_factory=list)
    # By the position of the base pointer in `values`.
    bases: dict[int, ArrayInMemory] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    owners: list[Any] = field(default_factory=list)  # what must live as long as the launch


def bind(function: Any, constraints: Sequence[Any], arguments: Sequence[Any], never: NeverWritten) -> Bound:
    """Bind a launch's arguments, whose signature has these constraints, and lay out its memory."""
    bound = Bound()
    names = inspect.signature(function).parameters
    pieces: list[tuple[int, int, int, Any]] = []
    for name, constraint, value in zip(names, constraints, arguments, strict=True):
        for kind, label, part in _leaves(name, constraint, value):
            _bind_one(bound, pieces, kind, label, part)
    for start, (end, cell, owner) in _merged(pieces).items():
        bound.memory.add(_allocation(start, end - start, cell, owner, never))
    return bound


def _leaves(name: str, constraint: Any, value: Any) -> Iterator[tuple[Any, str, Any]]:
    """The constraints that have run-time values, with these; constants have none."""
    if isinstance(constraint, TupleConstraint):
        for number, (item, part) in enumerate(zip(constraint.items, value, strict=True)):
            yield from _leaves(f"{name}[{number}]", item, part)
    elif isinstance(constraint, ScalarConstraint | ArrayConstraint | ListConstraint):
        yield constraint, name, value


def _bind_one(bound: Bound, pieces: list[tuple[int, int, int, Any]], kind: Any, name: str, value: Any) -> None:
    if isinstance(kind, ScalarConstraint):
        with np.errstate(over="ignore"):  # a float that float32 cannot hold becomes infinite, as on a GPU
            bound.values.append(np.array([value]).astype(numpy_dtype(kind.dtype)))
    elif isinstance(kind, ArrayConstraint):
        placed = _place(bound, pieces, name, value)
        bound.bases[len(bound.values)] = placed
        index = numpy_dtype(kind.index_dtype)
        bound.values.append(np.array([placed.address], np.int64))
        bound.values += [np.array([part], index) for part in (*placed.shape, *placed.strides)]
    else:
        rows = []
        for number, item in enumerate(value):
            placed = _place(bound, pieces, f"{name}[{number}]", item)
            rows.append([placed.address, *placed.shape, *placed.strides])
        table = np.array(rows, np.int64)
        bound.owners.append(table)
        pieces.append((table.ctypes.data, table.ctypes.data + table.nbytes, 8, table))
        listed = ArrayInMemory(name, table.ctypes.data, (len(rows),), (table.shape[-1],), 8)
        bound.arrays.append(listed)
        bound.values += [np.array([table.ctypes.data], np.int64), np.array([len(rows)], np.int32)]


def _place(bound: Bound, pieces: list[tuple[int, int, int, Any]], name: str, array: Any) -> ArrayInMemory:
    if isinstance(array, np.ndarray):
        start, end = np.lib.array_utils.byte_bounds(_root(array))
        address, size = array.ctypes.data, array.itemsize
        strides = tuple(stride // size for stride in array.strides)
    else:
        storage = array.untyped_storage()
        start, end = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        address, size, strides = array.data_ptr(), array.element_size(), tuple(array.stride())
    shape, strides = tuple(map(int, array.shape)), tuple(map(int, strides))
    writable = not isinstance(array, np.ndarray) or bool(array.flags.writeable)
    placed = ArrayInMemory(name, address, shape, strides, size, writable)
    bound.arrays.append(placed)
    if end > start:
        pieces.append((start, end, size, array))
    return placed


def _root(array: Array) -> Array:
    """The array that owns the memory, as far as NumPy knows it."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return root


def _merged(pieces: Sequence[tuple[int, int, int, Any]]) -> dict[int, tuple[int, int, Any]]:
    """Start -> (end, smallest element, owner), pieces that overlap joined."""
    merged: dict[int, tuple[int, int, Any]] = {}
    last = None
    for start, end, size, owner in sorted(pieces, key=lambda piece: piece[:3]):
        if last is not None and start < merged[last][0]:
            known_end, known_size, known = merged[last]
            merged[last] = (max(end, known_end), min(size, known_size), known)
        else:
            merged[start] = (end, size, owner)
            last = start
    return merged


def _allocation(start: int, size: int, cell: int, owner: Any, never: NeverWritten) -> Allocation:
    tracked = never.at(start)
    if tracked is None:
        return allocation_at(start, size, cell, owner)
    tracked.refresh()
    undefined = tracked.with_cells_of(cell)
    allocation = tracked.allocation
    allocation.owner, allocation.written_at, allocation.read = owner, {}, False
    if not undefined.any():
        return allocation_at(start, size, cell, owner)
    return allocation
