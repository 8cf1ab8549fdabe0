"""Recognises an index that walks contiguous ranges, so that it can be written as one tile access.

`ct.load` and `ct.store` count in tiles: the range `n * TILE + arange(TILE)` is tile number `n`. A range that starts
anywhere else is tile `n` of a slice of the array that begins there; a mask `index < stop` is the slice's end, unless it
is the array's own.
"""

from dataclasses import dataclass, replace

import libcst as cst

from kdiag.records import Launch

from ..launches.wrapper import hidden_builtin
from ..syntax.kernel_source import entries
from ..syntax.kernel_view import KernelView, code
from .index_parts import IndexPart, IndexReader, broadcast
from .inside import Proofs, shown_by_launches, tile_start, why_not_inside
from .masks import is_trusted, is_unchecked, read_bounds
from .scalars import is_parameter
from .sums import Sum

NO_RANGE = "holds no range"


@dataclass(frozen=True)
class Slice:
    """The part of an array that a tile access counts in: source text of its bounds along one axis."""

    axis: int
    start: str
    stop: str


@dataclass(frozen=True)
class TileAccess:
    """A tile access: source text of index and shape for each axis; `result` is the shape that a gather gives.

    `last_is_range` is whether a range runs along the axis that is contiguous in an ordinary array.
    """

    index: tuple[str, ...]
    shape: tuple[str, ...]
    result: tuple[str, ...]
    last_is_range: bool
    part: Slice | None = None


@dataclass(frozen=True)
class _Placed:
    """Where a tile lies along one axis: tile `number`, in a slice unless `start` and `stop` are the array's own."""

    number: str
    start: str = "0"
    stop: str | None = None


@dataclass(frozen=True)
class _Entry:
    """One entry of an index: `written`, where its text means the same at the access, and what it is."""

    text: str
    written: str | None
    part: IndexPart | None


def tile_access(kernel: KernelView, launches: tuple[Launch, ...], call: cst.Call) -> TileAccess | str:
    """The tile access that touches the elements a gather or scatter names, or why it is not certain that there is one."""
    entries = _entries(kernel, call)
    parts = [entry.part for entry in entries if entry.part is not None]
    unread = next((entry.text for entry in entries if entry.part is None), None)
    if unread is not None:
        return f"`{unread}` in the index is not certainly a contiguous range or a row inside the array"
    array, result = call.args[0].value, _result(parts)
    if isinstance(result, str):
        return f"`{code(call.args[1].value)}` {result}"
    if not (isinstance(array, cst.Name) and is_parameter(kernel, array.value, call)):
        return f"`{code(array)}` is no parameter of the kernel, and where it ends is not known"
    bounds = read_bounds(IndexReader(kernel, call), call, parts)
    if isinstance(bounds, str):
        return bounds
    placed, proofs = [], Proofs(kernel, launches, call, array.value)
    for axis, (entry, part) in enumerate(zip(entries, parts, strict=True)):
        stops = [stop for stop in bounds.get(axis, ()) if not proofs.is_extent(stop, axis)]
        found = _placed(proofs, part, axis, stops)
        if isinstance(found, str):
            return found
        placed.append(found if part.shape or entry.written is None else replace(found, number=entry.written))
    return _assembled(parts, placed, result)


def gathered_shape(kernel: KernelView, call: cst.Call) -> tuple[str, ...] | None:
    """The shape of what a gather gives, as far as its index shows it."""
    parts = [entry.part for entry in _entries(kernel, call)]
    shapes = [part.shape for part in parts if part is not None]
    return broadcast(shapes) if len(shapes) == len(parts) else None


def _entries(kernel: KernelView, call: cst.Call) -> list[_Entry]:
    indices = call.args[1].value
    written, place = kernel.resolve(indices, call)
    elements, place = (entries(written), place) if isinstance(written, cst.Tuple) else ([indices], call)
    reader, same = IndexReader(kernel, call), kernel.bindings.same
    return [
        _Entry(code(each), code(each) if same(each, place, call) else None, reader.read(each, place))
        for each in elements
    ]


