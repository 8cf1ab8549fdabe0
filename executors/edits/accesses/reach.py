"""How far an index goes: its largest value, as a number that the launch decides.

Every index here is at least 0 and built by sums and products alone, so that 32-bit arithmetic that wraps around cannot
bring it back under its bound: if the bound fits the array, no step of it left 32 bits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import libcst as cst

from ..launches.launch_values import Blocks, Extent, LaunchValue, Passed, Quotient
from ..syntax.bindings import Binding
from ..syntax.kernel_source import argument, dotted, entries, integer, keyword, positional, unpacks
from ..syntax.kernel_view import KernelView, extent_of

SAME_ELEMENTS = ("reshape", "broadcast_to", "expand_dims")


@dataclass(frozen=True)
class Bound:
    """The largest value of an index or count.

    It holds if none of the parameters `signed` is negative and all of `divisors` are positive. `at_least_0` says that
    no value is negative then; `exact` that there is one value only, and then signs do not matter to what it is; `counter`
    that it is a block number or the counter of a loop; `steady` that wrap-around is no danger.
    """

    most: LaunchValue
    at_least_0: bool = True
    signed: frozenset[str] = frozenset()
    divisors: frozenset[str] = frozenset()
    exact: bool = False
    counter: bool = False
    steady: bool = True


def bound(view: KernelView, expression: cst.BaseExpression, place: cst.CSTNode) -> Bound | None:
    """The bound of a whole-number expression at a place in the kernel; None where there is none for certain."""
    match expression:
        case cst.Integer():
            return Bound(LaunchValue.of(expression.evaluated_value), exact=True)
        case cst.Name():
            return _of_name(view, expression, place)
        case cst.BinaryOperation():
            left = bound(view, expression.left, place)
            right = bound(view, expression.right, place)
            return None if left is None or right is None else _of_operation(expression.operator, left, right)
        case cst.Subscript():
            return _of_subscript(view, expression, place)
        case cst.Call():
            return _of_call(view, expression, place)
    return None


def _of_subscript(view: KernelView, expression: cst.Subscript, place: cst.CSTNode) -> Bound | None:
    extent = array_extent(view, expression, place)
    if extent is not None:
        return Bound(LaunchValue.of(extent), exact=True)
    return bound(view, expression.value, place) if _adds_axes(expression) else None


def array_parameter(view: KernelView, expression: cst.CSTNode | None, place: cst.CSTNode) -> str | None:
    """The name of the kernel's parameter that an expression is, not bound to anything else."""
    if not isinstance(expression, cst.Name):
        return None
    binding = view.bindings.reaching(expression.value, place)
    return expression.value if binding is not None and isinstance(binding.node, cst.Param) else None


def array_extent(view: KernelView, expression: cst.Subscript, place: cst.CSTNode) -> Extent | None:
    """`x.shape[1]` of a parameter `x`."""
    array, axis = extent_of(expression) or (None, 0)
    name = array_parameter(view, array, place)
    return None if name is None else Extent(name, axis)


def _of_name(view: KernelView, name: cst.Name, place: cst.CSTNode) -> Bound | None:
    if view.bindings.is_global(name.value):
        value = integer(view.constant(name, place))
        return None if value is None else Bound(LaunchValue.of(value), exact=True)
    binding = view.bindings.reaching(name.value, place)
    return None if binding is None else _of_binding(view, binding)


@lru_cache(maxsize=512)
def _of_binding(view: KernelView, binding: Binding) -> Bound | None:
    """The bound of a name, found once: names that are built from one another would be followed over and over."""
    if isinstance(binding.node, cst.Param):
        return Bound(LaunchValue.of(Passed(binding.name)), signed=frozenset({binding.name}), exact=True)
    if binding.loop is not None:
        return _of_counter(view, binding)
    return None if binding.value is None else bound(view, binding.value, binding.node)


def _of_counter(view: KernelView, binding: Binding) -> Bound | None:
    """The variable of a `for ... in range(...)` that starts at 0 or more and counts upwards."""
    loop = binding.loop
    if loop is None or not isinstance(loop.iter, cst.Call) or dotted(loop.iter.func) != "range":
        return None
    arguments = positional(loop.iter)
    if not 1 <= len(arguments) == len(loop.iter.args) <= 3:
        return None
    if len(arguments) == 3:
        step, _ = view.resolve(arguments[2], loop)
        if not (view.is_call(step, "num_blocks") or (integer(step) or 0) > 0):
            return None
    start = bound(view, arguments[0], loop) if len(arguments) > 1 else Bound(LaunchValue.of(0))
    end = bound(view, arguments[0 if len(arguments) == 1 else 1], loop)
    if start is None or end is None or not (start.at_least_0 and start.steady):
        return None
    signed = start.signed if end.exact else start.signed | end.signed
    return Bound(end.most + -1, signed=signed, divisors=start.divisors | end.divisors, counter=True)


