"""Bounds of the scalars in a kernel over all blocks and loop rounds of one captured launch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import libcst as cst

from kdiag.records import ArrayArgument, Launch, ScalarArgument

from ..syntax.kernel_source import argument, dotted, integer
from ..syntax.kernel_view import KernelView, extent_of
from .sums import Sum

Bounds = tuple[int, int]
"""The least and the greatest value, both inclusive; a value in between need not occur."""


def array_of(launch: Launch, name: str) -> ArrayArgument | None:
    """The array that a launch passes for a parameter."""
    found = (each for each in launch.arguments if isinstance(each, ArrayArgument) and each.name == name)
    return next(found, None)


@dataclass(frozen=True)
class LaunchBounds:
    """What scalars can be in one launch of the kernel."""

    kernel: KernelView
    launch: Launch

    def of_sum(self, total: Sum, place: cst.CSTNode) -> Bounds | None:
        """Bounds of a sum whose names mean what they mean at `place`; None where one of them is unknown."""
        low = high = 0
        for product, count in total.terms.items():
            bounds = (count, count)
            for factor in product:
                found = self.of(cst.parse_expression(factor), place)
                if found is None:
                    return None
                bounds = _spread(operator.mul, bounds, found)
            low, high = low + bounds[0], high + bounds[1]
        return low, high

    def of(self, expression: cst.BaseExpression | None, place: cst.CSTNode) -> Bounds | None:
        """Bounds of an expression at `place`; None where they are unknown."""
        found = None
        match expression:
            case cst.Integer(evaluated_value=value):
                found = (value, value)
            case cst.Name(value=name):
                found = self._name(name, place)
            case cst.BinaryOperation(left=left, operator=sign, right=right):
                found = _applied(OPERATORS.get(type(sign)), self.of(left, place), self.of(right, place))
            case cst.IfExp(body=body, orelse=other):
                found = _hull([self.of(body, place), self.of(other, place)])
            case cst.Subscript():
                found = self._extent(expression)
            case cst.Call():
                found = self._call(expression, place)
        return found

    def _name(self, name: str, place: cst.CSTNode) -> Bounds | None:
        binding = self.kernel.bindings.reaching(name, place)
        if binding is None:
            return self.of(_module_constant(self.kernel, name), place)
        if isinstance(binding.node, cst.Param):
            return self._argument(name)
        if binding.loop is not None:
            return self._counter(binding.loop.iter, binding.loop)
        return self.of(binding.value, binding.node)

    def _argument(self, name: str) -> Bounds | None:
        for given in self.launch.arguments:
            if isinstance(given, ScalarArgument) and given.name == name and isinstance(given.value, int):
                return int(given.value), int(given.value)
        return None

    def _counter(self, source: cst.BaseExpression, place: cst.CSTNode) -> Bounds | None:
        """A loop's counter while its body runs; only of a `range` that counts upwards."""
        if not isinstance(source, cst.Call) or dotted(source.func) != "range":
            return None
        ends = [self.of(each.value, place) for each in source.args]
        start, end, step = [(0, 0), *ends, (1, 1)] if len(ends) == 1 else [*ends, (1, 1)][:3]
        if start is None or end is None or step is None or step[0] < 1:
            return None
        return start[0], max(start[0], end[1] - 1)

    def _extent(self, expression: cst.Subscript) -> Bounds | None:
        """`array.shape[axis]` of a parameter."""
        array, axis = extent_of(expression) or (None, 0)
        passed = array_of(self.launch, array.value) if isinstance(array, cst.Name) else None
        if passed is None or axis >= len(passed.shape):
            return None
        return passed.shape[axis], passed.shape[axis]

    def _call(self, call: cst.Call, place: cst.CSTNode) -> Bounds | None:
        member = self.kernel.source.names.resolve(call.func) or dotted(call.func) or ""
        if member in ("bid", "num_blocks"):
            axis = integer(argument(call, 0, "axis"))
            blocks = (*self.launch.grid, 1, 1, 1)[axis] if axis in (0, 1, 2) else None
            if blocks is None:
                return None
            return (0, max(0, blocks - 1)) if member == "bid" else (blocks, blocks)
        given = [self.of(each.value, place) for each in call.args]
        if len(given) != 2 or any(each.keyword for each in call.args):
            return None
        return _applied(CALLS.get(member), given[0], given[1])


def _applied(operation: Operation | None, left: Bounds | None, right: Bounds | None) -> Bounds | None:
    return None if operation is None or left is None or right is None else operation(left, right)


def _module_constant(kernel: KernelView, name: str) -> cst.BaseExpression | None:
    found = kernel.constant(cst.Name(name), kernel.source.function.body)
    return found if isinstance(found, cst.Integer) else None


def _spread(operation: Callable[[int, int], int], left: Bounds, right: Bounds) -> Bounds:
    """Bounds of an operation that is monotonic in each operand."""
    corners = [operation(a, b) for a in left for b in right]
    return min(corners), max(corners)


def _hull(found: Sequence[Bounds | None]) -> Bounds | None:
    known = [bounds for bounds in found if bounds is not None]
    if len(known) < len(found):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _divided(operation: Callable[[int, int], int], left: Bounds, right: Bounds) -> Bounds | None:
    return _spread(operation, left, right) if right[0] > 0 and left[0] >= 0 else None


def _remainder(left: Bounds, right: Bounds) -> Bounds | None:
    if right[0] <= 0 or left[0] < 0:
        return None
    return left if left[1] < right[0] else (0, right[1] - 1)


Operation = Callable[[Bounds, Bounds], Bounds | None]
CALLS: dict[str, Operation] = {
    "add": partial(_spread, operator.add),
    "sub": partial(_spread, operator.sub),
    "mul": partial(_spread, operator.mul),
    "floordiv": partial(_divided, operator.floordiv),
    "mod": _remainder,
    "cdiv": partial(_divided, lambda a, b: -(-a // b)),
    "min": partial(_spread, min),
    "minimum": partial(_spread, min),
    "max": partial(_spread, max),
    "maximum": partial(_spread, max),
}
OPERATORS: dict[type[cst.BaseBinaryOp], Operation] = {
    cst.Add: CALLS["add"],
    cst.Subtract: CALLS["sub"],
    cst.Multiply: CALLS["mul"],
    cst.FloorDivide: CALLS["floordiv"],
    cst.Modulo: CALLS["mod"],
}
