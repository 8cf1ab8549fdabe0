"""One entry of an index tuple taken apart: where it starts, and the range it counts from there, however it is spelled.

Names are followed through plain assignments. What is left is certain to be a scalar, and to mean the same where the
access stands as where it was computed.
"""

from dataclasses import dataclass, replace

import libcst as cst

from ..syntax.kernel_source import argument, integer, keyword, last_name, nodes, positional
from ..syntax.kernel_view import KernelView, code, is_number, keyword_text
from .scalars import is_compile_time, is_scalar
from .sums import Sum

SUMS: dict[str, type[cst.BaseBinaryOp]] = {"add": cst.Add, "sub": cst.Subtract, "mul": cst.Multiply}
INTEGERS = ("int32", "int64")
NARROW = ("int8", "int16")


@dataclass(frozen=True)
class IndexPart:
    """The integers `start + 0, 1, ... size - 1`, or `start` alone where there is no range.

    `shape` is that of the index tile, `axis` the dimension of it along which the range runs, counted from the last: -1,
    -2, ...
    """

    start: Sum
    shape: tuple[str, ...] = ()
    size: str | None = None
    axis: int = 0


@dataclass(frozen=True)
class IndexReader:
    """Reads index expressions as they are at `use`, the access they belong to."""

    kernel: KernelView
    use: cst.CSTNode

    def read(self, expression: cst.BaseExpression, place: cst.CSTNode) -> IndexPart | None:
        """The part that an expression at `place` stands for; None where that is not certain."""
        return self._structured(expression, place) or self._atom(expression, place)

    def _atom(self, expression: cst.BaseExpression, place: cst.CSTNode) -> IndexPart | None:
        """An indivisible scalar."""
        moved = place is not self.use and any(
            self.kernel.is_call(call, "gather", "load") for call in nodes(expression, cst.Call)
        )
        certain = not moved and is_scalar(self.kernel, expression, place)
        if certain and self.kernel.bindings.same(expression, place, self.use):
            return IndexPart(Sum.of(code(expression)))
        return None

    def _structured(self, expression: cst.BaseExpression, place: cst.CSTNode) -> IndexPart | None:
        found = None
        match expression:
            case cst.Integer():
                found = IndexPart(Sum.number(expression.evaluated_value))
            case cst.Name():
                binding = self.kernel.bindings.reaching(expression.value, place)
                value = None if binding is None else binding.value
                if binding is not None and value is not None and not isinstance(value, cst.Integer):
                    found = self._structured(value, binding.node)
            case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
                found = _combined(cst.Multiply, IndexPart(Sum.number(-1)), self.read(inner, place))
            case cst.BinaryOperation(left=left, operator=operator, right=right):
                if isinstance(operator, cst.Add | cst.Subtract | cst.Multiply):
                    found = _combined(type(operator), self.read(left, place), self.read(right, place))
            case cst.Subscript():
                found = self._subscript(expression, place)
            case cst.Call():
                found = self._call(expression, place)
        return found

    def _call(self, call: cst.Call, place: cst.CSTNode) -> IndexPart | None:
        member = self.kernel.source.names.resolve(call.func) or ""
        values = positional(call)
        if member in SUMS and len(values) == 2 == len(call.args):
            return _combined(SUMS[member], self.read(values[0], place), self.read(values[1], place))
        if member in ("arange", "full"):
            return (self._arange if member == "arange" else self._full)(call, place)
        operation, tile, rest = member, values[0] if values else None, 1
        if not member and isinstance(call.func, cst.Attribute):
            operation, tile, rest = call.func.attr.value, call.func.value, 0
        known = tile is not None and operation in ("astype", "reshape", "expand_dims")
        inner = self.read(tile, place) if tile is not None and known else None
        return None if inner is None else self._reformed(inner, operation, call, rest)

    def _reformed(self, tile: IndexPart, operation: str, call: cst.Call, at: int) -> IndexPart | None:
        """The same integers of another type or shape, which is the argument at position `at`."""
        if operation == "astype":
            dtype = argument(call, at, "dtype")
            return tile if dtype is not None and last_name(dtype) in INTEGERS else None
        if operation == "expand_dims":
            axis = integer(argument(call, at, "axis"))
            return None if axis is None else _expanded(tile, axis)
        return _reshaped(tile, self._shape(argument(call, at, "shape")))

    def _arange(self, call: cst.Call, place: cst.CSTNode) -> IndexPart | None:
        start, step, size = keyword(call, "start"), keyword(call, "step"), argument(call, 0, "size")
        if (keyword_text(call, "dtype") or "").endswith(NARROW):  # counts up to 127 or so, and then wraps
            return None
        if size is None or not is_compile_time(self.kernel, size) or (step and not is_number(step.value, 1)):
            return None
        first = IndexPart(Sum()) if start is None else self.read(start.value, place)
        if first is None or first.shape:
            return None
        return IndexPart(first.start, (code(size),), code(size), -1)

    def _full(self, call: cst.Call, place: cst.CSTNode) -> IndexPart | None:
        shape = self._shape(argument(call, 0, "shape"))
        value = argument(call, 1, "fill_value")
        found = None if value is None else self.read(value, place)
        return replace(found, shape=shape) if shape is not None and found and not found.shape else None

    def _shape(self, expression: cst.BaseExpression | None) -> tuple[str, ...] | None:
        """The dimensions of a shape written as a tuple of compile-time sizes."""
        if not isinstance(expression, cst.Tuple):
            return None
        sizes = [element.value for element in expression.elements]
        known = all(is_compile_time(self.kernel, size) for size in sizes)
        return tuple(code(size) for size in sizes) if known else None

    def _subscript(self, expression: cst.Subscript, place: cst.CSTNode) -> IndexPart | None:
        """`x[:, None]` and the like: whole dimensions and new ones of size 1."""
        inner = self.read(expression.value, place)
        kinds = [_selection(element) for element in expression.slice]
        if inner is None or None in kinds or kinds.count("whole") > len(inner.shape) or not inner.shape:
            return None
        kinds += ["whole"] * (len(inner.shape) - kinds.count("whole"))
        dimensions = iter(inner.shape)
        shape = tuple("1" if kind == "new" else next(dimensions) for kind in kinds)
        whole = [position - len(kinds) for position, kind in enumerate(kinds) if kind == "whole"]
        return replace(inner, shape=shape, axis=whole[inner.axis] if inner.size else 0)


