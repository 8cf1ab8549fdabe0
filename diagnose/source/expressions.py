"""The value of an expression in a kernel: rules for the operators of Python and the functions of cuda.tile."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import libcst as cst

from .flow import Flow, Frame
from .module import Function
from .tile_calls import METHODS, is_builtin, method_value, tile_value
from .values import STATIC, UNDECIDED, Kind, Value, add, combined, join, multiply, number, shifted

_TYPES = frozenset(
    [
        "bool_",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "tfloat32",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e8m0fnu",
        "float8_e5m3fnu",
        "float4_e2m1fn",
    ]
)


def evaluate(node: cst.CSTNode, frame: Frame, flow: Flow) -> Value:
    """The value of an expression; the observer of the flow hears of what is in it."""
    rule = _RULES.get(type(node))
    if rule is not None:
        return rule(node, frame, flow)
    return combined(flow.value(child, frame) for child in node.children)


def _named(node: cst.Name, frame: Frame, flow: Flow) -> Value:
    return frame.variables[node.value] if node.value in frame.variables else _outer(node, frame, flow)


def _sequence(node: cst.Tuple | cst.List, frame: Frame, flow: Flow) -> Value:
    items = tuple(flow.value(element.value, frame) for element in node.elements)
    starred = any(isinstance(element, cst.StarredElement) for element in node.elements)
    return replace(combined(items), items=None if starred else items)


def _unary(node: cst.UnaryOperation, frame: Frame, flow: Flow) -> Value:
    operand = flow.value(node.expression, frame)
    return add(number(0), operand, -1) if isinstance(node.operator, cst.Minus) else combined([operand])


def _test(node: cst.Comparison | cst.BooleanOperation, frame: Frame, flow: Flow) -> Value:
    return combined((flow.value(child, frame) for child in node.children), "bool_")


def _either(node: cst.IfExp, frame: Frame, flow: Flow) -> Value:
    flow.value(node.test, frame)
    return join(flow.value(node.body, frame), flow.value(node.orelse, frame))


def _walrus(node: cst.NamedExpr, frame: Frame, flow: Flow) -> Value:
    value = flow.value(node.value, frame)
    flow.assign(node.target, value, frame)
    return value


def _outer(node: cst.Name, frame: Frame, flow: Flow) -> Value:
    """A name that the function does not bind: compile-time constants, the types and modes of cuda.tile."""
    names = frame.module.names
    tile = names.tile_name(node)
    if tile is not None:
        return Value(static=True, dtype=tile if tile in _TYPES else None)
    value = names.values.get(node.value)
    if value is None or isinstance(value, cst.Call | cst.Lambda):
        return STATIC
    # What is being looked up already counts as any constant, so that circles end.
    outside = Frame(frame.function, {**(frame.variables if frame.top else {}), node.value: STATIC}, (), top=True)
    return replace(flow.value(value, outside), static=True)


def _attribute(node: cst.Attribute, frame: Frame, flow: Flow) -> Value:
    name = node.attr.value
    tile = frame.module.names.tile_name(node)
    if tile is not None:
        mode = name if frame.module.names.tile_name(node.value) == "PaddingMode" else None
        return Value(static=True, dtype=tile if tile in _TYPES else None, mode=mode)
    owner = flow.value(node.value, frame)
    match name:
        case "dtype":
            return Value(static=True, dtype=owner.dtype)
        case "shape" | "strides":
            return STATIC if owner.is_tile else UNDECIDED
        case "ndim":
            return STATIC
    return combined([owner])


def _subscript(node: cst.Subscript, frame: Frame, flow: Flow) -> Value:
    owner = flow.value(node.value, frame)
    parts = [element.slice for element in node.slice]
    if owner.items is not None:
        match parts:
            case [cst.Index(value=position)]:
                at = flow.value(position, frame).number
                known = at is not None and -len(owner.items) <= at < len(owner.items)
                return owner.items[at] if at is not None and known else combined([owner])
    inserts = [isinstance(p, cst.Index) and isinstance(p.value, cst.Name) and p.value.value == "None" for p in parts]
    whole = [isinstance(p, cst.Slice) and not (p.lower or p.upper or p.step) for p in parts]
    if inserts and all(map(any, zip(inserts, whole, strict=True))) and any(whole):
        behind = inserts[::-1].index(False)
        plain = not any(inserts[inserts.index(False) : len(inserts) - behind])
        return shifted(owner, behind) if plain else combined([owner], owner.dtype)
    inner = [flow.value(part, frame) for part in parts]
    return combined([owner, *inner], owner.dtype if owner.is_tile else None)


def _operation(node: cst.BinaryOperation | cst.AugAssign, frame: Frame, flow: Flow) -> Value:
    sides = (node.left, node.right) if isinstance(node, cst.BinaryOperation) else (node.target, node.value)
    left, right = (flow.value(side, frame) for side in sides)
    flow.observer.on_expression(node, frame, (left, right))
    match node.operator:
        case cst.Add() | cst.AddAssign():
            return add(left, right)
        case cst.Subtract() | cst.SubtractAssign():
            return add(left, right, -1)
        case cst.Multiply() | cst.MultiplyAssign():
            return multiply(left, right)
        case cst.Divide() | cst.DivideAssign():
            return combined((left, right), multiply(left, right).dtype)
        case cst.MatrixMultiply() | cst.MatrixMultiplyAssign():
            return replace(combined((left, right)), kinds=left.kinds | right.kinds | {Kind.TILE, Kind.WIDE})
    return combined((left, right))


def _call(call: cst.Call, frame: Frame, flow: Flow) -> Value:
    values = [flow.value(arg.value, frame) for arg in call.args]
    names = frame.module.names
    tile = names.tile_name(call.func)
    if tile is not None:
        flow.observer.on_expression(call, frame, values)
        return tile_value(tile, call, values)
    local = isinstance(call.func, cst.Name) and call.func.value in frame.variables
    if not local and (function := names.called(call)) is not None:
        here = Function(function, frame.module)
        flow.observer.on_helper(call, frame, "", here)
        return _run(here, call, values, frame, flow)
    origin = None if local else names.origin(call.func)
    if origin is not None:
        return _imported(origin, call, values, frame, flow)
    if isinstance(call.func, cst.Attribute):
        owner = flow.value(call.func.value, frame)
        if call.func.attr.value in METHODS:
            flow.observer.on_expression(call, frame, [owner, *values])
        return method_value(call.func.attr.value, owner, call, values)
    if isinstance(call.func, cst.Name):
        if is_builtin(call.func.value) and not local:
            return tile_value(call.func.value, call, values)
        flow.observer.on_helper(call, frame, "", None)
    return _unknown(values)


def _imported(origin: tuple[str, str], call: cst.Call, values: Sequence[Value], frame: Frame, flow: Flow) -> Value:
    module, name = origin
    if module in ("math", "operator", "functools", "numpy", "torch"):
        return combined(values)  # computed on the host, or refused by the compiler
    function = flow.program.imported(frame.module, module, name)
    flow.observer.on_helper(call, frame, module, function)
    return _unknown(values) if function is None else _run(function, call, values, frame, flow)


def _run(function: Function, call: cst.Call, values: Sequence[Value], frame: Frame, flow: Flow) -> Value:
    return flow.run(function, flow.bind(function, call, values), frame.loops)


def _unknown(values: Sequence[Value]) -> Value:
    known = combined(values)
    return Value(known.kinds | {Kind.UNKNOWN})


_LITERALS = (cst.Float, cst.Imaginary, cst.SimpleString, cst.ConcatenatedString)
_RULES: dict[type, Callable[..., Value]] = {
    cst.Name: _named,
    cst.Integer: lambda node, _frame, _flow: number(node.evaluated_value),
    **dict.fromkeys(_LITERALS, lambda _node, _frame, _flow: STATIC),
    cst.Attribute: _attribute,
    cst.Tuple: _sequence,
    cst.List: _sequence,
    cst.Subscript: _subscript,
    cst.BinaryOperation: _operation,
    cst.AugAssign: _operation,
    cst.UnaryOperation: _unary,
    cst.Comparison: _test,
    cst.BooleanOperation: _test,
    cst.IfExp: _either,
    cst.NamedExpr: _walrus,
    cst.Call: _call,
}
