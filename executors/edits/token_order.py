"""J: memory operations that wait for each other though they cannot touch the same bytes.

Two source changes remove such a wait. An atomic that only adds up needs no order (`MemoryOrder.RELAXED`), and a tile
load that stands behind a store of another tile of the same array can stand before it. What the compiler makes of it is
for the no-op gate to say: `executors.token_order_probe` compiles the kernel without any order and tells what is to gain.
"""

import libcst as cst

from kdiag.records import ArrayArgument, Variant

from .accesses.token_chains import (
    ADDING,
    EXCHANGING,
    READS,
    WRITES,
    Access,
    accesses,
    disjoint,
    is_discarded,
    names_order,
    other_uses,
    statement,
)
from .base import Applied, Outcome, Skipped, Subject
from .examples.token_order import EXAMPLES
from .syntax.bindings import names_bound, names_in
from .syntax.kernel_source import argument, dotted, keyword, method, nodes, replace, set_keyword
from .syntax.kernel_view import KernelView, view_kernel
from .view_edit import ViewEdit

RELAXED, EARLIER = "relaxed-atomics", "loads-first"
FLOATS = ("float", "bfloat", "tfloat")
SIGNALS = ("grid_dependency_control_wait", "grid_dependency_control_launch_dependents", "printf", "print")


