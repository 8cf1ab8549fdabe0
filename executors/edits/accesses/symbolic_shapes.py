"""The shape of a tile in a kernel, as numbers that the launch decides."""

from itertools import zip_longest

import libcst as cst

from ..launches.launch_values import LaunchValue
from ..syntax.kernel_source import argument, dotted, entries, integer, keyword, positional, unpacks
from ..syntax.kernel_view import KernelView
from .reach import bound
from .tile_shapes import ELEMENTWISE, SHAPE_ARGUMENT

Shape = tuple[LaunchValue, ...]
ONE = LaunchValue.of(1)
SHAPED = SHAPE_ARGUMENT | {"broadcast_to": (1, "shape")}
REDUCTIONS = ("sum", "max", "min", "prod")
SCALARS = ("bid", "num_blocks", "cdiv", "num_tiles")


def written_shape(view: KernelView, expression: cst.BaseExpression | None, place: cst.CSTNode) -> Shape | None:
    """The numbers in a shape that is written as a tuple or as one number; None where one is not certain."""
    if expression is None:
        return None
    written, place = view.resolve(expression, place)
    sizes = entries(written)
    bounds = [bound(view, size, place) for size in sizes]
    exact = [each.most for each in bounds if each is not None and each.exact]
    return tuple(exact) if len(exact) == len(sizes) else None


def tile_shape(view: KernelView, expression: cst.BaseExpression, place: cst.CSTNode) -> Shape | None:
    """The shape of the tile that an expression is, () for a scalar; None where it is not certain."""
    return _Shapes(view).of(expression, place)


class _Shapes:
    def __init__(self, view: KernelView) -> None:
        self._view = view
        self._seen: set[cst.CSTNode] = set()

    def of(self, expression: cst.BaseExpression, place: cst.CSTNode) -> Shape | None:
        written, place = self._view.resolve(expression, place)
        if written in self._seen:
            return None
        self._seen.add(written)
        try:
            return self._read(written, place)
        finally:
            self._seen.discard(written)

    def _read(self, written: cst.BaseExpression, place: cst.CSTNode) -> Shape | None:
        match written:
            case cst.Integer() | cst.Float():
                return ()
            case cst.Name():
                return self._of_name(written, place)
            case cst.BinaryOperation(left=left, right=right):
                return self._broadcast([left, right], place)
            case cst.UnaryOperation(expression=operand):
                return self.of(operand, place)
            case cst.Call() if not unpacks(written):
                return self._of_call(written, place)
        return None

    def _of_name(self, name: cst.Name, place: cst.CSTNode) -> Shape | None:
        """A parameter, or what a loop carries: cuTile wants that to have the shape that it had before the loop."""
        binding = self._view.bindings.reaching(name.value, place)
        if binding is not None:
            return () if isinstance(binding.node, cst.Param) or binding.loop is not None else None
        before = self._view.bindings.before_loops(name.value, place)
        return None if before is None or before.value is None else self.of(before.value, before.node)

    def _broadcast(self, operands: list[cst.BaseExpression], place: cst.CSTNode) -> Shape | None:
        result: Shape = ()
        for operand in operands:
            shape = self.of(operand, place)
            if shape is None:
                return None
            pairs = list(zip_longest(reversed(result), reversed(shape), fillvalue=ONE))
            if any(left != right and ONE not in (left, right) for left, right in pairs):
                return None
            result = tuple(right if left == ONE else left for left, right in reversed(pairs))
        return result

    def _of_call(self, call: cst.Call, place: cst.CSTNode) -> Shape | None:
        member = self._view.source.names.resolve(call.func)
        values = positional(call)
        if member is None:
            return self._of_method(call, place)
        if member in SHAPED:
            return written_shape(self._view, argument(call, *SHAPED[member]), place)
        if member in SCALARS or not values:
            return () if member in SCALARS else None
        if member in ELEMENTWISE:
            return self._broadcast(values[:1] if member == "astype" else values, place)
        return self._of_special(call, member, place)

    def _of_method(self, call: cst.Call, place: cst.CSTNode) -> Shape | None:
        match call:
            case cst.Call(func=cst.Attribute(value=tile, attr=cst.Name(value="astype"))):
                return self.of(tile, place)
            case cst.Call(
                func=cst.Attribute(attr=cst.Name(value="reshape")), args=[cst.Arg(keyword=None, value=shape)]
            ):
                return written_shape(self._view, shape, place)
        return None

    def _of_special(self, call: cst.Call, member: str, place: cst.CSTNode) -> Shape | None:
        values = positional(call)
        if member == "arange":
            return written_shape(self._view, values[0], place)
        if member == "gather" and len(values) == 2:
            indices, place = self._view.resolve(values[1], place)
            return self._broadcast(entries(indices) or [indices], place)
        if member == "mma" and len(values) == 3:
            return self.of(values[2], place)
        return self._reduced(call, place) if member in REDUCTIONS else None

    def _reduced(self, call: cst.Call, place: cst.CSTNode) -> Shape | None:
        """What a reduction along one axis leaves."""
        shape = self.of(call.args[0].value, place)
        written, keeps = argument(call, 1, "axis"), keyword(call, "keepdims")
        kept = None if keeps is None else dotted(keeps.value)
        negative = isinstance(written, cst.UnaryOperation) and isinstance(written.operator, cst.Minus)
        number = integer(written.expression if isinstance(written, cst.UnaryOperation) else written)
        if shape is None or number is None or kept not in (None, "True", "False"):
            return None
        axis = len(shape) - number if negative else number
        if not 0 <= axis < len(shape):
            return None
        return (*shape[:axis], *((ONE,) if kept == "True" else ()), *shape[axis + 1 :])
