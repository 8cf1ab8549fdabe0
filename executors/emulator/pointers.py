"""Loads and stores through pointers, which gathers, scatters and raw memory come down to, for many blocks at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kdiag.executors.emulator.access import Access, Window
from kdiag.executors.emulator.frame import Frame, Origins
from kdiag.executors.emulator.memory import RAW_TYPES
from kdiag.executors.emulator.origins import Origin

Array = npt.NDArray[Any]


def load(
    frame: Frame, addresses: Array, active: Array, size: int, location: Any
) -> tuple[Array, Origins | None]:
    """The raw elements of `size` bytes at the addresses, zero where not active, and where they are undefined.

    `addresses` and `active` have one entry for each lane, or one that all lanes share.
    """
    addresses, active = np.broadcast_arrays(addresses, active)
    near = frame.run.memory.holding(int(addresses.min()), size) if addresses.size else None
    if near is not None and near.writer is not None:  # who read it matters
        addresses, active = frame.spread(addresses), frame.spread(active)
    raw = np.zeros(addresses.shape, RAW_TYPES[size])
    origins: Origins | None = None
    for access, window, index, where in _parts(frame, addresses, active, size, location):
        values, undefined = access.read(window, index)
        raw[where] = values
        if undefined is not None and undefined.any():
            origins = np.zeros(raw.shape, np.uint8) if origins is None else origins
            address = window.address_of(index, (int(np.argmax(undefined)),))
            origins[where] = frame.run.origin(Origin.never_written(frame.run, location, address)) * undefined
    return raw, origins


def store(frame: Frame, addresses: Array, active: Array, raw: Array, location: Any) -> None:
    """Store raw elements at the addresses where active. Lanes store in the order of the blocks."""
    shape = (frame.count, *addresses.shape[1:])
    addresses, active = np.broadcast_to(addresses, shape), np.broadcast_to(active, shape)
    raw = np.broadcast_to(raw, shape)
    for access, window, index, where in _parts(frame, addresses, active, raw.itemsize, location):
        access.write(window, index, raw[where])


def update(
    frame: Frame,
    addresses: Array,
    active: Array,
    size: int,
    location: Any,
    change: Callable[[Array, tuple[Array, ...]], Array],
) -> Array:
    """Update elements atomically, one after the other where several lanes name one; gives what was there.

    `change(before, where)` gets raw elements and their positions among the lanes, and gives what to put there.
    """
    shape = (frame.count, *addresses.shape[1:])
    addresses, active = np.broadcast_to(addresses, shape), np.broadcast_to(active, shape)
    found = np.zeros(shape, RAW_TYPES[size])
    for access, window, index, where in _parts(frame, addresses, active, size, location):
        for turn in _turns(index):
            here = tuple(part[turn] for part in where)
            part = Access(access.run, access.location, access.blocks[turn])
            found[here] = part.update(window, index[turn], partial(_apply, change, here))
    return found


def _apply(
    change: Callable[[Array, tuple[Array, ...]], Array], where: tuple[Array, ...], before: Array
) -> Array:
    return change(before, where)


def _turns(index: Array) -> list[Array]:
    """The positions of an index, in turns that each name an element at most once, earlier positions first."""
    order = np.argsort(index, kind="stable")
    ranked = index[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if index.size else np.empty(0, np.intp)
    lengths = np.diff(np.r_[starts, index.size])
    turn = np.empty(index.size, np.intp)
    turn[order] = np.arange(index.size) - np.repeat(starts, lengths)
    by_turn = np.argsort(turn, kind="stable")
    return np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]) if index.size else []


def _parts(frame: Frame, addresses: Array, active: Array, size: int, location: Any) -> Any:
    """For each allocation touched: the access, its window, the elements' index and where among the lanes they are."""
    where = np.nonzero(active)
    flat = addresses[where]
    blocks = frame.blocks[where[0]] if addresses.shape[0] == frame.count else frame.blocks[:1]
    for allocation, positions in frame.run.memory.groups(flat, size):
        here = tuple(part[positions] for part in where)
        owners = blocks[positions] if blocks.size == flat.size else np.broadcast_to(blocks, positions.shape)
        if allocation is None:
            _report_outside(frame, flat[positions], owners, location)
            continue
        offsets = flat[positions] - allocation.start
        if (offsets % size).any():
            frame.run.report(
                "out-of-bounds", location, f"an address is not a multiple of the element's {size} bytes",
                block=int(owners[0]), count=int(np.count_nonzero(offsets % size)),
            )  # fmt: skip
        window = Window.flat(allocation, size)
        yield Access(frame.run, location, owners), window, offsets // size, here


def _report_outside(frame: Frame, addresses: Array, blocks: Array, location: Any) -> None:
    near = frame.run.nearest_array(int(addresses[0]))
    frame.run.report(
        "out-of-bounds",
        location,
        f"an address lies outside every array, {near}",
        block=int(blocks[0]),
        count=int(addresses.size),
    )
