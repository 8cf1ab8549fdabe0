"""The shape of a tile in a kernel's source, where the syntax alone makes it certain enough to compile."""

from dataclasses import dataclass

import libcst as cst

from ..syntax.kernel_source import argument, entries, integer, keyword, method, nodes, positional
from ..syntax.kernel_view import KernelView, code
from .range_access import gathered_shape

SHAPE_ARGUMENT = {
    "load": (2, "shape"),
    "reshape": (1, "shape"),
    "broadcast_to": (1, "shape"),
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


def array_axes(call: cst.Call, rank: int) -> tuple[int, ...] | None:
    """The array's axis for each dimension of the tile of a load or store; None where its order is not written out."""
    axes, order = tuple(range(rank)), keyword(call, "order")
    text = '"C"' if order is None else code(order.value)
    if text in ('"C"', "'C'", '"F"', "'F'"):
        return axes if "C" in text else axes[::-1]
    if order is None or not isinstance(order.value, cst.Tuple):
        return None
    found = [integer(each) for each in entries(order.value)]
    known = tuple(axis for axis in found if axis is not None)
    return known if sorted(known) == list(axes) and len(found) == rank else None


def tile_shape(kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode) -> tuple[str, ...] | None:
    """The shape of a tile: of the call that makes it, or of the first operand known to have more than one element.

    An operand that would widen the result is not seen; the compiler then refuses the edited kernel.
    """
    return _Shapes(kernel, set()).of(expression, place)


def surrounding_reshape(kernel: KernelView, call: cst.Call, shape: tuple[str, ...]) -> cst.Call | None:
    """The `ct.reshape(call, shape)` around a call, when there is one."""
    parents = kernel.source.parents
    outer = parents[parents[call]]
    if not (isinstance(outer, cst.Call) and kernel.is_call(outer, "reshape") and len(outer.args) == 2):
        return None
    return outer if shape_text(argument(outer, 1, "shape")) == shape else None


@dataclass(frozen=True)
class _Shapes:
    """One search; `seen` are the expressions that it has begun with."""

    kernel: KernelView
    seen: set[cst.CSTNode]

    def of(self, expression: cst.BaseExpression, place: cst.CSTNode) -> tuple[str, ...] | None:
        written, place = self.kernel.resolve(expression, place)
        if written in self.seen:
            return None
        self.seen.add(written)
        member = self.kernel.source.names.resolve(written.func) if isinstance(written, cst.Call) else None
        if isinstance(written, cst.Call) and (member in SHAPE_ARGUMENT or method(written) == "reshape"):
            at = SHAPE_ARGUMENT.get(member or "", (0, "shape"))
            shape = shape_text(argument(written, *at))
            return shape if shape is not None and any(size != "1" for size in shape) else None
        if isinstance(written, cst.Call) and member in ("gather", "arange"):
            return self._of_range(written, member)
        if isinstance(written, cst.Name):
            return self._of_every_value(written)
        for operand in _operands(written, member):
            shape = self.of(operand, place)
            if shape is not None:
                return shape
        return None

    def _of_every_value(self, name: cst.Name) -> tuple[str, ...] | None:
        """The shape of a name with several values, such as a running sum: cuTile has one type for all of them."""
        values = [
            node.value
            for node in nodes(self.kernel.source.function.body, cst.Assign)
            if [code(target.target) for target in node.targets] == [name.value]
        ]
        found = [self.of(value, value) for value in values]
        shapes = {shape for shape in found if shape is not None}
        pairs = zip(values, found, strict=True)
        certain = all(shape is not None or self._keeps(value, name.value) for value, shape in pairs)
        return shapes.pop() if certain and len(shapes) == 1 else None

    def _keeps(self, value: cst.BaseExpression, name: str) -> bool:
        """Whether a value is computed elementwise from the name itself, and so keeps its shape."""
        if isinstance(value, cst.Name):
            return value.value == name
        member = self.kernel.source.names.resolve(value.func) if isinstance(value, cst.Call) else None
        return any(self._keeps(operand, name) for operand in _operands(value, member))

    def _of_range(self, call: cst.Call, member: str) -> tuple[str, ...] | None:
        """The shape of a range, or of what is gathered along one."""
        arguments = positional(call)
        if member == "arange":
            return (code(arguments[0]),) if arguments else None
        return gathered_shape(self.kernel, call) or None if len(arguments) == 2 else None


def _operands(expression: cst.BaseExpression, member: str | None) -> list[cst.BaseExpression]:
    """What an elementwise operation works on; nothing for any other expression."""
    match expression:
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            return [] if isinstance(operator, cst.MatrixMultiply) else [left, right]
        case cst.UnaryOperation(expression=operand):
            return [operand]
        case cst.Call() if member == "mma":
            return positional(expression)[2:3]
        case cst.Call(func=cst.Attribute(value=tile, attr=cst.Name(value="astype"))) if member is None:
            return [tile]
    return positional(expression) if isinstance(expression, cst.Call) and member in ELEMENTWISE else []
