"""Counters of rows and tiles: block numbers, and loops that end with a length."""

import libcst as cst

from ..syntax.kernel_source import argument, entries
from ..syntax.kernel_view import KernelView, code, is_number
from .index_parts import IndexReader
from .sums import Sum


def size_sum(size: str) -> Sum:
    """A size, a number or a name, as a sum."""
    return Sum.number(int(size)) if size.isdecimal() else Sum.of(size)


def single(number: Sum) -> cst.BaseExpression | None:
    """The expression that a sum is, when it is just one."""
    return None if number.single is None else cst.parse_expression(number.single)


def is_row(kernel: KernelView, row: Sum, call: cst.Call) -> bool:
    """A block number, the first row, or a variable of a loop from the first row or block to a length."""
    written = single(row)
    if written is None:
        return row.constant == 0
    loop = kernel.range_loop(written, call)
    if loop is not None:
        length = not isinstance(kernel.constant(_end(loop), loop[0]), cst.Integer)
        return length and _counts_upwards(kernel, loop, call)
    return _is_block_number(kernel, written, call)


def _is_block_number(kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode) -> bool:
    written, _ = kernel.resolve(expression, place)
    return kernel.is_call(written, "bid")


def counts_tiles(kernel: KernelView, number: Sum, size: str, call: cst.Call) -> bool:
    """The first tile, a block number, or a counter of the tiles of a length."""
    written = single(number)
    if written is None:
        return number.constant == 0
    if _is_block_number(kernel, written, call):
        return True
    stepped = stepped_end(kernel, number, size, call)
    if stepped is not None:
        return not isinstance(kernel.constant(stepped, stepped), cst.Integer)
    counted = tile_loop(kernel, number, call)
    return counted is not None and is_tile_count(kernel, counted, size, None, call)


def stepped_end(kernel: KernelView, number: Sum, size: str, call: cst.Call) -> cst.BaseExpression | None:
    """The end of the `range(0, end, size)` whose counter, divided by the size, is the number."""
    match single(number):
        case cst.BinaryOperation(left=counter, operator=cst.FloorDivide(), right=step) if code(step) == size:
            loop = kernel.range_loop(counter, call)
            if loop is not None and len(loop) == 3 and is_number(loop[0], 0) and code(loop[2]) == size:
                return loop[1]
    return None


def tile_loop(kernel: KernelView, number: Sum, call: cst.Call) -> cst.BaseExpression | None:
    """The end of the `range` from 0 or a block number that counts `number` upwards."""
    written = single(number)
    loop = None if written is None else kernel.range_loop(written, call)
    return _end(loop) if loop is not None and _counts_upwards(kernel, loop, call) else None


def is_tile_count(kernel: KernelView, end: cst.BaseExpression, size: str, length: Sum | None, call: cst.Call) -> bool:
    """Whether `end` is `cdiv(length, size)`, `(length + size - 1) // size` or, of any length, a `num_tiles`."""
    written, place = kernel.resolve(end, end)
    if isinstance(written, cst.Call) and kernel.is_call(written, "num_tiles"):
        shape = argument(written, 2, "shape")
        return length is None and isinstance(shape, cst.Tuple) and size in map(code, entries(shape))
    reader, counted = IndexReader(kernel, call), None
    match written:
        case cst.Call(args=[cst.Arg(value=total), cst.Arg(value=step)]) if kernel.is_call(written, "cdiv"):
            if length is None:
                return code(step) == size
            part = reader.read(total, place) if code(step) == size else None
            counted = None if part is None else part.start
        case cst.BinaryOperation(left=total, operator=cst.FloorDivide(), right=step) if code(step) == size:
            part = reader.read(total, place)
            counted = None if part is None else part.start.plus(size_sum(size), -1).plus(Sum.number(1))
    if counted is None:
        return False
    return counted.single is not None if length is None else counted.terms == length.terms


def _counts_upwards(kernel: KernelView, loop: tuple[cst.BaseExpression, ...], place: cst.CSTNode) -> bool:
    """Whether a `range` starts at 0 or at a block number and steps by a positive number or the number of blocks.

    A range that starts before its array, as that of a stencil does, reads tiles that are wholly outside.
    """
    if len(loop) == 1:
        return True
    starts = is_number(loop[0], 0) or _is_block_number(kernel, loop[0], place)
    if len(loop) == 2 or not starts:
        return starts
    step, _ = kernel.resolve(loop[2], place)
    positive = isinstance(step, cst.Integer) and step.evaluated_value > 0
    return positive or kernel.is_call(step, "num_blocks")


def _end(arguments: tuple[cst.BaseExpression, ...]) -> cst.BaseExpression:
    """The end among the arguments of `range`."""
    return arguments[0] if len(arguments) == 1 else arguments[1]
