"""Loads and stores through pointers, which gathers, scatters and raw memory come down to, for many blocks at once."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .access import Access, Site
from .dtypes import Array
from .frame import Origins
from .memory import RAW_TYPES
from .origins import Origin
from .window import Index, Window


def load(site: Site, addresses: Array, active: Array, size: int) -> tuple[Array, Origins | None]:
    """The raw elements of `size` bytes at the addresses, zero where not active, and where they are undefined.

    `addresses` and `active` have one entry for each lane, or one that all lanes share.
    """
    addresses, active = np.broadcast_arrays(addresses, active)
    frame = site.frame
    shared = addresses.shape[0] < frame.count
    if shared and frame.run.memory.watched_at(addresses[active], size):  # who read it matters
        addresses, active = frame.spread(addresses), frame.spread(active)
    raw = np.zeros(addresses.shape, RAW_TYPES[size])
    origins: Origins | None = None
    for access, window, index, where in _parts(site, addresses, active, size):
        values, undefined = access.read(window, _consecutive(index))
        raw.reshape(-1)[where] = values
        if undefined is not None and undefined.any():
            origins = np.zeros(raw.shape, np.uint8) if origins is None else origins
            origins.reshape(-1)[where] = _origins_of(site, window, index, undefined)
    return raw, origins


def _origins_of(site: Site, window: Window, index: Array, undefined: Array) -> Array:
    run, address = site.frame.run, window.address_of(index, (int(np.argmax(undefined)),))
    return run.origin(Origin.never_written(run, site.location, address)) * undefined


def store(site: Site, addresses: Array, active: Array, raw: Array) -> None:
    """Store raw elements at the addresses where active. Lanes store in the order of the blocks."""
    shape = (site.frame.count, *addresses.shape[1:])
    addresses, active, raw = (np.broadcast_to(part, shape) for part in (addresses, active, raw))
    raw = raw.reshape(-1)
    for access, window, index, where in _parts(site, addresses, active, raw.itemsize):
        site.note_store(window.allocation, window.address_of(index, (0,)))
        access.write(window, _consecutive(index), raw[where])


def update(
    site: Site, addresses: Array, active: Array, size: int, change: Callable[[Array, Array], Array]
) -> tuple[Array, Origins | None]:
    """Update elements atomically, one after the other where several lanes name one.

    Gives what was there, and where that was undefined. `change(before, where)` gets raw elements and their positions
    among those of all lanes in a row, and gives what to put there.
    """
    frame = site.frame
    shape = (frame.count, *addresses.shape[1:])
    addresses, active = np.broadcast_to(addresses, shape), np.broadcast_to(active, shape)
    found = np.zeros(addresses.shape, RAW_TYPES[size])
    origins: Origins | None = None
    for _, window, index, where in _parts(site, addresses, active, size):
        places = np.arange(found.size)[where]
        undefined = window.never_written(index)
        if undefined is not None and undefined.any():
            origins = np.zeros(found.shape, np.uint8) if origins is None else origins
            origins.reshape(-1)[where] = _origins_of(site, window, index, undefined)
        site.note_store(window.allocation, window.address_of(index, (0,)))
        blocks = frame.blocks[places // (found.size // frame.count)]
        for turn in _turns(index):
            here = places[turn]
            access = site.access(blocks[turn])
            found.reshape(-1)[here] = access.update(window, index[turn], partial(_apply, change, here))
    return found, origins


def _apply(change: Callable[[Array, Array], Array], where: Array, before: Array) -> Array:
    return change(before, where)


def _turns(index: Array) -> list[Array]:
    """The positions of an index, in turns that each name an element at most once, earlier positions first."""
    order = np.argsort(index, kind="stable")
    ranked = index[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    lengths = np.diff(np.r_[starts, index.size])
    turn = np.empty(index.size, np.intp)
    turn[order] = np.arange(index.size) - np.repeat(starts, lengths)
    by_turn = np.argsort(turn, kind="stable")
    return np.split(by_turn, np.cumsum(np.bincount(turn))[:-1])


def _consecutive(index: Array) -> Index:
    """Elements one after the other as a slice, which is many times faster to read and write."""
    first, last = int(index[0]), int(index[-1])
    if last - first == index.size - 1 and bool((index[1:] > index[:-1]).all()):
        return (slice(first, last + 1),)
    return index


def _parts(site: Site, addresses: Array, active: Array, size: int) -> Iterator[tuple[Access, Window, Array, Any]]:
    """For each allocation touched: the access, its window, and the index of the elements in it, at least one.

    The last is where these elements are among those of all lanes in a row.
    """
    frame, everywhere = site.frame, bool(active.all())
    where: Any = slice(None) if everywhere else np.flatnonzero(active)
    flat = addresses.reshape(-1)[where]
    blocks: Any = int(frame.blocks[0])
    if addresses.shape[0] == frame.count:
        blocks = np.repeat(frame.blocks, addresses[0].size)[where]
    for allocation, positions in frame.run.memory.groups(flat, size):
        owners = blocks[positions] if isinstance(blocks, np.ndarray) else blocks
        if allocation is None:
            _report_outside(site, flat[positions], owners)
            continue
        offsets = flat[positions] - allocation.start
        index, rest = np.divmod(offsets, size) if size > 1 else (offsets, np.zeros(1, np.int64))
        if rest.any():
            first = int(np.ravel(owners)[0])
            text = f"an address is not a multiple of the element's {size} bytes"
            frame.run.report("out-of-bounds", site.location, text, block=first, count=int(np.count_nonzero(rest)))
        here = positions if everywhere else where[positions]
        yield site.access(owners), Window.flat(allocation, size), index, here


def _report_outside(site: Site, addresses: Array, blocks: Any) -> None:
    near = site.frame.run.nearest_array(int(addresses[0]))
    site.frame.run.report(
        "out-of-bounds",
        site.location,
        f"an address lies outside every array, {near}",
        block=int(np.ravel(blocks)[0]),
        count=int(addresses.size),
    )
