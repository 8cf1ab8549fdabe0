"""H: cheaper float32 arithmetic: powers of two, approximate division, reciprocals, reciprocal square roots, tanh.

`flush_to_zero` and APPROX exist for float32 alone, so an operation is changed only where the source shows float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from kdiag.executors.edits.base import Applied, Edit, Outcome, Skipped
from kdiag.executors.edits.dtypes import Dtypes
from kdiag.executors.edits.examples.fast_math import EXAMPLES
from kdiag.executors.edits.kernel_source import KernelSource, nodes, text
from kdiag.executors.edits.rewrite import Change, positional, rewritten, with_keyword
from kdiag.executors.edits.tiles import Shapes, broadcast
from kdiag.records import Promise, Variant

LOG2_E = "1.4426950408889634"
SMALLER = Promise("compile.code_bytes", "decreases", "the machine code becomes shorter")
Division = cst.BinaryOperation
Finder = Callable[["_Finds"], Iterator[tuple[cst.CSTNode, Change]]]
NOT_SHOWN = "the source does not show that the operands of its {} are float32"


class FastMath(Edit):
    """Optimization H of the playbook."""

    id = "H"
    title = "Fast math"
    safety = "changes-rounding"
    examples = EXAMPLES

    def offer(self, kernel: KernelSource, target: str) -> tuple[Variant, ...]:
        return tuple(self.variant(name) for name in VARIANTS)

    def rewrite(self, kernel: KernelSource, variant: Variant) -> Outcome:
        finders = VARIANTS.get(variant.name, VARIANTS["all"])
        finds = _Finds(kernel)
        changes: dict[cst.CSTNode, Change] = {}
        for finder in finders:
            for node, change in finder(finds):
                changes.setdefault(node, change)
        if not changes:
            return Skipped(finds.refused or f"the kernel has no {NEEDS.get(variant.name, NEEDS['all'])}")
        first = min(changes, key=lambda node: kernel.bindings.order[node])
        return Applied(rewritten(kernel.module, changes), kernel.where(first), (SMALLER,), self.safety)


class _Finds:
    """Finds the operations that can be made cheaper; `refused` says why the first that cannot cannot."""

    def __init__(self, kernel: KernelSource) -> None:
        self.kernel = kernel
        self.refused: str | None = None
        self._dtypes = Dtypes(kernel)
        self._shapes = Shapes(kernel)

    def exponentials(self, *, folded: bool = False) -> Iterator[tuple[cst.CSTNode, Change]]:
        """exp(x) = exp2(x * log2 e)."""
        for call in self.kernel.calls_of("exp"):
            if len(call.args) == 1 and self._float32("exp", call.args[0].value):
                difference = folded and _is_difference(call.args[0].value)
                yield call, _folded(self.kernel) if difference else _power_of_two(self.kernel)

    def tangents(self) -> Iterator[tuple[cst.CSTNode, Change]]:
        """tanh by the hardware's own instruction."""
        for call in self.kernel.calls_of("tanh"):
            if len(call.args) == 1 and self._float32("tanh", call.args[0].value):
                yield call, with_keyword("rounding_mode", f"{self.kernel.ct}.RoundingMode.APPROX")

    def roots(self) -> Iterator[tuple[cst.CSTNode, Change]]:
        """a / sqrt(x) = a * rsqrt(x)."""
        for division in self._divisions():
            root = division.right
            plain = isinstance(root, cst.Call) and self.kernel.operation(root) == "sqrt" and len(root.args) == 1
            if plain and self._float32("square root", root):
                yield division, _times_rsqrt(self.kernel)

    def quotients(self) -> Iterator[tuple[cst.CSTNode, Change]]:
        """a / b with the approximate rounding mode."""
        for division in self._divisions():
            if self._float32("division", division):
                yield division, _approximate(self.kernel)

    def reciprocals(self) -> Iterator[tuple[cst.CSTNode, Change]]:
        """tile / number of its row = tile * reciprocal."""
        for division in self._divisions():
            wide, narrow = self._shapes.of(division.left), self._shapes.of(division.right)
            narrower = wide is not None and narrow != wide and broadcast(narrow, wide) == wide
            if narrower and self._float32("division", division.right) and self._float32("division", division):
                yield division, _times_reciprocal(self.kernel)

    def _divisions(self) -> Iterator[Division]:
        """The divisions with `/`, none if the kernel rounds their results to buckets."""
        found = [node for node in nodes(self.kernel.function.body, Division) if isinstance(node.operator, cst.Divide)]
        if found and _quantizes(self.kernel):
            self.refused = self.refused or "a division that decides a bucket of a quantization has to stay exact"
            return
        yield from found

    def _float32(self, what: str, node: cst.BaseExpression) -> bool:
        shown = self._dtypes.is_float32(node)
        if not shown:
            self.refused = self.refused or NOT_SHOWN.format(what)
        return shown


