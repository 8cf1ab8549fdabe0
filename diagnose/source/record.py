"""Turns what runs in a kernel into facts. A place that runs several times is one fact, of what holds each time."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar, get_args

import libcst as cst

from kdiag.records import Place

from .access import read_access
from .facts import Access, AccessKind, Atomic, Helper, Loop, LoopBound, MathCall, Product
from .flow import Frame
from .module import Function
from .names import argument, nodes_under, range_arguments, tested_names
from .values import UNDECIDED, Kind, Value

_ACCESSES: dict[str, AccessKind] = {
    **{kind: kind for kind in get_args(AccessKind)},
    "load_advanced_indexing": "gather",
    "store_advanced_indexing": "scatter",
    "load_offset": "gather",
    "store_offset": "scatter",
}
_PRODUCTS = ("mma", "mma_scaled", "matmul")
# The rounding modes that give up accuracy. Without one, cuda-tile 1.7 takes FULL for exp and tanh, RN for the others.
_INEXACT: dict[str, tuple[str, ...]] = {
    "truediv": ("APPROX", "FULL"),
    **dict.fromkeys(
        ["exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sin", "cos", "tan", "sinh", "cosh", "pow", "atan2"],
        ("APPROX",),
    ),
}
Fact = TypeVar("Fact", Atomic, MathCall)


@dataclass
class Recorder:
    """What a kernel and the functions it calls contain, keyed by syntax node so that every place counts once."""

    accesses: dict[cst.CSTNode, Access] = field(default_factory=dict)
    atomics: dict[cst.CSTNode, Atomic] = field(default_factory=dict)
    math: dict[cst.CSTNode, MathCall] = field(default_factory=dict)
    mma: dict[cst.CSTNode, Product] = field(default_factory=dict)
    loops: dict[cst.CSTNode, Loop] = field(default_factory=dict)
    swizzles: dict[cst.CSTNode, Place] = field(default_factory=dict)
    helpers: dict[tuple[str, str], Helper] = field(default_factory=dict)

    def on_expression(self, node: cst.CSTNode, frame: Frame, parts: Sequence[Value]) -> None:
        """Record a call of cuda.tile or of a view, or an operation."""
        if isinstance(node, cst.Call):
            name = frame.module.names.tile_name(node.func)
            view = name is None and isinstance(node.func, cst.Attribute)
            if view and isinstance(node.func, cst.Attribute):
                name = node.func.attr.value
            self._call(str(name), node, frame, parts, view)
            return
        assert isinstance(node, cst.BinaryOperation | cst.AugAssign)
        match node.operator:
            case cst.Divide() | cst.DivideAssign() if any(Kind.WIDE in part.kinds for part in parts):
                self._keep(self.math, node, MathCall("/", frame.module.place(node), True, frame.loops))
            case cst.MatrixMultiply() | cst.MatrixMultiplyAssign():
                self._product("@", node, frame, parts)
            case cst.FloorDivide() if Kind.CLAMPED in parts[1].kinds and Kind.FROM_BLOCK in parts[0].kinds:
                self.swizzles[node] = frame.module.place(node)

    def on_loop(self, node: cst.For | cst.While, frame: Frame, parts: Sequence[Value]) -> None:
        old = self.loops.get(node)
        if isinstance(node, cst.While):
            text, persistent = frame.module.of(node.test), _while_persistent(node, frame, parts)
            bound, trips = _while_bound(node), None
        else:
            text, persistent = frame.module.of(node.iter), _is_persistent(node, parts)
            bound, trips = _bound(node, frame, parts), _trips(node, parts)
        loop = Loop(frame.module.place(node), text, persistent, bound, trips, len(frame.loops))
        if old is not None:
            loop = replace(
                loop,
                persistent=persistent or old.persistent,
                bound=bound if bound == old.bound else "unknown",
                trips=trips if trips == old.trips else None,
                depth=max(loop.depth, old.depth),
            )
        self.loops[node] = loop

    def on_helper(self, call: cst.Call, frame: Frame, module: str, function: Function | None) -> None:
        if function is not None:
            name, where = function.node.name.value, function.module.place(function.node)
        else:
            name, where = frame.module.of(call.func), frame.module.place(call)
        self.helpers.setdefault((module, name), Helper(name, module, where, function is not None))

    def _call(self, name: str, call: cst.Call, frame: Frame, parts: Sequence[Value], view: bool) -> None:
        place = frame.module.place(call)
        if name in _INEXACT:
            if any(part.is_reduced for part in parts) and not any(Kind.WIDE in part.kinds for part in parts):
                return
            mode = frame.module.keywords(call).get("rounding_mode", "")
            fact = MathCall(name, place, not mode.endswith(_INEXACT[name]), frame.loops)
            self._keep(self.math, call, fact)
        elif name in _PRODUCTS:
            self._product(name, call, frame, parts)
        elif name.startswith("atomic_"):
            array = call.func.value if view and isinstance(call.func, cst.Attribute) else argument(call, 0, "array")
            text = frame.module.of(array) if array is not None else ""
            self._keep(self.atomics, call, Atomic(name, text, place, frame.loops))
        elif name in _ACCESSES:
            access = read_access(_ACCESSES[name], call, frame, parts, view)
            self.accesses[call] = _agreed(self.accesses.get(call, access), access)

    def _product(self, name: str, node: cst.CSTNode, frame: Frame, parts: Sequence[Value]) -> None:
        operands = _operands(name, node, parts)
        x, y, acc = (frame.module.of(part) if part is not None else None for part, _ in operands)
        x_dtype, y_dtype, acc_dtype = (dtype for _, dtype in operands)
        place = frame.module.place(node)
        product = Product(name, place, x or "", y or "", acc, x_dtype, y_dtype, acc_dtype, frame.loops)
        self.mma[node] = _same_types(self.mma.get(node, product), product)

    def _keep(self, facts: dict[cst.CSTNode, Fact], node: cst.CSTNode, fact: Fact) -> None:
        facts[node] = max(facts.get(node, fact), fact, key=lambda known: len(known.loops))


def _operands(
    name: str, node: cst.CSTNode, parts: Sequence[Value]
) -> list[tuple[cst.BaseExpression | None, str | None]]:
    """The operands and the accumulator of a product, each with its type."""
    if isinstance(node, cst.Call):
        places = (0, 2, 4) if name == "mma_scaled" else (0, 1, 2)
        nodes = [argument(node, place, key) for place, key in zip(places, ("x", "y", "acc"), strict=True)]
        types = {arg.value: value.dtype for arg, value in zip(node.args, parts, strict=True)}
        return [(part, types.get(part) if part is not None else None) for part in nodes]
    assert isinstance(node, cst.BinaryOperation | cst.AugAssign)
    sides = (node.left, node.right) if isinstance(node, cst.BinaryOperation) else (node.target, node.value)
    left, right = sides
    assert isinstance(left, cst.BaseExpression)
    return [(left, parts[0].dtype), (right, parts[1].dtype), (None, None)]


def _same_types(first: Product, second: Product) -> Product:
    """What holds of a product that runs in two ways."""

    def same(one: str | None, other: str | None) -> str | None:
        return one if one == other else None

    return replace(
        second,
        x_dtype=same(first.x_dtype, second.x_dtype),
        y_dtype=same(first.y_dtype, second.y_dtype),
        accumulator_dtype=same(first.accumulator_dtype, second.accumulator_dtype),
        loops=max(first.loops, second.loops, key=len),
    )


def _agreed(first: Access, second: Access) -> Access:
    """What holds of an access that runs in two ways; an index that is indirect once is indirect."""
    form = second.form
    if first.form != second.form:
        form = "indirect" if first.indirect or second.indirect else "unknown"
    return replace(
        second,
        form=form,
        step=second.step if first.step == second.step else None,
        padding_mode=second.padding_mode if first.padding_mode == second.padding_mode else None,
        loops=max(first.loops, second.loops, key=len),
    )


def _is_persistent(loop: cst.For, parts: Sequence[Value]) -> bool:
    """A range whose step is the number of blocks, or that starts at the block's index and ends elsewhere.

    The second form is for kernels that get the number of blocks as an argument.
    """
    if range_arguments(loop) is None or len(parts) != 3:
        return False
    start, stop, step = (part.kinds for part in parts)
    if Kind.BLOCK_COUNT in step:
        return Kind.FROM_BLOCK in start
    return Kind.BLOCK in start and Kind.FROM_BLOCK not in stop


def _while_persistent(loop: cst.While, frame: Frame, parts: Sequence[Value]) -> bool:
    """Whether a variable of the condition moves by the number of blocks, or starts at the block's index and moves.

    The second form is for kernels that get the number of blocks as an argument; a step of a literal is a scan.
    """
    entered = dict(zip(tested_names(loop), parts, strict=True))
    for name, start in entered.items():
        if {Kind.FROM_BLOCK, Kind.BLOCK_COUNT} <= frame.variables.get(name, UNDECIDED).kinds:
            return True
        if Kind.BLOCK in start.kinds and any(_moves(node, name) for node in nodes_under(loop.body)):
            return True
    return False


def _moves(node: cst.CSTNode, name: str) -> bool:
    match node:
        case cst.AugAssign(target=cst.Name(value=target), operator=cst.AddAssign(), value=cst.Name()):
            return target == name
    return False


def _bound(loop: cst.For, frame: Frame, parts: Sequence[Value]) -> LoopBound:
    if isinstance(loop.iter, cst.Call) and frame.module.names.tile_name(loop.iter.func) == "static_iter":
        return "static"
    if any(Kind.UNKNOWN in part.kinds for part in parts):
        return "unknown"
    return "static" if all(part.static for part in parts) else "dynamic"


def _while_bound(loop: cst.While) -> LoopBound:
    return "unknown" if isinstance(loop.test, cst.Name) and loop.test.value == "True" else "dynamic"


def _trips(loop: cst.For, parts: Sequence[Value]) -> int | None:
    numbers = [part.number for part in parts]
    if range_arguments(loop) is None or not 1 <= len(numbers) <= 3:
        return None
    known = [value for value in numbers if value is not None]
    return len(range(*known)) if len(known) == len(numbers) and 0 not in known[2:] else None
