"""hoist: a load that is the same in every round of a loop, in front of the loop.

The tile compiler moves such loads itself, out of `for` and `while` loops, gathers and arithmetic included, and the
machine code is the same either way (sm_90 and sm_100, tileiras 13.4). It does not where the loop holds an atomic
operation, on whatever array: the load is then made again in every round. These loops are edited, all others left alone.
"""

import libcst as cst

from kdiag.records import Variant

from .accesses.invariant_loads import Loop, hoistable
from .base import Applied, Outcome, Skipped, Subject
from .examples.hoisted_loads import EXAMPLES
from .syntax.kernel_source import nodes
from .syntax.kernel_view import KernelView
from .syntax.rewriting import Change, rewrite, to, with_before
from .view_edit import ViewEdit

LOADS = "loads"
REGISTERS = "the loaded tile stays in registers for the whole loop"


class HoistedLoads(ViewEdit):
    """Move loads that a loop does not change in front of it, where the compiler does not."""

    id = "hoist"
    title = "Load once in front of a loop what does not change in it"
    examples = EXAMPLES
    names = (LOADS,)

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Move the statements, with their comments, to the line above the outermost loop that leaves them alone."""
        moves: dict[Loop, list[cst.SimpleStatementLine]] = {}
        refusals: list[str] = []
        loops = [node for node in _loops(view) if _holds_atomics(view, node)]
        for loop in loops:
            for line, target in hoistable(view, loop, refusals).items():
                moves.setdefault(target, []).append(line)
        if not moves:
            return Skipped(refusals[0] if refusals else _nothing(view, loops))
        moved = [line for lines in moves.values() for line in lines]
        first = min((view.source.place(line) for line in moved), key=lambda place: place.line)
        changes: dict[cst.CSTNode, Change] = {loop: with_before(lines) for loop, lines in moves.items()}
        changes |= dict.fromkeys(moved, to(None))
        edited = rewrite(view.source.module, changes)
        return Applied(edited.code, first, warnings=(REGISTERS,))


def _loops(view: KernelView) -> list[Loop]:
    """The loops of the kernel, outer ones first."""
    found: list[Loop] = []

    def collect(node: cst.CSTNode) -> None:
        if isinstance(node, cst.For | cst.While):
            found.append(node)
        if not isinstance(node, cst.FunctionDef | cst.Lambda) or node is view.source.function:
            for child in node.children:
                collect(child)

    collect(view.source.function)
    return found


def _holds_atomics(view: KernelView, loop: Loop) -> bool:
    called = (view.source.names.resolve(call.func) for call in nodes(loop, cst.Call))
    return any((member or "").startswith("atomic_") for member in called)


def _nothing(view: KernelView, loops: list[Loop]) -> str:
    if loops:
        return "no load in a loop of the kernel is the same in every round"
    return "no loop of the kernel holds an atomic operation, and out of other loops the compiler moves loads itself"