VARIANTS: dict[str, tuple[Finder, ...]] = {
    "exp2": (_Finds.exponentials,),
    "tanh": (_Finds.tangents,),
    "rsqrt": (_Finds.roots,),
    "reciprocal": (_Finds.reciprocals,),
    "approx-division": (_Finds.quotients,),
    "all": (_Finds.exponentials, _Finds.tangents, _Finds.roots, _Finds.quotients),
    "all-folded": (lambda finds: finds.exponentials(folded=True), _Finds.tangents, _Finds.roots, _Finds.quotients),
}
NEEDS = {
    "exp2": "exp",
    "tanh": "tanh",
    "rsqrt": "division by a square root",
    "reciprocal": "division of a tile by one number for each row",
    "approx-division": "division",
    "all": "exp, tanh or division",
}


def _power_of_two(kernel: KernelSource) -> Change:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        factor = _factor(node.args[0].value)
        return cst.parse_expression(f"{kernel.ct}.exp2({factor} * {LOG2_E}, flush_to_zero=True)")

    return change


def _folded(kernel: KernelSource) -> Change:
    """exp(a - b) = exp2(a * log2 e - b * log2 e): a multiply-add for each element instead of two instructions.

    The products are rounded before the difference is taken, so the error grows with their size, and a value near the
    largest float32 becomes infinite.
    """

    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        difference = node.args[0].value
        assert isinstance(difference, cst.BinaryOperation)
        left, right = _factor(difference.left), _factor(difference.right)
        return cst.parse_expression(
            f"{kernel.ct}.exp2({left} * {LOG2_E} - {right} * {LOG2_E}, flush_to_zero=True)"
        )

    return change


def _approximate(kernel: KernelSource) -> Change:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, Division)
        return cst.parse_expression(_division(kernel, text(node.left), text(node.right)))

    return change


def _times_reciprocal(kernel: KernelSource) -> Change:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, Division)
        inverse = cst.parse_expression(_division(kernel, "1.0", text(node.right)))
        return node.with_changes(operator=_times(node), right=inverse)

    return change


def _times_rsqrt(kernel: KernelSource) -> Change:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, Division)
        assert isinstance(node.right, cst.Call)
        inverse = cst.parse_expression(f"{kernel.ct}.rsqrt({text(node.right.args[0].value)}, flush_to_zero=True)")
        one = isinstance(node.left, cst.Integer | cst.Float) and node.left.value in ("1", "1.", "1.0")
        return inverse if one else node.with_changes(operator=_times(node), right=inverse)

    return change


def _division(kernel: KernelSource, left: str, right: str) -> str:
    return f"{kernel.ct}.truediv({left}, {right}, rounding_mode={kernel.ct}.RoundingMode.APPROX, flush_to_zero=True)"


def _times(node: Division) -> cst.Multiply:
    before, after = node.operator.whitespace_before, node.operator.whitespace_after
    return cst.Multiply(whitespace_before=before, whitespace_after=after)


def _factor(node: cst.BaseExpression) -> str:
    """The code of an expression as a factor: in parentheses unless it binds at least as tightly as `*`."""
    tight = cst.Name | cst.Call | cst.Attribute | cst.Subscript | cst.Integer | cst.Float
    return text(node) if isinstance(node, tight) else f"({text(node)})"


def _is_difference(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Subtract)


def _quantizes(kernel: KernelSource) -> bool:
    """Whether the kernel rounds: it calls floor or ceil, or casts to an integer or 8-bit type."""
    casts = [positional(call)[1:2] for call in kernel.calls_of("astype")]
    dtypes = [kernel.operation(given[0]) or "" for given in casts if given]
    return bool(kernel.calls_of("floor", "ceil")) or any(name.startswith(("int", "uint", "float8")) for name in dtypes)
