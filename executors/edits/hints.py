"""hints: one keyword of `@ct.kernel(...)`: occupancy, num_ctas or num_worker_warps."""

from __future__ import annotations

import libcst as cst

from kdiag.executors.edits.base import Applied, Edit, Outcome, Skipped
from kdiag.executors.edits.examples.hints import EXAMPLES
from kdiag.executors.edits.kernel_source import KernelSource, text
from kdiag.executors.edits.launches import searched
from kdiag.executors.edits.rewrite import Change, keyword, rewritten, with_keyword
from kdiag.records import Promise, Variant

NO_NEW_SPILLS = Promise("compile.stack_bytes", "not-worse", "the kernel spills no more registers")
VALUES = {"occupancy": (2, 4, 8, 16, 1), "num_ctas": (2,), "num_worker_warps": (8, 4)}
FIRST_WITH_CLUSTERS = 90


class Hints(Edit):
    """The decorator hints."""

    id = "hints"
    title = "Decorator hint"
    safety = "safe"
    examples = EXAMPLES

    def offer(self, kernel: KernelSource, target: str) -> tuple[Variant, ...]:
        clusters = int("".join(filter(str.isdigit, target)) or 0) >= FIRST_WITH_CLUSTERS
        return tuple(
            self.variant(f"{name}={value}", **{name: value})
            for name, values in VALUES.items()
            for value in values
            if (clusters or name != "num_ctas") and (value != 1 or hint(kernel, name) is not None)
        )

    def rewrite(self, kernel: KernelSource, variant: Variant) -> Outcome:
        name, _, value = variant.name.partition("=")
        if name not in VALUES or not value.isdigit():
            return Skipped(f"{variant.name or 'no hint'} is no hint and value")
        changes = with_hint(kernel, name, int(value))
        if isinstance(changes, str):
            return Skipped(changes)
        decorator = next(iter(changes))
        return Applied(rewritten(kernel.module, changes), kernel.where(decorator), (NO_NEW_SPILLS,))


def with_hint(kernel: KernelSource, name: str, value: int) -> dict[cst.CSTNode, Change] | str:
    """The change of the decorator that sets a hint, or why it cannot be set."""
    if (how := searched(kernel)) is not None:
        return f"{how} decides the hints at run time"
    present = hint(kernel, name)
    if present is not None and not isinstance(present, cst.Integer) and text(present) != "None":
        return f"{name} is {text(present)}, not a number"
    if present is not None and text(present) == str(value):
        return f"{name} is {value} already"
    decorator = _decorator(kernel)
    if isinstance(decorator, cst.Call):
        return {decorator: with_keyword(name, str(value))}

    def called(node: cst.CSTNode) -> cst.CSTNode:
        return cst.parse_expression(f"{text(node)}({name}={value})")

    return {decorator: called}


def hint(kernel: KernelSource, name: str) -> cst.BaseExpression | None:
    """The value of a hint in the kernel's decorator."""
    decorator = _decorator(kernel)
    return keyword(decorator, name) if isinstance(decorator, cst.Call) else None


def _decorator(kernel: KernelSource) -> cst.BaseExpression:
    return next(
        entry.decorator
        for entry in kernel.function.decorators
        if kernel.operation(entry.decorator) == "kernel"
    )
