"""Loads and stores through pointers, which gathers, scatters and raw memory come down to, for many blocks at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kdiag.executors.emulator.access import Site
from kdiag.executors.emulator.frame import Origins
from kdiag.executors.emulator.memory import RAW_TYPES
from kdiag.executors.emulator.origins import Origin
from kdiag.executors.emulator.window import Window

Array = npt.NDArray[Any]


def load(site: Site, addresses: Array, active: Array, size: int) -> tuple[Array, Origins | None]:
    """The raw elements of `size` bytes at the addresses, zero where not active, and where they are undefined.

    `addresses` and `active` have one entry for each lane, or one that all lanes share.
    """
    addresses, active = np.broadcast_arrays(addresses, active)
    frame = site.frame
    touched = frame.run.memory.groups(addresses[active], size)
    if any(one is not None and one.writer is not None for one, _ in touched):  # who read it matters
        addresses, active = frame.spread(addresses), frame.spread(active)
    raw = np.zeros(addresses.shape, RAW_TYPES[size])
    origins: Origins | None = None
    for access, window, index, where in _parts(site, addresses, active, size):
        values, undefined = access.read(window, index)
        raw[where] = values
        if undefined is not None and undefined.any():
            origins = np.zeros(raw.shape, np.uint8) if origins is None else origins
            origins[where] = _origins_of(site, window, index, undefined)
    return raw, origins


def _origins_of(site: Site, window: Window, index: Array, undefined: Array) -> Array:
    run, address = site.frame.run, window.address_of(index, (int(np.argmax(undefined)),))
    return run.origin(Origin.never_written(run, site.location, address)) * undefined


def store(site: Site, addresses: Array, active: Array, raw: Array) -> None:
    """Store raw elements at the addresses where active. Lanes store in the order of the blocks."""
    shape = (site.frame.count, *addresses.shape[1:])
    addresses, active = np.broadcast_to(addresses, shape), np.broadcast_to(active, shape)
    raw = np.broadcast_to(raw, shape)
    for access, window, index, where in _parts(site, addresses, active, raw.itemsize):
        access.write(window, index, raw[where])


def update(
    site: Site,
    addresses: Array,
    active: Array,
    size: int,
    change: Callable[[Array, tuple[Array, ...]], Array],
) -> tuple[Array, Origins | None]:
    """Update elements atomically, one after the other where several lanes name one.

    Gives what was there, and where that was undefined.

    `change(before, where)` gets raw elements and their positions among the lanes, and gives what to put there.
    """
    shape = (site.frame.count, *addresses.shape[1:])
    addresses, active = np.broadcast_to(addresses, shape), np.broadcast_to(active, shape)
    found = np.zeros(shape, RAW_TYPES[size])
    origins: Origins | None = None
    for access, window, index, where in _parts(site, addresses, active, size):
        undefined = window.never_written(index)
        if undefined is not None and undefined.any():
            origins = np.zeros(shape, np.uint8) if origins is None else origins
            origins[where] = _origins_of(site, window, index, undefined)
        for turn in _turns(index):
            here = tuple(part[turn] for part in where)
            part = site.access(access.blocks[turn])
            found[here] = part.update(window, index[turn], partial(_apply, change, here))
    return found, origins


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


def _parts(site: Site, addresses: Array, active: Array, size: int) -> Any:
    """For each allocation touched: the access, its window, the elements' index and where among the lanes they are."""
    frame, where = site.frame, np.nonzero(active)
    flat = addresses[where]
    blocks = frame.blocks[where[0]] if addresses.shape[0] == frame.count else frame.blocks[:1]
    for allocation, positions in frame.run.memory.groups(flat, size):
        here = tuple(part[positions] for part in where)
        owners = blocks[positions] if blocks.size == flat.size else np.broadcast_to(blocks, positions.shape)
        if allocation is None:
            _report_outside(site, flat[positions], owners)
            continue
        offsets = flat[positions] - allocation.start
        if (offsets % size).any():
            frame.run.report(
                "out-of-bounds", site.location, f"an address is not a multiple of the element's {size} bytes",
                block=int(owners[0]), count=int(np.count_nonzero(offsets % size)),
            )  # fmt: skip
        window = Window.flat(allocation, size)
        yield site.access(owners), window, offsets // size, here


def _report_outside(site: Site, addresses: Array, blocks: Array) -> None:
    near = site.frame.run.nearest_array(int(addresses[0]))
    site.frame.run.report(
        "out-of-bounds",
        site.location,
        f"an address lies outside every array, {near}",
        block=int(blocks[0]),
        count=int(addresses.size),
    )
