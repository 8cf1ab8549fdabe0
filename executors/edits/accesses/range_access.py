"""Recognises an index tuple that walks a contiguous range, so that it can be written as one tile access.

`ct.load` and `ct.store` count in tiles: the range `n * TILE + arange(TILE)` is tile number `n`, the range
`arange(TILE)` is tile number 0. All other indices must be single rows that lie inside the array, because a tile
entirely outside the array is undefined where a gather pads and a scatter drops.
"""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from kdiag.executors.edits.syntax.kernel_source import argument, keyword
from kdiag.executors.edits.syntax.kernel_view import KernelView, code, is_number


@dataclass(frozen=True)
class TileAccess:
    """A tile access: source text of index and shape for each axis; `axis` is that of the range."""

    index: tuple[str, ...]
    shape: tuple[str, ...]
    axis: int

    @property
    def size(self) -> str:
        """The number of elements of the range."""
        return self.shape[self.axis]

    @property
    def along_last_axis(self) -> bool:
        """Whether the range runs along the axis that is contiguous in an ordinary array."""
        return self.axis == len(self.shape) - 1


@dataclass(frozen=True)
class _Range:
    """Tile number `number` of the tiles of `size` elements."""

    number: str
    size: str


def tile_access(kernel: KernelView, indices: cst.BaseExpression) -> TileAccess | str:
    """The tile access that touches the elements `indices` names, or why it is not certain that there is one."""
    written, place = kernel.resolve(indices, indices)
    parts = [element.value for element in written.elements] if isinstance(written, cst.Tuple) else [indices]
    place = place if isinstance(written, cst.Tuple) else indices
    ranges = [_contiguous(kernel, part, place, indices) for part in parts]
    if sum(found is not None for found in ranges) != 1:
        return f"`{code(indices)}` does not hold exactly one range that is certainly contiguous and aligned to a tile"
    index, shape, axis = [], [], 0
    for position, (part, found) in enumerate(zip(parts, ranges, strict=True)):
        if found is not None:
            axis = position
        elif not (_is_row(kernel, part, place) and kernel.bindings.same(part, place, indices)):
            return f"`{code(part)}` in the index is not certainly a row inside the array"
        index.append(found.number if found else code(part))
        shape.append(found.size if found else "1")
    return TileAccess(tuple(index), tuple(shape), axis)


def _contiguous(
    kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode, use: cst.CSTNode
) -> _Range | None:
    """`arange(SIZE)` or `number * SIZE + arange(SIZE)`, written out or through names."""
    size = _arange_size(kernel, expression, place)
    if size is not None:
        return _Range("0", size)
    written, place = kernel.resolve(expression, place)
    if not (isinstance(written, cst.BinaryOperation) and isinstance(written.operator, cst.Add)):
        return None
    for start, steps in ((written.left, written.right), (written.right, written.left)):
        size = _arange_size(kernel, steps, place)
        if size is not None:
            number = _tile_number(kernel, start, size, place, use)
            return _Range(number, size) if number is not None else None
    return None


def _arange_size(kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode) -> str | None:
    """The size of an `arange` that starts at 0 and steps by 1; its size is a number or a name bound once at most."""
    written, _ = kernel.resolve(expression, place)
    if not (isinstance(written, cst.Call) and kernel.is_call(written, "arange")):
        return None
    start, step = keyword(written, "start"), keyword(written, "step")
    plain = (start is None or is_number(start.value, 0)) and (step is None or is_number(step.value, 1))
    size = argument(written, 0, "size")
    return code(size) if plain and size is not None and _is_compile_time(kernel, size) else None


def _is_compile_time(kernel: KernelView, size: cst.BaseExpression) -> bool:
    if isinstance(size, cst.Name):
        return kernel.bindings.is_global(size.value) or kernel.bindings.is_bound_once(size.value)
    return isinstance(size, cst.Integer)


def _tile_number(
    kernel: KernelView, start: cst.BaseExpression, size: str, place: cst.CSTNode, use: cst.CSTNode
) -> str | None:
    """`n` when `start` is `n * size` for a block number or a counter of tiles that means the same at `use`."""
    written, place = kernel.resolve(start, place)
    if not (isinstance(written, cst.BinaryOperation) and isinstance(written.operator, cst.Multiply)):
        return None
    for number, factor in ((written.left, written.right), (written.right, written.left)):
        if code(factor) == size and kernel.bindings.same(number, place, use):
            counts = _is_block_number(kernel, number, place) or _counts_tiles(kernel, number, size, place)
            return code(number) if counts else None
    return None


def _is_row(kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode) -> bool:
    """A block number, the first row, or a variable of a loop from the first row or block to a length."""
    loop = kernel.range_loop(expression, place)
    if loop is not None:
        length = not isinstance(kernel.constant(_end(loop), loop[0]), cst.Integer)
        return length and _counts_upwards(kernel, loop, place)
    return is_number(expression, 0) or _is_block_number(kernel, expression, place)


def _is_block_number(kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode) -> bool:
    written, _ = kernel.resolve(expression, place)
    return isinstance(written, cst.Call) and kernel.is_call(written, "bid")


def _counts_tiles(kernel: KernelView, number: cst.BaseExpression, size: str, place: cst.CSTNode) -> bool:
    """Whether it is the variable of a `range` that ends at `cdiv(length, size)` or at a `num_tiles` of that size."""
    loop = kernel.range_loop(number, place)
    if loop is None or not _counts_upwards(kernel, loop, place):
        return False
    end, _ = kernel.resolve(_end(loop), loop[0])
    if not isinstance(end, cst.Call):
        return False
    if kernel.is_call(end, "cdiv"):
        return len(end.args) == 2 and code(end.args[1].value) == size
    if not kernel.is_call(end, "num_tiles"):
        return False
    shape = argument(end, 2, "shape")
    return isinstance(shape, cst.Tuple) and size in [code(element.value) for element in shape.elements]


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
    return positive or (isinstance(step, cst.Call) and kernel.is_call(step, "num_blocks"))


def _end(arguments: tuple[cst.BaseExpression, ...]) -> cst.BaseExpression:
    """The end among the arguments of `range`."""
    return arguments[0] if len(arguments) == 1 else arguments[1]