class TokenOrder(ViewEdit):
    """Relax atomics that only add up, and move loads in front of stores that they cannot meet."""

    id = "J"
    title = "Token-order dependencies"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """Relaxed atomics where there are atomics, else loads in front of stores."""
        view = view_kernel(subject.source, subject.kernel)
        if isinstance(view, Skipped):
            return ()
        atomics = any(access.member in ADDING for access in accesses(view))
        names = (RELAXED, EARLIER) if atomics else (EARLIER,)
        return tuple(Variant(self.id, name) for name in names)

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Make the change that the variant names wherever it is exact; skip where it is nowhere."""
        if variant.name == RELAXED:
            return _relax(view, subject)
        return _load_first(view, subject)


def _relax(view: KernelView, subject: Subject) -> Outcome:
    """`memory_order=RELAXED` on every atomic whose array the kernel only adds to."""
    every = accesses(view)
    atomics = [access for access in every if access.member in ADDING]
    if not atomics:
        return Skipped("the kernel has no atomic that adds up")
    if (reason := _synchronizes(view, every)) is not None:
        return Skipped(reason)
    reasons, changes = [], dict[cst.CSTNode, cst.CSTNode]()
    for access in atomics:
        reason = _relaxable(view, access, subject)
        if reason is None:
            changes[access.call] = set_keyword(access.call, "memory_order", f"{view.tile}.MemoryOrder.RELAXED")
        else:
            reasons.append(reason)
    if not changes:
        return Skipped(reasons[0])
    arrays = ", ".join(dict.fromkeys(a.array or "" for a in atomics if a.call in changes))
    warning = f"a kernel that runs at the same time and waits for {arrays} to change would no longer see what was stored before"
    first = view.statement_place(next(iter(changes)))
    return Applied(replace(view.source.module, changes), first, warnings=(warning,))


def _synchronizes(view: KernelView, every: list[Access]) -> str | None:
    """What in the kernel may rely on the order of its atomics."""
    for access in every:
        line = view.source.line(access.call)
        if access.member in EXCHANGING:
            return f"line {line}: {access.member} may be a lock, which relies on the order of what it protects"
        if access.member in ADDING and not is_discarded(view, access.call):
            return f"line {line}: what {access.member} returns is used, so that blocks may learn of each other by it"
        ordered = keyword(access.call, "memory_order")
        if ordered is not None and (view.source.names.resolve(ordered.value) or "") not in (
            "MemoryOrder.RELAXED",
            "MemoryOrder.WEAK",
        ):
            return f"line {line} names a memory order, on which the kernel may rely"
    signals = view.source.calls(*SIGNALS)
    return f"line {view.source.line(signals[0])} orders kernels or output" if signals else None


def _relaxable(view: KernelView, access: Access, subject: Subject) -> str | None:
    """Why one atomic must keep its order; None if it need not."""
    line, array = view.source.line(access.call), access.array
    if names_order(access.call):
        return f"line {line} names its memory order already"
    if array is None or not isinstance(argument(access.call, 0, "array"), cst.Name):
        return f"line {line}: the array is not one of the kernel's parameters"
    atomics = {other.call for other in accesses(view) if other.member in ADDING and other.array == array}
    used = next(other_uses(view, array, set(atomics)), None)
    if used is not None or not view.bindings.is_bound_once(array):
        where = line if used is None else view.source.line(used)
        return f"line {where}: {array} is not only added to, so its order may matter"
    if any(other.writes and other.array != array for other in accesses(view)) and not _holds_floats(array, subject):
        return f"line {line}: {array} may count, as a signal that something else has been stored"
    return None


def _holds_floats(array: str, subject: Subject) -> bool:
    """Whether all captured launches pass an array of floating-point numbers, and there are any."""
    dtypes = [
        passed.dtype
        for launch in subject.launches
        for passed in launch.arguments
        if isinstance(passed, ArrayArgument) and passed.name == array
    ]
    return bool(dtypes) and all(dtype.startswith(FLOATS) for dtype in dtypes)


def _load_first(view: KernelView, subject: Subject) -> Outcome:
    """Move each tile load in front of the stores of other tiles of its array that stand in the same block."""
    overlapping = _overlapping_itself(subject)
    for access in accesses(view):
        if access.member != "load" or access.array is None or access.array in overlapping:
            continue
        line = statement(view, access.call)
        suite = view.source.parents.get(line) if line is not None else None
        if line is None or not isinstance(suite, cst.IndentedBlock):
            continue
        target = _target(view, access, line, suite)
        if target is not None:
            body = [other for other in suite.body if other is not line]
            body.insert(body.index(target), line)
            moved = replace(view.source.module, {suite: suite.with_changes(body=body)})
            rest = _load_first(_again(view, moved), subject)
            warning = f"holds as long as no two elements of {access.array} share memory"
            where = view.source.place(target)
            return Applied(rest.source if isinstance(rest, Applied) else moved, where, warnings=(warning,))
    return Skipped(_why_chained(view))


def _again(view: KernelView, source: str) -> KernelView:
    """The kernel after one move."""
    viewed = view_kernel(source, view.source.name)
    assert isinstance(viewed, KernelView)  # only the order of two statements has changed
    return viewed


def _overlapping_itself(subject: Subject) -> set[str]:
    """The arrays of which a captured launch passes elements that share memory."""
    return {
        passed.name
        for launch in subject.launches
        for passed in launch.arguments
        if isinstance(passed, ArrayArgument)
        and any(stride == 0 and extent > 1 for stride, extent in zip(passed.strides, passed.shape, strict=True))
    }


def _target(
    view: KernelView, access: Access, line: cst.SimpleStatementLine, suite: cst.IndentedBlock
) -> cst.BaseStatement | None:
    """The first store in front of which the load may stand and has to go, searched backwards from the load."""
    if len(line.body) != 1 or not isinstance(line.body[0], cst.Assign) or len(list(nodes(line, cst.Call))) != 1:
        return None
    if names_order(access.call):
        return None
    by_statement = {id(statement(view, other.call)): other for other in accesses(view)}
    needed, bound = names_in(line.body[0].value), names_bound(line)
    found: cst.BaseStatement | None = None
    for other in reversed(suite.body[: list(suite.body).index(line)]):
        if not isinstance(other, cst.SimpleStatementLine) or len(other.body) != 1:
            break
        if names_bound(other) & (needed | bound) or names_in(other) & bound:
            break
        met = by_statement.get(id(other))
        if met is None and _may_touch_memory(view, other):
            break
        if met is not None and met.array == access.array and met.writes:
            if met.member != "store" or not disjoint(view, access.call, met.call):
                break
            found = other
        elif met is not None and (met.member in (*ADDING, *EXCHANGING) or names_order(met.call)):
            break
    return found


def _may_touch_memory(view: KernelView, line: cst.SimpleStatementLine) -> bool:
    """Whether a statement calls a function that is not cuda.tile's, or prints."""
    return any(
        view.source.names.resolve(call.func) in (None, *SIGNALS) and method(call) != "astype"
        for call in nodes(line, cst.Call)
    )


def _why_chained(view: KernelView) -> str:
    """What the compiler keeps in order, and why the source cannot say otherwise."""
    every = accesses(view)
    read = {access.array for access in every if access.member in READS}
    for access in every:
        line = view.source.line(access.call)
        if access.member in WRITES and access.array in read:
            return f"line {line}: {access.array} is read and written, and no load of it can be shown to stand behind a store of another tile"
        loop = view.source.around(access.call, cst.For, cst.FunctionDef)
        if access.member == "scatter" and isinstance(loop, cst.For):
            return f"line {line}: each ct.scatter of the loop waits for the one before, which the source cannot change"
        index = argument(access.call, 1, "index") if access.member == "store" else None
        if isinstance(loop, cst.For) and isinstance(index, cst.Tuple):
            parts = {dotted(element.value) for element in index.elements}
            if dotted(loop.target) not in parts:
                return f"line {line}: the stores of the loop wait for each other unless {dotted(loop.target)} itself is part of the index"
    return "the compiler keeps only accesses to one array in order, and no array is both read and written"
