"""D: float32 operands of a matrix product are cast to tfloat32, under a guard that other dtypes pass unchanged.

A tile's dtype is known when the kernel is compiled, so the guard is a conditional expression that leaves no trace in
the machine code: cuda-tile 1.7 compiles the guarded kernel for bfloat16 to the same code as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from kdiag.executors.edits.base import Applied, Edit, Outcome, Skipped
from kdiag.executors.edits.examples.tf32_guard import EXAMPLES
from kdiag.executors.edits.kernel_source import KernelSource, nodes, text
from kdiag.executors.edits.rewrite import Change, becomes, before, has_comment, positional, rewritten
from kdiag.executors.edits.tiles import Shapes
from kdiag.executors.edits.to_tiles import Refusal
from kdiag.records import Promise, Variant

ON_TENSOR_CORES = Promise(
    "compile.mma_off_tensor_cores", "decreases", "fewer matrix products run as FMA instructions"
)
Product = cst.Call | cst.BinaryOperation


@dataclass(frozen=True)
class _Guarded:
    """The statements to put in front of a product's own, and the product's new code."""

    lines: tuple[str, ...]
    product: str


class Tf32Guard(Edit):
    """Optimization D of the playbook."""

    id = "D"
    title = "TF32 operands for a float32 matrix product"
    safety = "changes-rounding"
    examples = EXAMPLES

    def offer(self, kernel: KernelSource, target: str) -> tuple[Variant, ...]:
        return (self.variant("tf32"),)

    def rewrite(self, kernel: KernelSource, variant: Variant) -> Outcome:
        products = _products(kernel)
        if not products:
            return Skipped("the kernel has no matrix product (mma, matmul or @)")
        refused: list[str] = []
        changes: dict[cst.CSTNode, Change] = {}
        lines: dict[cst.SimpleStatementLine, tuple[str, ...]] = {}
        taken = {node.value for node in nodes(kernel.module, cst.Name)}
        for product, line in products.items():
            try:
                guarded = _Guard(kernel, taken).write(product, line)
            except Refusal as refusal:
                refused.append(str(refusal))
                continue
            assert line is not None
            lines[line] = (*lines.get(line, ()), *guarded.lines)
            changes[product] = becomes(guarded.product)
        if not changes:
            return Skipped(refused[0])
        first = min(changes, key=lambda node: kernel.bindings.order[node])
        for line, new in lines.items():
            changes |= before(line, new)
        return Applied(rewritten(kernel.module, changes), kernel.where(first), (ON_TENSOR_CORES,), self.safety)


def _products(kernel: KernelSource) -> dict[Product, cst.SimpleStatementLine | None]:
    """Every matrix product of the body with the statement line it stands on, if that has the line to itself."""
    lines = nodes(kernel.function.body, cst.SimpleStatementLine)
    found: dict[Product, cst.SimpleStatementLine | None] = {}
    for node in nodes(kernel.function.body, cst.CSTNode):
        matmul = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply)
        called = isinstance(node, cst.Call) and kernel.operation(node) in ("mma", "matmul")
        if isinstance(node, cst.Call | cst.BinaryOperation) and (matmul or called):
            holders = [line for line in lines if len(line.body) == 1 and _holds(line, node)]
            found[node] = holders[0] if holders else None
    return found


class _Guard:
    """Writes one product behind its guard. `taken` are the names in use; those that it makes up are added."""

    def __init__(self, kernel: KernelSource, taken: set[str]) -> None:
        self._kernel = kernel
        self._taken = taken
        self._lines: list[str] = []

    def write(self, product: Product, line: cst.SimpleStatementLine | None) -> _Guarded:
        """The guarded product. Raises Refusal."""
        given = positional(product) if isinstance(product, cst.Call) else (product.left, product.right)
        is_mma = isinstance(product, cst.Call) and self._kernel.operation(product) == "mma"
        if len(given) < 2:
            raise Refusal("the operands of the matrix product are not written out")
        for operand in given[:2]:
            self._refuse_operand(operand)
        if line is None:
            raise Refusal("the matrix product does not have a line of its own")
        if has_comment(product) or any(nodes(line, kind) for kind in (cst.Lambda, cst.BaseComp, cst.IfExp)):
            raise Refusal("no statement can be put in front of the matrix product without changing its meaning")
        shapes = [Shapes(self._kernel).of(operand) for operand in given[:2]]
        left, right = self._named(given[0], "left"), self._named(given[1], "right")
        casts = f"{self._cast(left)}, {self._cast(right)}"
        ct = self._kernel.ct
        if is_mma and isinstance(product, cst.Call):
            return _Guarded(tuple(self._lines), f"{ct}.mma({casts}, {_arguments(product.args[2:])})")
        if any(shape is None or len(shape) != 2 for shape in shapes):
            raise Refusal("the file does not show the shapes of the product's operands, which its accumulator needs")
        rows, columns = (shapes[0] or ("",))[0], (shapes[1] or ("",))[-1]
        # Not matmul on tfloat32 operands: its result would be rounded to tfloat32 as well.
        exact = f"{ct}.mma({casts}, {ct}.zeros(({rows}, {columns}), dtype={ct}.float32))"
        return _Guarded(tuple(self._lines), f"({exact} if {left}.dtype == {ct}.float32 else {text(product)})")

    def _refuse_operand(self, operand: cst.BaseExpression) -> None:
        value = self._kernel.bindings.value(operand)
        if any(self._kernel.operation(node) == "tfloat32" for node in nodes(value, cst.Attribute)):
            raise Refusal("the operands are cast to tfloat32 already")
        if isinstance(value, cst.Call) and self._kernel.operation(value) == "astype" and len(positional(value)) == 2:
            dtype = self._kernel.operation(positional(value)[1])
            if dtype is not None and dtype != "float32":
                raise Refusal(f"the operands are {dtype}, not float32")

    def _named(self, operand: cst.BaseExpression, side: str) -> str:
        """A name for an operand, so that it is evaluated once."""
        if isinstance(operand, cst.Name):
            return operand.value
        name = self._fresh(side)
        self._lines.append(f"{name} = {text(operand)}")
        return name

    def _cast(self, name: str) -> str:
        ct, cast = self._kernel.ct, self._fresh(f"{name}_operand")
        self._lines.append(f"{cast} = {ct}.astype({name}, {ct}.tfloat32) if {name}.dtype == {ct}.float32 else {name}")
        return cast

    def _fresh(self, wish: str) -> str:
        name, number = wish, 2
        while name in self._taken:
            name, number = f"{wish}_{number}", number + 1
        self._taken.add(name)
        return name


def _arguments(given: Sequence[cst.Arg]) -> str:
    return ", ".join(cst.Module([]).code_for_node(entry).strip().rstrip(",").rstrip() for entry in given)


def _holds(line: cst.CSTNode, node: cst.CSTNode) -> bool:
    return line is node or any(_holds(child, node) for child in line.children)
