"""One form for numbers that a kernel and its launch may write differently, to tell whether they are equal."""

import libcst as cst

from ..syntax.kernel_source import argument, integer
from ..syntax.kernel_view import KernelView, extent_of
from ..syntax.operands import operand
from .host_arithmetic import SIGNS, rounded_up
from .host_values import HostValues

MOST_STEPS = 12


class Canonical:
    """Writes numbers of one kernel, as launched at one place, in terms of its arrays' extents and its parameters."""

    def __init__(self, view: KernelView, values: HostValues) -> None:
        self._view = view
        self._values = values

    def of_host(self, expression: cst.BaseExpression, place: cst.CSTNode) -> str | None:
        text = self._values.in_kernel(expression, place)
        return None if text is None else self._of(cst.parse_expression(text), None, 0)

    def of_kernel(self, expression: cst.BaseExpression, place: cst.CSTNode) -> str | None:
        return self._of(expression, place, 0)

    def _of(self, expression: cst.BaseExpression, place: cst.CSTNode | None, steps: int) -> str | None:
        if steps > MOST_STEPS:
            return None
        if place is not None:
            expression, place = self._view.resolve(expression, place)
        match expression:
            case cst.Integer():
                return str(expression.evaluated_value)
            case cst.Name(value=name):
                return self._parameter(name, steps)
        match extent_of(expression):
            case cst.Name(value=name), axis:
                return self._extent(name, axis, steps)
        if self._view.is_call(expression, "num_tiles"):
            return self._tiles(cst.ensure_type(expression, cst.Call), place, steps)
        return self._computed(expression, place, steps)

    def _computed(self, expression: cst.BaseExpression, place: cst.CSTNode | None, steps: int) -> str | None:
        """Arithmetic; what is added or multiplied comes in a fixed order."""
        operands, sign = rounded_up(expression), ""
        if operands is None and isinstance(expression, cst.BinaryOperation):
            operands = expression.left, expression.right
            sign = SIGNS.get(type(expression.operator), "")
        parts = [self._of(part, place, steps + 1) for part in operands or ()]
        if None in parts or not parts:
            return None
        if rounded_up(expression) is not None:
            return f"cdiv({parts[0]}, {parts[1]})"
        if sign in ("+", "*"):
            parts.sort(key=str)
        return f"{operand(str(parts[0]))} {sign} {operand(str(parts[1]))}" if sign else None

    def _parameter(self, name: str, steps: int) -> str | None:
        """A parameter as what is passed for it, where that has a form of its own."""
        if name not in self._values.parameters or not self._view.bindings.is_bound_once(name):
            return None
        passed = self._values.argument_of(name)
        text = self._values.in_kernel(*passed) if passed is not None else None
        return name if text in (None, name) else self._of(cst.parse_expression(str(text)), None, steps + 1)

    def _extent(self, name: str, axis: int, steps: int) -> str | None:
        """An extent as the size that the array was made with, or as that of the first array of the same shape."""
        if name not in self._values.parameters:
            return None
        own = f"{self._values.twin(name)}.shape[{axis}]"
        size = self._values.made_size(name, axis)
        text = self._values.in_kernel(*size) if size is not None else None
        return own if text in (None, own) else self._of(cst.parse_expression(str(text)), None, steps + 1)

    def _tiles(self, call: cst.Call, place: cst.CSTNode | None, steps: int) -> str | None:
        """`ct.num_tiles(x, axis, shape)`: the extent divided by the tile's, rounded up."""
        array, axis = argument(call, 0, "array"), integer(argument(call, 1, "axis"))
        shape = argument(call, 2, "shape")
        if not isinstance(array, cst.Name) or axis is None or not isinstance(shape, cst.Tuple):
            return None
        if axis >= len(shape.elements) or argument(call, 3, "order") is not None:
            return None
        extent = self._extent(array.value, axis, steps + 1)
        size = self._of(shape.elements[axis].value, place, steps + 1)
        return None if extent is None or size is None else f"cdiv({extent}, {size})"
