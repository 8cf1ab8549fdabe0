"""Applies the rewrites of one fast-math variant to a kernel, from the inside out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from kdiag.executors.edits.arithmetic.fast_math_rewrites import (
    CallRewrite,
    Division,
    DivisionRewrite,
    Factor,
    Math,
)


@dataclass(frozen=True)
class Recipe:
    """The rewrites of one variant; of the divisions the first that fits is taken. `what` names them in a refusal."""

    what: str
    calls: Mapping[str, CallRewrite]
    divisions: tuple[DivisionRewrite, ...] = ()


class Rewriter(m.MatcherDecoratableTransformer):
    """`changed` holds the original nodes that were rewritten; only expressions of the kernel have a known kind."""

    def __init__(self, math: Math, recipe: Recipe) -> None:
        super().__init__()
        self.math = math
        self.changed: list[cst.CSTNode] = []
        self._recipe = recipe

    @m.leave(m.Call())
    def call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """A call of cuda.tile."""
        rewrite = self._recipe.calls.get(self.math.member(original_node) or "")
        new = None if rewrite is None else rewrite(self.math, original_node, updated_node)
        if new is not None:
            self.changed.append(original_node)
        return new or updated_node

    @m.leave(m.BinaryOperation(operator=m.Divide()))
    def quotient(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        """`x / y` as `x * factor` or as a call."""
        sign = updated_node.operator
        assert isinstance(sign, cst.Divide)
        before, after = sign.whitespace_before, sign.whitespace_after
        left, right = updated_node.left, updated_node.right
        new = self._divide(Division((original_node.left, original_node.right), (left, right)))
        if isinstance(new, cst.Call) and _holds_comment(before, after):
            new = None
        if new is not None:
            self.changed.append(original_node)
        if isinstance(new, Factor):
            return updated_node.with_changes(operator=cst.Multiply(before, after), right=new.value)
        return new or updated_node

    @m.leave(m.AugAssign(operator=m.DivideAssign()))
    def assignment(self, original_node: cst.AugAssign, updated_node: cst.AugAssign) -> cst.BaseSmallStatement:
        """`x /= y` as `x *= factor`, or as `x = quotient` where x is a name."""
        target, sign = updated_node.target, updated_node.operator
        assert isinstance(sign, cst.DivideAssign)
        division = Division((original_node.target, original_node.value), (target, updated_node.value))
        new = self._divide(division)
        if new is None or not isinstance(target, cst.Name):
            return updated_node
        self.changed.append(original_node)
        if isinstance(new, Factor):
            times = cst.MultiplyAssign(sign.whitespace_before, sign.whitespace_after)
            return updated_node.with_changes(operator=times, value=new.value)
        return cst.Assign([cst.AssignTarget(target)], new, semicolon=updated_node.semicolon)

    def _divide(self, division: Division) -> cst.BaseExpression | Factor | None:
        results = (rewrite(self.math, division) for rewrite in self._recipe.divisions)
        return next((result for result in results if result is not None), None)


def _holds_comment(*gaps: cst.BaseParenthesizableWhitespace) -> bool:
    """Whether a comment stands beside the operator; it would be lost with it, so such a division stays."""
    lines = [gap for gap in gaps if isinstance(gap, cst.ParenthesizedWhitespace)]
    return any(gap.first_line.comment or any(line.comment for line in gap.empty_lines) for gap in lines)
