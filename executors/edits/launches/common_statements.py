"""Which statements of a kernel give every item the same values, so that they need not be repeated for each."""

from collections.abc import Sequence

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import names_bound, names_in
from ..syntax.kernel_source import entries, holds, nodes
from ..syntax.kernel_view import KernelView, assignment
from .block_helpers import block_calls
from .blocks import BLOCK, written_arrays


def loop_start(view: KernelView, statements: Sequence[cst.BaseStatement]) -> int:
    """The first statement that has to be repeated."""
    for number, line in enumerate(statements):
        if not (number == 0 and _is_text(line)) and not _is_common(view, line):
            return number
    return len(statements)


def raised(view: KernelView, statements: Sequence[cst.BaseStatement], needed: set[str]) -> list[int] | Skipped:
    """Which of the statements to repeat must not be: those that once change a parameter, by parameters alone.

    `needed` are the parameters that must keep their value.
    """
    found: list[int] = []
    own = {p.name.value for p in nodes(view.source.function.params, cst.Param)}
    fixed = {name for name in own if view.bindings.is_bound_once(name)}
    for name in sorted(own - fixed):
        at = [number for number, line in enumerate(statements) if name in names_in(line)]
        to, value = (assignment(statements[at[0]]) if at else None) or ("", None)
        once = sum(name in names_bound(line) for line in statements) == 1
        if value is None or to != name or not once or name in needed or holds(value, cst.Call):
            return _changes(name)
        others = names_in(value) - fixed - {name}
        if not all(view.bindings.is_global(other) for other in others):
            return _changes(name)
        found.append(at[0])
    return sorted(found)


def _changes(name: str) -> Skipped:
    return Skipped(f"the kernel gives its parameter {name} another value, which would last")


def _is_common(view: KernelView, line: cst.BaseStatement) -> bool:
    """Whether a statement only names values that no item changes."""
    if not isinstance(line, cst.SimpleStatementLine) or view.source.calls(BLOCK, within=line):
        return False
    if any(call in nodes(line, cst.Call) for call, _ in block_calls(view.source)):
        return False
    written = written_arrays(view.source)
    known = set(view.source.parameters)
    reads = [call for call in nodes(line, cst.Call) if not view.is_call(call, "num_tiles", "num_blocks", "cdiv")]
    passed = {name for call in reads for arg in call.args for name in names_in(arg.value)}
    if passed & written or (not written <= known and passed & known):
        return False
    return all(_names_once(view, small) for small in line.body)


def _names_once(view: KernelView, small: cst.BaseSmallStatement) -> bool:
    if not isinstance(small, cst.Assign):
        return False
    targets = [node for target in small.targets for node in entries(target.target)]
    return all(isinstance(node, cst.Name) and view.bindings.is_bound_once(node.value) for node in targets)


def _is_text(line: cst.BaseStatement) -> bool:
    """Whether a statement is a string on its own: the docstring."""
    match line:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return True
    return False
