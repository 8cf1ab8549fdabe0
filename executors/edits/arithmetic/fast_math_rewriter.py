"""Applies the rewrites of one fast-math variant to a kernel, from the inside out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

import libcst as cst

from ..syntax.kernel_source import nodes
from ..syntax.rewriting import Change, rewrite
from .fast_math_knowledge import Math, bare
from .fast_math_rewrites import CallRewrite, Division, DivisionRewrite, Factor, is_minus_half
from .float32_kinds import combined, is_tile


@dataclass(frozen=True)
class Recipe:
    """The rewrites of one variant; of the divisions the first that fits is taken. `what` names them in a refusal."""

    what: str
    calls: Mapping[str, CallRewrite]
    divisions: tuple[DivisionRewrite, ...] = ()


class Rewriter:
    """Rewrites one function. `changed` holds the original nodes that were rewritten, `guarded` those behind a test.

    `kept` are divisions whose rounding decides a comparison, each with the place that decides.
    """

    def __init__(self, math: Math, recipe: Recipe) -> None:
        self.math = math
        self.changed: list[cst.CSTNode] = []
        self.guarded: set[cst.CSTNode] = set()
        self.kept: dict[cst.CSTNode, cst.CSTNode] = {}
        self._recipe = recipe

    def rewritten(self) -> cst.FunctionDef:
        """The function as it becomes."""
        return rewrite(self.math.function, cast("Mapping[cst.CSTNode, Change]", dict(self._changes())))

    def _changes(self) -> Iterator[tuple[cst.CSTNode, object]]:
        """What may become of each node that a recipe can be for."""
        function = self.math.function
        yield from ((node, partial(self._call, node)) for node in nodes(function, cst.Call))
        for node in nodes(function, cst.BinaryOperation):
            if isinstance(node.operator, cst.Power | cst.Divide):
                yield node, partial(self._quotient if isinstance(node.operator, cst.Divide) else self._power, node)
        for assigned in nodes(function, cst.AugAssign):
            if isinstance(assigned.operator, cst.DivideAssign):
                yield assigned, partial(self._assignment, assigned)

    def _call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """A call of cuda.tile."""
        member = self.math.member(original_node) or ""
        rewrite = self._recipe.calls.get(member)
        if rewrite is None or self.math.guard(original_node) is None:
            return updated_node
        new = rewrite(self.math, original_node, updated_node)
        if new is None or (member == "truediv" and self._decides(original_node)):
            return updated_node
        return self._rewritten(original_node, updated_node, new)

    def _power(self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation) -> cst.BaseExpression:
        """`x ** -0.5` as a reciprocal root."""
        if "pow" not in self._recipe.calls or not is_minus_half(original_node.right):
            return updated_node
        if self.math.guard(original_node) is None:
            return updated_node
        return self._rewritten(original_node, updated_node, self.math.call("rsqrt", updated_node.left))

    def _quotient(self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation) -> cst.BaseExpression:
        """`x / y` as `x * factor` or as a call."""
        sign = updated_node.operator
        assert isinstance(sign, cst.Divide)
        if self.math.guard(original_node) is None:
            return updated_node
        before, after = sign.whitespace_before, sign.whitespace_after
        original = (original_node.left, original_node.right)
        new = self._divide(Division(original_node, original, (updated_node.left, updated_node.right)))
        if new is None or (isinstance(new, cst.Call) and _holds_comment(before, after)):
            return updated_node
        if isinstance(new, Factor):
            new = updated_node.with_changes(operator=cst.Multiply(before, after), right=new.value)
        return updated_node if self._decides(original_node) else self._rewritten(original_node, updated_node, new)

    def _assignment(self, original_node: cst.AugAssign, updated_node: cst.AugAssign) -> cst.BaseSmallStatement:
        """`x /= y` as `x *= factor`, or as `x = quotient` where x is a name."""
        target, sign = updated_node.target, updated_node.operator
        assert isinstance(sign, cst.DivideAssign)
        parts = (original_node.target, original_node.value)
        if not is_tile(combined(*map(self.math.kind, parts))) or not isinstance(target, cst.Name):
            return updated_node
        new = self._divide(Division(original_node, parts, (target, updated_node.value)))
        if new is None or self._decides(original_node):
            return updated_node
        self.changed.append(original_node)
        if isinstance(new, Factor):
            times = cst.MultiplyAssign(sign.whitespace_before, sign.whitespace_after)
            return updated_node.with_changes(operator=times, value=new.value)
        return cst.Assign([cst.AssignTarget(target)], new, semicolon=updated_node.semicolon)

    def _divide(self, division: Division) -> cst.BaseExpression | Factor | None:
        results = (rewrite(self.math, division) for rewrite in self._recipe.divisions)
        return next((result for result in results if result is not None), None)

    def _decides(self, division: cst.CSTNode) -> bool:
        deciding = self.math.decides(division)
        if deciding is not None:
            self.kept[division] = deciding
        return deciding is not None

    def _rewritten(
        self, original: cst.BaseExpression, updated: cst.BaseExpression, new: cst.BaseExpression
    ) -> cst.BaseExpression:
        """The new expression, or a choice between it and the old one by dtype; of nested ones the inner is chosen."""
        guard = self.math.guard(original)
        inner: list[cst.CSTNode] = [*nodes(original, cst.Call), *nodes(original, cst.BinaryOperation)]
        if guard and any(node in self.guarded for node in inner):
            return updated
        self.changed.append(original)
        if not guard:
            inside = updated.lpar[0].whitespace_after if updated.lpar else None
            spread = isinstance(inside, cst.ParenthesizedWhitespace) and not new.lpar
            return new.with_changes(lpar=updated.lpar, rpar=updated.rpar) if spread else new
        self.guarded.add(original)
        choice = cst.IfExp(cst.parse_expression(guard), bare(new), bare(updated))
        alone = isinstance(self.math.kernel.parents[original], cst.Assign | cst.Return | cst.Arg)
        if alone and not updated.lpar:
            return choice
        return choice.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _holds_comment(*gaps: cst.BaseParenthesizableWhitespace) -> bool:
    """Whether a comment stands beside the operator; it would be lost with it, so such a division stays."""
    lines = [gap for gap in gaps if isinstance(gap, cst.ParenthesizedWhitespace)]
    return any(gap.first_line.comment or any(line.comment for line in gap.empty_lines) for gap in lines)
