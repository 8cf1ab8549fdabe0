"""D: both operands of a float32 `ct.mma` as tfloat32, so that the product runs on tensor cores.

The cast is guarded by the operand's dtype, which is known when cuTile traces the kernel: for other dtypes the machine
code stays what it was (compiled for sm_90 with cuda-tile 1.7), also in a function of the file that serves other
kernels. The accumulator stays float32, which is why `ct.matmul`
and `@` are left alone: they give their result the operands' dtype.
"""

from dataclasses import replace
from typing import cast

import libcst as cst

from kdiag.records import Launch, Promise, Safety, Variant

from .arithmetic.float32_values import float32_values
from .arithmetic.local_functions import changed_for_others, fresh, with_functions
from .arithmetic.tf32_operands import is_float32, passes_float32, refusal
from .base import Applied, Edit, Outcome, Skipped, Subject
from .examples.tf32_guard import EXAMPLES
from .syntax.kernel_source import KernelSource, holds, nodes, read_kernel

PROMISE = Promise("compile.mma_off_tensor_cores", "decreases", "matrix products run on tensor cores")


class Tf32Guard(Edit):
    """Cast the float32 operands of a matrix product to tfloat32."""

    id = "D"
    title = "TF32 operands for a float32 matrix product"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """One: the cast has no settings."""
        return (Variant("D", "tf32"),)

    def safety(self, variant: Variant) -> Safety:
        """A tfloat32 keeps 10 of the 23 bits of a float32 significand."""
        return "changes-rounding"

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Bind the guarded operands in front of each statement that holds a matrix product."""
        found = read_kernel(subject.source, subject.kernel)
        return found if isinstance(found, Skipped) else _guarded(found, subject.launches)


def _guarded(kernel: KernelSource, launches: tuple[Launch, ...]) -> Outcome:
    if not kernel.names.modules:
        return Skipped("the file does not import cuda.tile as a module")
    calls = float32_values(kernel).calls
    parts = [replace(kernel, function=function) for function in (kernel.function, *dict.fromkeys(calls.values()))]
    products = [(part, product) for part in parts for product in part.calls("mma")]
    if not products:
        return Skipped(_without_mma(parts))
    refusals = [refusal(part, product) for part, product in products]
    chosen = [each for each, refused in zip(products, refusals, strict=True) if refused is None]
    if not chosen:
        return Skipped(f"{refusals[0]} (line {kernel.line(products[0][1])})")
    if not any(map(passes_float32, launches)) and not any(is_float32(*each) for each in chosen) and launches:
        return Skipped("no launch passes a float32 array, and the operands of ct.mma have the dtype of an array")
    edited = {
        part.function: cst.ensure_type(part.function.visit(_Guards(part, own)), cst.FunctionDef)
        for part in parts
        if (own := [product for owner, product in chosen if owner is part])
    }
    first = kernel.first(product for _, product in chosen)
    written = with_functions(kernel, edited, calls, set(edited) - {kernel.function})
    return Applied(written.source, first, (PROMISE,), warnings=changed_for_others(written))


def _without_mma(parts: list[KernelSource]) -> str:
    for part in parts:
        if part.calls("matmul") or holds(part.function, cst.MatrixMultiply):
            return "ct.matmul and @ round their result to the operands' dtype; only ct.mma keeps a float32 accumulator"
    return "the kernel has no ct.mma"


class _Guards(cst.CSTTransformer):
    """Replaces the operands of the chosen products by names that are bound right before the statement."""

    def __init__(self, kernel: KernelSource, chosen: list[cst.Call]) -> None:
        super().__init__()
        self._tile = min(kernel.names.modules)
        self._chosen = chosen
        self._taken = {name.value for name in nodes(kernel.module, cst.Name)}
        self._pending: list[cst.SimpleStatementLine] = []

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        """Exchange the operands of a chosen product, and put their bindings in front of the statement around it."""
        if isinstance(updated_node, cst.Call) and original_node in self._chosen:
            left, right, *others = updated_node.args
            bound = [self._bind(left, "left"), self._bind(right, "right"), *others]
            return cast(cst.CSTNodeT, updated_node.with_changes(args=bound))
        if not isinstance(updated_node, cst.SimpleStatementLine) or not self._pending:
            return updated_node
        # Comments and empty lines above the statement stay above all of it.
        first, *others_bound = self._pending
        self._pending = []
        first = first.with_changes(leading_lines=updated_node.leading_lines)
        lines = [first, *others_bound, updated_node.with_changes(leading_lines=[])]
        return cst.FlattenSentinel(cast(list[cst.CSTNodeT], lines))

    def _bind(self, operand: cst.Arg, role: str) -> cst.Arg:
        if isinstance(operand.value, cst.Name):
            tile = operand.value.value
        else:
            tile = fresh(role, self._taken)
            assigned = cst.Assign([cst.AssignTarget(cst.Name(tile))], operand.value)
            self._pending.append(cst.SimpleStatementLine([assigned]))
        name, ct = fresh(f"{tile}_operand", self._taken), self._tile
        guarded = f"{ct}.astype({tile}, {ct}.tfloat32) if {tile}.dtype == {ct}.float32 else {tile}"
        target = cst.AssignTarget(cst.Name(name))
        self._pending.append(cst.SimpleStatementLine([cst.Assign([target], cst.parse_expression(guarded))]))
        return operand.with_changes(value=cst.Name(name))
