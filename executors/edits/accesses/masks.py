"""A mask that only says where a range ends, as the end for each axis of the array."""

from collections.abc import Iterator

import libcst as cst

from ..syntax.kernel_source import keyword, positional
from ..syntax.kernel_view import code, keyword_text
from .index_parts import IndexPart, IndexReader
from .sums import Sum

BOTH = ("bitwise_and", "logical_and")
LESS = {cst.LessThan: False, cst.GreaterThan: True}
"""Comparisons that say what is less than what, and whether the greater side comes first."""


def mask_of(call: cst.Call) -> cst.BaseExpression | None:
    given = keyword(call, "mask")
    return None if given is None or code(given.value) == "None" else given.value


def is_unchecked(call: cst.Call) -> bool:
    """Whether a gather or scatter is undefined outside its array, for every one of its elements."""
    return is_trusted(call) and mask_of(call) is None


def is_trusted(call: cst.Call) -> bool:
    """Whether a gather or scatter is undefined outside its array, for those of its elements that its mask lets through."""
    return keyword_text(call, "check_bounds") == "False"


def read_bounds(reader: IndexReader, call: cst.Call, parts: list[IndexPart]) -> dict[int, list[Sum]] | str:
    """The ends that the mask compares the index of each axis with; a reason where the mask says anything else."""
    mask = mask_of(call)
    bounds: dict[int, list[Sum]] = {}
    if mask is None:
        return bounds
    for condition, place in _conditions(reader, mask, call):
        found = _bound(reader, condition, place, parts)
        if found is None:
            return f"a tile access cannot carry the mask `{code(mask)}`"
        bounds.setdefault(found[0], []).append(found[1])
    return bounds


def _conditions(
    reader: IndexReader, mask: cst.BaseExpression, place: cst.CSTNode
) -> Iterator[tuple[cst.BaseExpression, cst.CSTNode]]:
    """The conditions that a mask joins by `&`, and where each is written."""
    written, place = reader.kernel.resolve(mask, place)
    sides: list[cst.BaseExpression] = []
    if isinstance(written, cst.BinaryOperation) and isinstance(written.operator, cst.BitAnd):
        sides = [written.left, written.right]
    elif isinstance(written, cst.Call) and reader.kernel.is_call(written, *BOTH):
        sides = positional(written)
    if not sides:
        yield written, place
    for side in sides:
        yield from _conditions(reader, side, place)


def _bound(
    reader: IndexReader, condition: cst.BaseExpression, place: cst.CSTNode, parts: list[IndexPart]
) -> tuple[int, Sum] | None:
    """The axis whose index a condition `index < stop` bounds, and the end."""
    if not (isinstance(condition, cst.Comparison) and len(condition.comparisons) == 1):
        return None
    target = condition.comparisons[0]
    if type(target.operator) not in LESS:
        return None
    sides = [reader.read(condition.left, place), reader.read(target.comparator, place)]
    less, more = reversed(sides) if LESS[type(target.operator)] else sides
    if less is None or more is None or more.size is not None or any(size != "1" for size in more.shape):
        return None
    same = [
        axis
        for axis, part in enumerate(parts)
        if part.start.terms == less.start.terms and (part.size, part.axis) == (less.size, less.axis)
    ]
    return (same[0], more.start) if same else None