def _of_operation(operator: cst.BaseBinaryOp, left: Bound, right: Bound) -> Bound | None:
    both = Bound(
        left.most,
        left.at_least_0 and right.at_least_0,
        left.signed | right.signed,
        left.divisors | right.divisors,
        left.exact and right.exact,
        steady=left.steady and right.steady,
    )
    divided = replace(both, signed=left.signed, divisors=both.divisors | right.signed)
    match operator:
        case cst.Add():
            return replace(both, most=left.most + right.most)
        case cst.Multiply():
            return replace(both, most=left.most * right.most) if both.at_least_0 else None
        case cst.Subtract() if right.exact:
            return replace(both, most=left.most + right.most * -1, at_least_0=False)
        case cst.FloorDivide() if right.exact:
            return replace(divided, most=_quotient(left, right, up=False), steady=left.counter)
        case cst.Modulo() if right.exact and left.counter:
            return replace(divided, most=right.most + -1)
    return None


def _quotient(left: Bound, right: Bound, *, up: bool) -> LaunchValue:
    return LaunchValue.of(Quotient(left.most, right.most, up))


def _of_call(view: KernelView, call: cst.Call, place: cst.CSTNode) -> Bound | None:
    values = positional(call)
    member = view.source.names.resolve(call.func)
    if unpacks(call) or not values:
        return None
    if member in SAME_ELEMENTS:
        return bound(view, values[0], place)
    reader = _READERS.get(member or "")
    return None if reader is None else reader(view, call, place)


def _block(view: KernelView, call: cst.Call, place: cst.CSTNode) -> Bound | None:
    axis = integer(view.constant(call.args[0].value, place))
    return None if axis is None else Bound(LaunchValue.of(Blocks(axis)) + -1, counter=True)


def _blocks(view: KernelView, call: cst.Call, place: cst.CSTNode) -> Bound | None:
    axis = integer(view.constant(call.args[0].value, place))
    return None if axis is None else Bound(LaunchValue.of(Blocks(axis)), exact=True)


def _range(view: KernelView, call: cst.Call, place: cst.CSTNode) -> Bound | None:
    size = bound(view, call.args[0].value, place)
    plain = size is not None and size.exact and not (keyword(call, "start") or keyword(call, "step"))
    return Bound(size.most + -1) if size is not None and plain else None


def _rounded_up(view: KernelView, call: cst.Call, place: cst.CSTNode) -> Bound | None:
    left, right = (bound(view, each.value, place) for each in (*call.args, *call.args)[:2])
    if len(call.args) != 2 or left is None or right is None or not right.exact:
        return None
    divisors = left.divisors | right.divisors | right.signed
    return replace(left, most=_quotient(left, right, up=True), divisors=divisors, counter=False, steady=False)


def _tiles(view: KernelView, call: cst.Call, place: cst.CSTNode) -> Bound | None:
    """The number of tiles of an array along an axis."""
    array = array_parameter(view, call.args[0].value, place)
    axis, shape = integer(argument(call, 1, "axis")), argument(call, 2, "shape")
    if array is None or axis is None or shape is None or keyword(call, "order"):
        return None
    written, place = view.resolve(shape, place)
    sizes = entries(written)
    size = bound(view, sizes[axis], place) if axis < len(sizes) else None
    if size is None or not size.exact:
        return None
    tiles = Quotient(LaunchValue.of(Extent(array, axis)), size.most, up=True)
    return Bound(LaunchValue.of(tiles), exact=True, steady=False)


def _filled(view: KernelView, call: cst.Call, place: cst.CSTNode) -> Bound | None:
    value = argument(call, 1, "fill_value")
    return None if value is None else bound(view, value, place)


_READERS: dict[str, Callable[[KernelView, cst.Call, cst.CSTNode], Bound | None]] = {
    "bid": _block,
    "num_blocks": _blocks,
    "arange": _range,
    "cdiv": _rounded_up,
    "num_tiles": _tiles,
    "full": _filled,
}


def _adds_axes(expression: cst.Subscript) -> bool:
    """Whether a subscript such as `[:, None]` leaves all elements in place."""
    return all(
        (isinstance(each.slice, cst.Slice) and not (each.slice.lower or each.slice.upper or each.slice.step))
        or (isinstance(each.slice, cst.Index) and dotted(each.slice.value) == "None")
        for each in expression.slice
    )
