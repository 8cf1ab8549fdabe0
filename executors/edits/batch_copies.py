"""K: a loop that launches one small kernel for each of several tensors becomes one launch over lists of tensors.

cuda-tile 1.7 takes a list of arrays as one argument, all of one dtype and rank. The host checks that the items are alike
and do not overlap; what fails the check runs as the loop did.
"""

import libcst as cst

from kdiag.records import Variant

from .base import Applied, Outcome, Skipped, Subject
from .examples.batch_copies import EXAMPLES
from .launches.batch_kernel import batched_kernel, batched_loop, guard
from .launches.batch_loop import BatchLoop, batch_loop
from .syntax.bindings import name_nodes
from .syntax.kernel_source import KernelSource, replace
from .syntax.kernel_view import KernelView
from .view_edit import ViewEdit

LISTS = "lists"
CHECK = "_may_run_together"


class BatchCopies(ViewEdit):
    """One launch for all tensors of a loop."""

    id = "K"
    title = "Batch small copy kernels"
    examples = EXAMPLES
    names = (LISTS,)  # the only way that is exact without copying the tensors together

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Add the kernel over lists and its guard, and let the loop use them."""
        read, name = view.source, f"{subject.kernel}_batched"
        found = batch_loop(read)
        if (reason := _taken(read, name, found)) is not None:
            return Skipped(reason)
        if isinstance(found, Skipped):
            return found
        kernel = batched_kernel(read, found, name, view.tile)
        if isinstance(kernel, Skipped):
            return kernel
        check = cst.ensure_type(cst.parse_statement(guard(CHECK)), cst.FunctionDef)
        check = check.with_changes(leading_lines=kernel.leading_lines)
        loop = cst.FlattenSentinel(batched_loop(read, found, name, CHECK))
        edited = replace(
            read.module, {read.function: cst.FlattenSentinel([read.function, kernel, check]), found.loop: loop}
        )
        warning = "the check on the host costs a few microseconds for each tensor, which short lists may not win back"
        return Applied(edited, read.place(found.loop), warnings=(warning,))


def _taken(read: KernelSource, name: str, found: BatchLoop | Skipped) -> str | None:
    """Why there is no room for the new kernel and names: one of them is used, or the kernel is not the module's."""
    taken = {node.value for node in name_nodes(read.module)}
    for new in (name, CHECK):
        if new in taken:
            return f"the file has {new} already"
    if not isinstance(read.parents.get(read.function), cst.Module):
        return "the kernel is not defined at the level of the module"
    if isinstance(found, Skipped):
        return None
    local = {node.value for node in name_nodes(read.around(found.loop, cst.FunctionDef) or read.module)}
    return "the launch wrapper uses the names items or blocks already" if {"items", "blocks"} & local else None
