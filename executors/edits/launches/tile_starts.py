"""Which tile a kernel begins with: the one that its block numbers, or one found by rounding a position down."""

from collections.abc import Iterator

import libcst as cst

from ..syntax.bindings import names_in
from ..syntax.kernel_source import KernelSource, argument, dotted, nodes, positional
from .tile_visible import TileNumbers, tile_indices


def numbered_by_blocks(read: KernelSource, parameter: str) -> bool:
    """Whether the number of a block decides which tile of the size it works on, so that the grid has to count them.

    A loop's counter does not: the kernel counts for itself.
    """
    numbers = TileNumbers(read, parameter)
    counters = {name for loop in nodes(read.function, cst.For) for name in names_in(loop.target)}
    for used in numbers.uses():
        parts = numbers.behind(used)
        counted = any(counters & names_in(part) for part in parts)
        if not counted and any(read.calls("bid", within=part) for part in parts):
            return True
    return False


def rounded_start(read: KernelSource, parameter: str) -> str | None:
    """Why a first tile holds more or less with another size: it is found by `x // T` where T need not divide x.

    What lies in front of x is then masked, and of how many rows the whole first tile is, the size decides: a running
    maximum sees it. Where the number of tiles does not follow, the last one may lie outside of the array.
    """
    numbers = TileNumbers(read, parameter)
    for index in _first_indices(read, numbers, parameter):
        for part in numbers.behind(index):
            for division in nodes(part, cst.BinaryOperation):
                divides = isinstance(division.operator, cst.FloorDivide) and dotted(division.right) == parameter
                if divides and not _is_multiple(numbers, division.left):
                    return f"line {read.line(division)} rounds down to tiles of {parameter} where to begin"
    return None


def _first_indices(read: KernelSource, numbers: TileNumbers, parameter: str) -> Iterator[cst.BaseExpression]:
    """The indices of tiles of the size, and of elements, with loop counters at their first value."""
    found = [index for index, size in tile_indices(read) if parameter in names_in(size)]
    found += [index for call in read.calls("gather") if (index := argument(call, 1, "indices")) is not None]
    names = {name for index in found for part in numbers.behind(index) for name in names_in(part)}
    for loop in nodes(read.function, cst.For):
        ends = positional(loop.iter) if isinstance(loop.iter, cst.Call) else []
        if len(ends) > 1 and names & names_in(loop.target):
            found.append(ends[0])
    yield from found


def _is_multiple(numbers: TileNumbers, position: cst.BaseExpression) -> bool:
    """Whether a position is a product: of a block's number and what a block works on, say."""
    written = [value for name, value in numbers.assigned if name == dotted(position)] or [position]
    return all(isinstance(one, cst.BinaryOperation) and isinstance(one.operator, cst.Multiply) for one in written)
