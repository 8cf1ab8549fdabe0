"""Whether the operands of a `ct.mma` may be float32 and can be cast where they stand: what D asks of the source."""

import libcst as cst

from kdiag.records import ArrayArgument, Launch

from ..syntax.bindings import names_bound
from ..syntax.kernel_source import KernelSource, argument, method, nodes, positional
from .fast_math_knowledge import STATEMENTS
from .float32_kinds import DTYPE_POSITION, RESHAPING

SOMETIMES_EVALUATED = (cst.IfExp, cst.BooleanOperation, cst.Lambda, cst.BaseComp)


def refusal(kernel: KernelSource, product: cst.Call) -> str | None:
    """Why the operands of this product cannot or need not be cast, as one clause; None when they are to be cast."""
    operands = positional(product)[:2]
    if len(operands) < 2:
        return "ct.mma does not name its two operands"
    dtypes = [operand_dtype(kernel, operand, product) for operand in operands]
    if "tfloat32" in dtypes:
        return "the operands of ct.mma are already cast to tfloat32"
    known = next((dtype for dtype in dtypes if dtype not in {None, "float32"}), None)
    if known is not None:
        return f"the operands of ct.mma are {known}, not float32"
    if statement_of(kernel, product) is None:
        return "ct.mma is not evaluated by a statement on a line of its own, where its operands could be bound first"
    return None


def is_float32(kernel: KernelSource, product: cst.Call) -> bool:
    """Whether the source gives an operand the dtype float32."""
    return "float32" in [operand_dtype(kernel, operand, product) for operand in positional(product)[:2]]


def passes_float32(launch: Launch) -> bool:
    return any(isinstance(each, ArrayArgument) and each.dtype == "float32" for each in launch.arguments)


def statement_of(kernel: KernelSource, product: cst.Call) -> cst.SimpleStatementLine | None:
    """The one statement in front of which the product's operands can be evaluated; None when there is none."""
    node: cst.CSTNode = product
    while not isinstance(node, STATEMENTS):
        if isinstance(node, SOMETIMES_EVALUATED):
            return None
        node = kernel.parents[node]
    if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
        return node if kernel.around(node, cst.FunctionDef) is kernel.function else None
    return None


def operand_dtype(kernel: KernelSource, expression: cst.BaseExpression, place: cst.CSTNode) -> str | None:
    """The dtype that the source gives a tile ("tfloat32" also when it is behind a guard), or None when unknown."""
    match expression:
        case cst.Name(value=name):
            return _bound_dtype(kernel, name, place)
        case cst.IfExp(body=body, orelse=orelse):
            branches = {operand_dtype(kernel, part, place) for part in (body, orelse)}
            return "tfloat32" if "tfloat32" in branches else None
        case cst.Call():
            return _call_dtype(kernel, expression, place)
    return None


def _call_dtype(kernel: KernelSource, call: cst.Call, place: cst.CSTNode) -> str | None:
    """The dtype of a call's result: given to it, or that of the tile it rearranges (`ct.f(tile)`, `tile.f()`)."""
    member, tile, dtype_at = kernel.names.resolve(call.func), None, DTYPE_POSITION
    if member is None and isinstance(call.func, cst.Attribute):
        member, tile, dtype_at = method(call), call.func.value, {"astype": 0}
    if member in dtype_at:
        return _dtype(kernel, argument(call, dtype_at[member], "dtype"), place)
    tiles = [tile] if tile is not None else positional(call)
    return operand_dtype(kernel, tiles[0], place) if member in RESHAPING and tiles else None


def _dtype(kernel: KernelSource, dtype: cst.BaseExpression | None, place: cst.CSTNode) -> str | None:
    """The name of a dtype; "tfloat32" for a choice that may be it."""
    if dtype is None:
        return None
    written: list[cst.BaseExpression] = [dtype]
    if isinstance(dtype, cst.Name):
        written += [value for _, value in _assigned(kernel, dtype.value, place)]
    if any(_mentions_tf32(kernel, value) for value in written):
        return "tfloat32"
    return kernel.names.resolve(written[-1])


def _bound_dtype(kernel: KernelSource, name: str, place: cst.CSTNode) -> str | None:
    """The dtype of the last assignment above; a guard in any of them (`if a.dtype == ...: a = ...`) counts."""
    assigned = _assigned(kernel, name, place)
    if any(_mentions_tf32(kernel, value) for _, value in assigned):
        return "tfloat32"
    return operand_dtype(kernel, assigned[-1][1], assigned[-1][0]) if assigned else None


def _assigned(kernel: KernelSource, name: str, place: cst.CSTNode) -> list[tuple[cst.CSTNode, cst.BaseExpression]]:
    """The assignments of a name that stand above a place, and what each assigns."""
    at = kernel.positions[place].start.line
    above = [one for one in nodes(kernel.function, cst.Assign) if kernel.positions[one].start.line < at]
    return [(one, one.value) for one in above if name in names_bound(one)]


def _mentions_tf32(kernel: KernelSource, node: cst.CSTNode) -> bool:
    dotted = [*nodes(node, cst.Attribute), *nodes(node, cst.Name)]
    return any(kernel.names.resolve(part) == "tfloat32" for part in dotted)
