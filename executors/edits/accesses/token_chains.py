"""Which memory operations of a kernel the compiler keeps in order, and which of them cannot touch the same bytes.

cuda-tile 1.7 hands an order from operation to operation within one array: a store waits for what came before it, a
load for the last store. Operations of different arrays are free of each other, but for atomics: their default,
MemoryOrder.ACQ_REL, waits for everything before and holds up everything after.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from ..syntax.bindings import name_nodes
from ..syntax.kernel_source import argument, dotted, integer, keyword, method, nodes, positional, unpacks
from ..syntax.kernel_view import KernelView, code
from .tile_shapes import shape_text, tile_shape

READS, WRITES = ("load", "gather"), ("store", "scatter")
ADDING = tuple(f"atomic_{name}" for name in ("add", "max", "min", "and", "or", "xor"))
EXCHANGING = ("atomic_xchg", "atomic_cas")
ORDERING = ("memory_order", "memory_scope")


@dataclass(frozen=True, eq=False)
class Access:
    """One memory operation on an array that goes by a name."""

    call: cst.Call
    member: str
    array: str | None

    @property
    def writes(self) -> bool:
        return self.member not in READS


def accesses(view: KernelView) -> list[Access]:
    """The memory operations of the kernel in the order of the text, also those written as an array's method."""
    found = []
    for call in nodes(view.source.function.body, cst.Call):
        member = view.source.names.resolve(call.func)
        array: cst.BaseExpression | None = argument(call, 0, "array")
        if member is None and isinstance(call.func, cst.Attribute):
            member, array = method(call), call.func.value
        if member in (*READS, *WRITES, *ADDING, *EXCHANGING):
            found.append(Access(call, member, dotted(array)))
    return found


def statement(view: KernelView, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
    parent: cst.CSTNode | None = node
    while parent is not None and not isinstance(parent, cst.SimpleStatementLine):
        parent = None if isinstance(parent, cst.BaseCompoundStatement) else view.source.parents.get(parent)
    return parent


def is_discarded(view: KernelView, call: cst.Call) -> bool:
    """Whether nothing reads what a call returns."""
    return isinstance(view.source.parents.get(call), cst.Expr)


def names_order(call: cst.Call) -> bool:
    """Whether a call says itself in which order it stands, or may."""
    return any(keyword(call, name) is not None for name in ORDERING) or unpacks(call)


def other_uses(view: KernelView, array: str, known: set[cst.CSTNode]) -> Iterator[cst.Name]:
    """Where the kernel uses an array's name besides in `known` calls and for its shape or dtype."""
    for name in name_nodes(view.source.function.body):
        if name.value != array:
            continue
        parent = view.source.parents.get(name)
        if isinstance(parent, cst.Attribute) and parent.attr.value in ("shape", "dtype", "ndim", "strides"):
            continue
        if isinstance(parent, cst.Arg) and view.source.parents.get(parent) in known:
            continue
        yield name


def disjoint(view: KernelView, load: cst.Call, store: cst.Call) -> bool:
    """Whether a tile load and a tile store of one array certainly touch different elements.

    Both index the same grid of tiles, since the tiles have the same shape, and one index differs by a number.
    """
    shape = shape_text(argument(load, 2, "shape"))
    tile = argument(store, 2, "tile")
    here, there = argument(load, 1, "index"), argument(store, 1, "index")
    plain = all(keyword(call, "order") is None for call in (load, store)) and len(positional(load)) <= 3
    if shape is None or tile is None or not plain or tile_shape(view, tile, store) != shape:
        return False
    if not isinstance(here, cst.Tuple) or not isinstance(there, cst.Tuple):
        return False
    if len(here.elements) != len(there.elements):
        return False
    pairs = zip(here.elements, there.elements, strict=True)
    return any(_differ(view, (one.value, load), (other.value, store)) for one, other in pairs)


_Placed = tuple[cst.BaseExpression, cst.CSTNode]


def _differ(view: KernelView, one: _Placed, other: _Placed) -> bool:
    """Whether two parts of an index differ by a number that is not zero."""
    (base, offset), (again, moved) = _sum(one[0]), _sum(other[0])
    if base is None or again is None:
        return base is again and offset != moved
    alike = code(base) == code(again) and not list(nodes(base, cst.Call))
    return alike and offset != moved and view.bindings.same(base, one[1], other[1])


def _sum(expression: cst.BaseExpression) -> tuple[cst.BaseExpression | None, int]:
    """An expression as something plus a number; None for nothing but the number."""
    if (number := integer(expression)) is not None:
        return None, number
    if isinstance(expression, cst.BinaryOperation) and not expression.lpar:
        added = integer(expression.right)
        if added is not None and isinstance(expression.operator, cst.Add):
            return expression.left, added
        if added is not None and isinstance(expression.operator, cst.Subtract):
            return expression.left, -added
    return expression, 0
