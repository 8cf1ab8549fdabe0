"""The shape of a tile in a kernel's source, where the syntax alone makes it certain enough to compile."""

from __future__ import annotations

import libcst as cst

from kdiag.executors.edits.accesses.range_access import tile_access
from kdiag.executors.edits.syntax.kernel_source import argument, positional
from kdiag.executors.edits.syntax.kernel_view import KernelView, code

SHAPE_ARGUMENT = {
    "load": (2, "shape"),
    "reshape": (1, "shape"),
    "full": (0, "shape"),
    "zeros": (0, "shape"),
    "ones": (0, "shape"),
}
"""Where a call of cuda.tile says the shape of its result."""

ELEMENTWISE = {
    *("abs", "negative", "astype", "where", "isnan", "floor", "ceil"),
    *("add", "sub", "mul", "truediv", "maximum", "minimum", "pow"),
    *("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh"),
}
"""Calls of cuda.tile whose result has the broadcast shape of their arguments."""


def shape_text(expression: cst.BaseExpression | None) -> tuple[str, ...] | None:
    """The dimensions of a shape or index that is written as a tuple."""
    if not isinstance(expression, cst.Tuple):
        return None
    return tuple(code(element.value) for element in expression.elements)


def tile_shape(
    kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode
) -> tuple[str, ...] | None:
    """The shape of a tile: of the call that makes it, or of the first operand known to have more than one element.

    An operand that would widen the result is not seen; the compiler then refuses the edited kernel.
    """
    return _search(kernel, expression, place, set())


def is_full(kernel: KernelView, value: cst.BaseExpression, place: cst.CSTNode, size: str) -> bool:
    """Whether a value is certainly a tile of `size` elements, and not one element for all of them."""
    return tile_shape(kernel, value, place) == (size,)


def _search(
    kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode, seen: set[cst.CSTNode]
) -> tuple[str, ...] | None:
    written, place = kernel.resolve(expression, place)
    if written in seen:
        return None
    seen.add(written)
    member = kernel.source.names.resolve(written.func) if isinstance(written, cst.Call) else None
    if isinstance(written, cst.Call) and member in SHAPE_ARGUMENT:
        shape = shape_text(argument(written, *SHAPE_ARGUMENT[member]))
        return shape if shape is not None and any(size != "1" for size in shape) else None
    if isinstance(written, cst.Call) and member in ("gather", "arange"):
        return _range_shape(kernel, written, member)
    for operand in _operands(written, member):
        shape = _search(kernel, operand, place, seen)
        if shape is not None:
            return shape
    return None


def _range_shape(kernel: KernelView, call: cst.Call, member: str) -> tuple[str, ...] | None:
    """The shape of a range, or of what is gathered along one."""
    arguments = positional(call)
    if member == "arange":
        return (code(arguments[0]),) if arguments else None
    access = tile_access(kernel, arguments[1]) if len(arguments) > 1 else ""
    return None if isinstance(access, str) else (access.size,)


def _operands(expression: cst.BaseExpression, member: str | None) -> list[cst.BaseExpression]:
    """What an elementwise operation works on; nothing for any other expression."""
    match expression:
        case cst.BinaryOperation(left=left, right=right):
            return [left, right]
        case cst.UnaryOperation(expression=operand):
            return [operand]
        case cst.Call() if member in ELEMENTWISE:
            return positional(expression)
        case cst.Call(func=cst.Attribute(value=tile, attr=cst.Name(value="astype"))):
            return [tile]
    return []