def broadcast(shapes: list[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The common shape of tiles, or None where the syntax does not show that there is one."""
    rank = max(map(len, shapes), default=0)
    common: list[str] = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {"1"}
        if len(sizes) > 1:
            return None
        common.append(sizes.pop() if sizes else "1")
    return tuple(common)


def _combined(operator: type[cst.BaseBinaryOp], left: IndexPart | None, right: IndexPart | None) -> IndexPart | None:
    """The sum, difference or product of two parts, of which one at most is a range that keeps counting upwards."""
    if left is None or right is None or (left.size and right.size):
        return None
    shape = broadcast([left.shape, right.shape])
    ranged, other = (left, right) if left.size else (right, left)
    upwards = {cst.Multiply: other.start.constant == 1, cst.Subtract: not right.size}.get(operator, True)
    if shape is None or (ranged.size and not upwards):
        return None
    if operator is cst.Multiply:
        return replace(ranged, start=left.start.times(right.start), shape=shape)
    return replace(ranged, start=left.start.plus(right.start, -1 if operator is cst.Subtract else 1), shape=shape)


def _expanded(part: IndexPart, axis: int) -> IndexPart | None:
    rank = len(part.shape) + 1
    at = axis + rank if axis < 0 else axis
    if not 0 <= at < rank or not part.shape:
        return None
    shape = (*part.shape[:at], "1", *part.shape[at:])
    behind = part.size is not None and part.axis + rank - 1 < at
    return replace(part, shape=shape, axis=part.axis - 1 if behind else part.axis)


def _reshaped(part: IndexPart, shape: tuple[str, ...] | None) -> IndexPart | None:
    """A range in another dimension, the others being 1."""
    if shape is None or part.size is None or [size for size in part.shape if size != "1"] != [part.size]:
        return None
    wide = [position for position, size in enumerate(shape) if size != "1"]
    if len(wide) != 1 or shape[wide[0]] != part.size:
        return None
    return replace(part, shape=shape, axis=wide[0] - len(shape))


def _selection(element: cst.SubscriptElement) -> str | None:
    match element.slice:
        case cst.Index(value=cst.Name(value="None"), star=None):
            return "new"
        case cst.Slice(lower=None, upper=None, step=None):
            return "whole"
    return None
