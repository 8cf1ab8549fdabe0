"""Which lines of a loop load the same in every round, and may load it before the first.

An array that the kernel uses for nothing but loads (and its shape and dtype) does not change during a launch: arguments
do not alias. A loop may run no round at all, so a tile load must name the first tile, which is outside of no array that
has elements, and a gather must check its bounds.
"""

import libcst as cst

from ..syntax.bindings import name_nodes, names_bound, names_in
from ..syntax.kernel_source import argument, holds, keyword, method, nodes, unpacks
from ..syntax.kernel_view import KernelView, assignment, keyword_text
from .tile_shapes import shape_text

Loop = cst.For | cst.While
READS = ("load", "gather")
RESHAPING = ("astype", "reshape", "permute", "transpose", "broadcast_to", "expand_dims")
PURE = (*READS, *RESHAPING, "arange", "full", "zeros", "ones", "bid", "num_blocks", "num_tiles", "cdiv")
METHODS = frozenset({"astype", "reshape", "permute", "transpose"})
DESCRIPTIONS = frozenset({"shape", "dtype", "ndim", "strides"})
IMPURE = (cst.NamedExpr, cst.Lambda, cst.BaseComp, cst.Await, cst.Yield, cst.IfExp, cst.BooleanOperation)


def hoistable(view: KernelView, loop: Loop, refusals: list[str]) -> dict[cst.SimpleStatementLine, Loop]:
    """The lines directly in a loop that load the same in every round, or that such a line needs, in order.

    Each comes with the outermost loop that does not change it. `refusals` gets a reason for every load that has to stay
    although nothing in it changes.
    """
    steady: dict[str, tuple[cst.SimpleStatementLine, cst.BaseExpression, Loop]] = {}
    for line in loop.body.body:
        bound = assignment(line)
        if bound is None or not isinstance(line, cst.SimpleStatementLine) or not view.bindings.is_bound_once(bound[0]):
            continue
        name, value = bound
        target = _outermost(view, loop, value, {known: at for known, (_, _, at) in steady.items()})
        if target is None or not _is_pure(view, value):
            continue
        reasons = [_obstacle(view, call) for call in view.source.calls(*READS, within=value)]
        reason = next(filter(None, reasons), None)
        if reason is not None:
            refusals.append(f"line {view.source.line(line)}: {reason}")
            continue
        steady[name] = (line, value, target)
    wanted = {name for name, (_, value, _) in steady.items() if view.source.calls(*READS, within=value)}
    for name in reversed(list(steady)):
        if name in wanted:
            wanted |= names_in(steady[name][1]) & set(steady)
    return {line: target for name, (line, _, target) in steady.items() if name in wanted}


def _outermost(view: KernelView, loop: Loop, value: cst.BaseExpression, steady: dict[str, Loop]) -> Loop | None:
    """The outermost loop around the line, without anything else between, in which no name of the value changes."""
    found: Loop | None = None
    names = names_in(value)
    inner: cst.CSTNode | None = loop
    while isinstance(inner, cst.For | cst.While):
        bound = set(names_bound(inner)) & names
        if any(steady.get(name) not in (inner, *view.source.above(inner)) for name in bound):
            break
        found, inner = inner, view.source.parents[view.source.parents[inner]]
    return found


def _is_pure(view: KernelView, value: cst.BaseExpression) -> bool:
    """Whether an expression only loads and computes, always all of it."""
    if holds(value, *IMPURE):
        return False
    return all(view.is_call(call, *PURE) or method(call) in METHODS for call in nodes(value, cst.Call))


def _obstacle(view: KernelView, call: cst.Call) -> str | None:
    """Why a load may not be made before the first round."""
    array = argument(call, 0, "array")
    if not isinstance(array, cst.Name) or unpacks(call):
        return "the array is no parameter by its name"
    if not _is_only_read(view, array.value):
        return f"the array {array.value} may be written in the kernel"
    if any(keyword(call, name) is not None for name in ("memory_order", "memory_scope")):
        return "the load has a memory order"
    if view.is_call(call, "gather"):
        checked = keyword_text(call, "check_bounds") in (None, "True")
        return None if checked else "the gather does not check its bounds"
    starts = shape_text(argument(call, 1, "index"))
    if starts is None or set(starts) != {"0"}:
        return "a loop of no rounds would load a tile that is not certainly inside the array"
    return None


def _is_only_read(view: KernelView, array: str) -> bool:
    """Whether a parameter is used for nothing but loads, its shape and its dtype."""
    function, parents = view.source.function, view.source.parents
    if array not in view.source.parameters or not view.bindings.is_bound_once(array):
        return False
    for node in name_nodes(function.body):
        if node.value != array:
            continue
        parent = parents[node]
        described = isinstance(parent, cst.Attribute) and parent.attr.value in DESCRIPTIONS
        call = parents[parent]
        read = isinstance(parent, cst.Arg) and isinstance(call, cst.Call) and call.args[0] is parent
        if not described and not (read and view.is_call(call, *READS, "num_tiles")):
            return False
    return True
