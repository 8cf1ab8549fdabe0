"""What is known of one expression from what is known of its names: a number, a float32 tile, or nothing.

Promotion follows cuda-tile 1.7: a float32 tile stays float32 beside numbers, integers and narrower floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

import libcst as cst

from kdiag.executors.edits.syntax.kernel_source import TileNames, argument

TRANSCENDENTAL = frozenset(
    {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"}
)
RESHAPING = frozenset({"reshape", "permute", "transpose", "extract", "broadcast_to", "expand_dims"})
ELEMENTWISE = TRANSCENDENTAL | RESHAPING | {"abs", "negative", "floor", "ceil", "cumsum", "cumprod"}
REDUCTIONS = frozenset({"sum", "max", "min", "prod"})
BINARY = frozenset({"add", "sub", "mul", "truediv", "maximum", "minimum", "pow"})
DTYPE_POSITION = {"full": 2, "zeros": 1, "ones": 1, "astype": 1}
NUMBERS = frozenset({"bid", "num_blocks", "num_tiles", "cdiv"})
ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.FloorDivide, cst.Modulo, cst.Power)


class Kind(Enum):
    """What is known of a value: a number, a float32 tile, or one that is the same for a whole row (a reduction)."""

    NUMBER = "number"
    TILE = "float32 tile"
    ROW = "float32 row value"


Known = Callable[[cst.BaseExpression], "Kind | None"]


def is_tile(kind: Kind | None) -> bool:
    """Whether a value is a float32 tile, of a reduction or not."""
    return kind in {Kind.TILE, Kind.ROW}


def combined(left: Kind | None, right: Kind | None) -> Kind | None:
    """The kind of an arithmetic result."""
    if left is None or right is None or left is right:
        return left if left is right else None
    return Kind.TILE if Kind.TILE in {left, right} else Kind.ROW


def kind_of(
    node: cst.BaseExpression, environment: Mapping[str, Kind | None], names: TileNames, known: Known
) -> Kind | None:
    """The kind of an expression. `known` gives the kind of its parts and must be asked for every one of them."""
    kind: Kind | None = None
    match node:
        case cst.Integer() | cst.Float() | cst.Attribute(value=cst.Name(value="math")):
            kind = Kind.NUMBER
        case cst.Name(value=name):
            kind = environment.get(name)
        case cst.UnaryOperation(operator=cst.Minus() | cst.Plus()):
            kind = known(node.expression)
        case cst.BinaryOperation(left=left, right=right):
            both = combined(known(left), known(right))
            kind = both if isinstance(node.operator, ARITHMETIC) else None
        case cst.IfExp():
            known(node.test)
            one, other = known(node.body), known(node.orelse)
            kind = combined(one, other) if is_tile(one) is is_tile(other) else None
        case cst.Subscript(value=value):
            kind = _subscript(value, known)
        case cst.Call():
            kind = _call(node, names, known)
        case _:
            for part in node.children:
                _visit(part, known)
    return kind


def _visit(node: cst.CSTNode, known: Known) -> None:
    """Ask for every expression inside a node that has no rule of its own (comparisons, tuples, arguments)."""
    if isinstance(node, cst.Lambda | cst.BaseComp):
        return
    if isinstance(node, cst.BaseExpression):
        known(node)
        return
    for part in node.children:
        _visit(part, known)


def _subscript(value: cst.BaseExpression, known: Known) -> Kind | None:
    """`tile[:, None]` keeps its kind; `array.shape[0]` is a number."""
    if isinstance(value, cst.Attribute) and value.attr.value == "shape":
        return Kind.NUMBER
    kind = known(value)
    return kind if is_tile(kind) else None


def _call(call: cst.Call, names: TileNames, known: Known) -> Kind | None:
    kinds = [known(passed.value) for passed in call.args]
    first = kinds[0] if kinds and is_tile(kinds[0]) else None
    match names.resolve(call.func):
        case None:
            kind = _method(call, names, known)
        case "full" | "zeros" | "ones" | "astype" as member:
            dtype = argument(call, DTYPE_POSITION[member], "dtype")
            kind = _cast(first if member == "astype" else None, dtype, names)
        case "mma":
            accumulator = argument(call, 2, "acc")
            kind = None if accumulator is None else known(accumulator)
        case "where":
            kind = combined(*kinds[1:]) if len(kinds) == 3 else None
        case member if member in REDUCTIONS and first is not None:
            kind = Kind.ROW
        case member if member in ELEMENTWISE:
            kind = first
        case member if member in BINARY and len(kinds) >= 2:
            kind = combined(kinds[0], kinds[1])
        case member:
            kind = Kind.NUMBER if member in NUMBERS else None
    return kind


def _cast(before: Kind | None, dtype: cst.BaseExpression | None, names: TileNames) -> Kind | None:
    return (before or Kind.TILE) if names.resolve(dtype) == "float32" else None


def _method(call: cst.Call, names: TileNames, known: Known) -> Kind | None:
    """Tile methods (`tile.astype(ct.float32)`, `tile.reshape(...)`) and `float("inf")`."""
    if isinstance(call.func, cst.Name):
        return Kind.NUMBER if call.func.value in {"float", "int"} else None
    if not isinstance(call.func, cst.Attribute):
        return None
    kind, method = known(call.func.value), call.func.attr.value
    if method == "astype":
        return _cast(kind if is_tile(kind) else None, argument(call, 0, "dtype"), names)
    return kind if method in RESHAPING and is_tile(kind) else None