def _result(parts: list[IndexPart]) -> tuple[str, ...] | str:
    """The shape of what is gathered, when the ranges run along dimensions of it in the order of the array's axes."""
    ranges = [part for part in parts if part.size is not None]
    axes = [part.axis for part in ranges]
    if not ranges:
        return NO_RANGE
    if len(set(axes)) < len(axes):
        return "names elements along a diagonal"
    if axes != sorted(axes):
        return "walks the array's axes in another order"
    result = broadcast([part.shape for part in parts])
    if result is None:
        return "does not show its shape"
    wide = [axis - len(result) for axis, size in enumerate(result) if size != "1"]
    if any(axis not in axes for axis in wide):
        return "repeats elements along a dimension"
    return result


def _placed(proofs: Proofs, part: IndexPart, axis: int, stops: list[Sum]) -> _Placed | str:
    """The tile of one axis, or why it is not certain that it begins inside the array.

    `stops` are where the mask ends the range, besides the array's extent.
    """
    all_inside = is_unchecked(proofs.call)
    if part.size is None:
        if stops:
            return f"the mask compares the row `{part.start.text()}` with `{stops[0].text()}`, not with the extent"
        inside = all_inside or proofs.row_inside(part.start, axis)
        return _Placed(part.start.text()) if inside else why_not_inside(proofs, part.start, "1", axis)
    number, start = tile_start(proofs.kernel, part.start, part.size, proofs.call)
    if len(stops) > 1:
        return f"the mask ends the range both at `{stops[0].text()}` and at `{stops[1].text()}`"
    if not start.terms and not stops:
        inside = all_inside or proofs.tile_inside(number, part.size, axis)
        return _Placed(number.text()) if inside else why_not_inside(proofs, number, part.size, axis)
    stop = stops[0] if stops else None
    return _in_slice(proofs, replace(part, start=start), axis, number, stop, all_inside)


def _in_slice(
    proofs: Proofs, part: IndexPart, axis: int, number: Sum, stop: Sum | None, all_inside: bool
) -> _Placed | str:
    """Tile `number` of the slice from `part.start` to `stop`, None for the array's end.

    A slice has to begin inside its array and to end there, and the tile to begin before the end.
    """
    start, size, extent = part.start, part.size or "", f"{proofs.array}.shape[{axis}]"
    if stop is None:
        if all_inside and number.constant == 0:
            return _Placed(number.text(), start.text(), extent)
        shown = shown_by_launches(proofs.launched_inside(number, size, axis, start))
        text = f"the range from `{start.text()}` is not aligned to a tile"
        return f"{text}, and not certain to begin inside the array{shown}"
    length = stop.plus(start, -1)
    if not proofs.before(number, size, length):
        shown = shown_by_launches(proofs.launched_before(number, size, length))
        return f"a tile is not certain to begin before `{stop.text()}`, where the mask ends{shown}"
    accessed = is_trusted(proofs.call) and proofs.counts_from_the_first(number)
    if not accessed and start.terms:
        return why_not_inside(proofs, start, "1", axis)
    if not accessed and not proofs.tile_inside(number, size, axis):
        return why_not_inside(proofs, number, size, axis)
    hidden = hidden_builtin(proofs.kernel.source, "min")
    return hidden.reason if hidden else _Placed(number.text(), start.text(), f"min({stop.text()}, {extent})")


def _assembled(parts: list[IndexPart], placed: list[_Placed], result: tuple[str, ...]) -> TileAccess | str:
    """The access from what was found for each axis."""
    slices = [Slice(axis, each.start, each.stop) for axis, each in enumerate(placed) if each.stop is not None]
    if len(slices) > 1:
        return "more than one axis of it would have to be sliced"
    shape = tuple(part.size or "1" for part in parts)
    part = slices[0] if slices else None
    return TileAccess(tuple(each.number for each in placed), shape, result, parts[-1].size is not None, part)
