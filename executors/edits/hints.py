"""The hints of the kernel's decorator: `occupancy`, `num_ctas` and `num_worker_warps`.

Nothing is promised: whether a hint changes the machine code is for the no-op gate, whether it spills for the effect gate.
"""

import re

import libcst as cst

from kdiag.records import Variant

from .base import Applied, Edit, Outcome, Skipped, Subject
from .examples.hints import EXAMPLES
from .syntax.kernel_source import KernelSource, dotted, holds, integer, keyword, nodes, read_kernel, replace, unpacks
from .syntax.kernel_source import set_keyword as with_keyword

OCCUPANCY, CTAS, WARPS = "occupancy", "num_ctas", "num_worker_warps"
# Below compute capability 9.0 a block is one CTA and no kernel is specialized by warps: both hints change nothing.
FIRST_WITH_CLUSTERS = 90
VALUES: tuple[tuple[str, int], ...] = (
    *((OCCUPANCY, value) for value in (2, 4, 8, 16)),
    (CTAS, 2),
    *((WARPS, value) for value in (4, 8)),
)


class Hints(Edit):
    """Set one decorator hint."""

    id = "hints"
    title = "Decorator hint"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """Every hint that means something on the target and is not set to that value already."""
        read = read_kernel(subject.source, subject.kernel)
        if isinstance(read, Skipped):
            return ()
        clusters = has_clusters(subject.target)
        allowed = {OCCUPANCY: True, CTAS: clusters and multiplies_matrices(read), WARPS: clusters}
        present = {name: integer(present_value(read, name)) for name in allowed}
        return tuple(
            Variant(self.id, f"{name}={value}", {name: value})
            for name, value in VALUES
            if allowed[name] and present[name] != value
        )

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Replace the hint's value, or add the hint to the decorator."""
        read = read_kernel(subject.source, subject.kernel)
        if isinstance(read, Skipped):
            return read
        if not variant.settings:
            return Skipped("the variant sets no hint")
        expression = read.decorator.decorator
        for name, value in variant.settings.items():
            if (name, value) not in VALUES:
                return Skipped(f"{name}={value} is no hint that this edit sets")
            changed = hinted(read, expression, name, int(value or 0))
            if isinstance(changed, Skipped):
                return changed
            expression = changed
        return Applied(replace(read.module, {read.decorator.decorator: expression}), read.place(read.decorator))


def hinted(read: KernelSource, expression: cst.BaseExpression, name: str, value: int) -> cst.BaseExpression | Skipped:
    """The decorator's expression with one hint set, or why it must stay as it is."""
    reason = _refusal(read, name, value)
    if reason is not None:
        return Skipped(reason)
    return with_keyword(expression if isinstance(expression, cst.Call) else cst.Call(expression), name, str(value))


def _refusal(read: KernelSource, name: str, value: int) -> str | None:
    """Why a hint must not be set in the decorator."""
    kernel, expression = read.name, read.decorator.decorator
    present = present_value(read, name)
    if any(dotted(call.func) == f"{kernel}.replace_hints" for call in nodes(read.module, cst.Call)):
        return "the launch chooses hints at run time with replace_hints"
    if isinstance(expression, cst.Call) and unpacks(expression):
        return "the decorator takes its hints from a mapping"
    if isinstance(present, cst.Call) and read.names.resolve(present.func) == "ByTarget":
        return f"{name} is chosen for each target with ByTarget"
    if integer(present) == value:
        return f"{name} is {value} already"
    if present is not None and integer(present) is None and dotted(present) != "None":
        return f"{name} is not a literal in the decorator"
    return None


def present_value(read: KernelSource, name: str) -> cst.BaseExpression | None:
    """What the decorator passes for a hint."""
    expression = read.decorator.decorator
    present = keyword(expression, name) if isinstance(expression, cst.Call) else None
    return None if present is None else present.value


def multiplies_matrices(read: KernelSource, within: cst.CSTNode | None = None) -> bool:
    """Whether the kernel, or a part of it, has a matrix product, by call or by operator."""
    called = read.calls("mma", "mma_scaled", "matmul", within=within)
    return bool(called) or holds(within or read.function, cst.MatrixMultiply)


def has_clusters(target: str) -> bool:
    """Whether a target such as sm_90 runs blocks of several CTAs."""
    number = re.match(r"sm_(\d+)", target)
    return number is not None and int(number[1]) >= FIRST_WITH_CLUSTERS
