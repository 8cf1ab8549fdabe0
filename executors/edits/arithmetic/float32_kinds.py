"""What is known of one expression from what is known of its names: a number, a float32 tile, a tile, or nothing.

Promotion follows cuda-tile 1.7: a float32 tile stays float32 beside numbers, integers and narrower floats.
"""

from collections.abc import Callable, Mapping
from enum import Enum

import libcst as cst

from ..syntax.kernel_source import TileNames, argument, dotted

TRANSCENDENTAL = frozenset({"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"})
RESHAPING = frozenset({"reshape", "permute", "transpose", "extract", "broadcast_to", "expand_dims"})
ELEMENTWISE = TRANSCENDENTAL | RESHAPING | {"abs", "negative", "floor", "ceil", "cumsum", "cumprod"}
REDUCTIONS = frozenset({"sum", "max", "min", "prod"})
BINARY = frozenset({"add", "sub", "mul", "truediv", "maximum", "minimum", "pow", "matmul"})
DTYPE_POSITION = {"full": 2, "zeros": 1, "ones": 1, "astype": 1}
NUMBERS = frozenset({"bid", "num_blocks", "num_tiles", "cdiv"})
READS = frozenset({"load", "gather"})
FLOAT32 = frozenset({"torch.float32", "torch.float", "np.float32", "numpy.float32"})
OTHER_LIBRARIES = ("torch.", "np.", "numpy.")
ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.FloorDivide, cst.Modulo, cst.Power)


class Kind(Enum):
    """What is known of a value. A row value is a tile that is the same for a whole row: a reduction.

    ANY is a tile whose dtype the source does not tell, DTYPE the dtype float32 itself, ANY_DTYPE that of an ANY tile.
    """

    NUMBER = "number"
    TILE = "float32 tile"
    ROW = "float32 row value"
    ANY = "tile"
    DTYPE = "float32"
    ANY_DTYPE = "dtype"


Known = Callable[[cst.BaseExpression], "Kind | None"]
TILES = frozenset({Kind.TILE, Kind.ROW, Kind.ANY})


def is_tile(kind: Kind | None) -> bool:
    """Whether a value is certainly a float32 tile, of a reduction or not."""
    return kind in {Kind.TILE, Kind.ROW}


def combined(left: Kind | None, right: Kind | None) -> Kind | None:
    """The kind of an arithmetic result."""
    if left is right:
        return left
    if left is None or right is None or not {left, right} <= TILES | {Kind.NUMBER}:
        return None
    return next(kind for kind in (Kind.ANY, Kind.TILE, Kind.ROW) if kind in {left, right})


def kind_of(
    node: cst.BaseExpression, environment: Mapping[str, Kind | None], names: TileNames, known: Known
) -> Kind | None:
    """The kind of an expression. `known` gives the kind of its parts and must be asked for every one of them."""
    kind: Kind | None = None
    match node:
        case cst.Integer() | cst.Float() | cst.Attribute(value=cst.Name(value="math")):
            kind = Kind.NUMBER
        case cst.Name(value=name):
            kind = environment.get(name, _dtype(node, names))
        case cst.Attribute():
            kind = _attribute(node, names, known)
        case cst.UnaryOperation(operator=cst.Minus() | cst.Plus()):
            kind = known(node.expression)
        case cst.BinaryOperation(left=left, right=right):
            both = combined(known(left), known(right))
            kind = both if isinstance(node.operator, (*ARITHMETIC, cst.MatrixMultiply)) else None
        case cst.IfExp():
            known(node.test)
            one, other = known(node.body), known(node.orelse)
            kind = combined(one, other) if (one in TILES) is (other in TILES) else None
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


def _dtype(node: cst.BaseExpression, names: TileNames) -> Kind | None:
    """The dtype float32 under any of its names; cuTile takes those of torch and NumPy as well."""
    return Kind.DTYPE if names.resolve(node) == "float32" or dotted(node) in FLOAT32 else None


def _attribute(node: cst.Attribute, names: TileNames, known: Known) -> Kind | None:
    """A dtype by its name, or that of a tile."""
    kind = known(node.value)
    if node.attr.value != "dtype" or kind not in TILES:
        return _dtype(node, names)
    return Kind.DTYPE if is_tile(kind) else Kind.ANY_DTYPE


def _subscript(value: cst.BaseExpression, known: Known) -> Kind | None:
    """`tile[:, None]` keeps its kind; `array.shape[0]` is a number."""
    if isinstance(value, cst.Attribute) and value.attr.value == "shape":
        return Kind.NUMBER
    kind = known(value)
    return kind if kind in TILES else None


def _call(call: cst.Call, names: TileNames, known: Known) -> Kind | None:
    kinds = [known(passed.value) for passed in call.args]
    first = kinds[0] if kinds and kinds[0] in TILES else None
    match names.resolve(call.func):
        case None:
            kind = _method(call, kinds, names, known)
        case "full" | "zeros" | "ones" | "astype" as member:
            dtype = argument(call, DTYPE_POSITION[member], "dtype")
            kind = _cast(first if member == "astype" else Kind.TILE, dtype, names, known)
        case "mma":
            accumulator = argument(call, 2, "acc")
            kind = None if accumulator is None else known(accumulator)
        case "where":
            kind = combined(*kinds[1:]) if len(kinds) == 3 else None
        case member if member in REDUCTIONS and first is not None:
            kind = Kind.ROW if is_tile(first) else Kind.ANY
        case member if member in ELEMENTWISE:
            kind = first
        case member if member in BINARY and len(kinds) >= 2:
            kind = combined(kinds[0], kinds[1])
        case member if member in READS:
            kind = Kind.ANY
        case member:
            kind = Kind.NUMBER if member in NUMBERS else None
    return kind


def _cast(before: Kind | None, dtype: cst.BaseExpression | None, names: TileNames, known: Known) -> Kind | None:
    """What a cast makes of a tile of this kind: another dtype by its name is not float32, one behind a name may be."""
    if dtype is None:
        return None
    if known(dtype) is Kind.DTYPE:
        return before if is_tile(before) else Kind.TILE
    named = names.resolve(dtype) is not None or (dotted(dtype) or "").startswith(OTHER_LIBRARIES)
    return None if named else Kind.ANY


def _method(call: cst.Call, kinds: list[Kind | None], names: TileNames, known: Known) -> Kind | None:
    """Tile methods (`tile.astype(ct.float32)`, `tile.reshape(...)`), `float("inf")`, `max(one, other)`."""
    if isinstance(call.func, cst.Name):
        if call.func.value in {"max", "min"} and len(kinds) == 2:
            return combined(*kinds)
        return Kind.NUMBER if call.func.value in {"float", "int"} else None
    if not isinstance(call.func, cst.Attribute):
        return None
    if isinstance(call.func.value, cst.Name) and call.func.value.value == "math":
        return Kind.NUMBER
    kind, method = known(call.func.value), call.func.attr.value
    if method == "astype":
        return _cast(kind if kind in TILES else None, argument(call, 0, "dtype"), names, known)
    return kind if method in RESHAPING and kind in TILES else None
