"""The rewrites of H, one function each: an expression on certainly float32 tiles, and what takes its place.

Every rewrite gets the original nodes, whose kinds are known, and the updated ones, whose parts may have been rewritten.
`flush_to_zero` and approximate rounding exist for float32 alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import libcst as cst

from kdiag.executors.edits.arithmetic.float32_kinds import Kind, combined, is_tile
from kdiag.executors.edits.arithmetic.float32_values import Kinds
from kdiag.executors.edits.syntax.kernel_source import TileNames, keyword, set_keyword

LOG2_E = "1.4426950408889634"


@dataclass(frozen=True, eq=False)
class Math:
    """What the rewrites know: the kinds of the kernel's expressions and how the file names cuda.tile (`tile`)."""

    kinds: Kinds
    names: TileNames
    tile: str

    def member(self, node: cst.CSTNode) -> str | None:
        """The cuda.tile function that a node calls."""
        return self.names.resolve(node.func) if isinstance(node, cst.Call) else None

    def kind(self, node: cst.BaseExpression) -> Kind | None:
        """The kind of an original expression."""
        return self.kinds.get(node)

    def call(self, member: str, *arguments: cst.BaseExpression) -> cst.Call:
        """`ct.member(arguments, flush_to_zero=True)`."""
        made = cst.Call(cst.parse_expression(f"{self.tile}.{member}"), [cst.Arg(bare(a)) for a in arguments])
        return set_keyword(made, "flush_to_zero", "True")

    def approximate(self, call: cst.Call) -> cst.Call:
        """The call with approximate rounding."""
        return set_keyword(call, "rounding_mode", f"{self.tile}.RoundingMode.APPROX")

    def quotient(self, left: cst.BaseExpression, right: cst.BaseExpression) -> cst.Call:
        """An approximate division."""
        made = cst.Call(
            cst.parse_expression(f"{self.tile}.truediv"), [cst.Arg(bare(left)), cst.Arg(bare(right))]
        )
        return set_keyword(self.approximate(made), "flush_to_zero", "True")


@dataclass(frozen=True, eq=False)
class Division:
    """`left / right`, before the edit and with its parts already edited."""

    original: tuple[cst.BaseExpression, cst.BaseExpression]
    updated: tuple[cst.BaseExpression, cst.BaseExpression]


@dataclass(frozen=True, eq=False)
class Factor:
    """A division becomes a product with this factor."""

    value: cst.BaseExpression


DivisionRewrite = Callable[[Math, Division], cst.BaseExpression | Factor | None]
CallRewrite = Callable[[Math, cst.Call, cst.Call], cst.BaseExpression | None]


def exp2(math: Math, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`ct.exp(x)` as `ct.exp2(x * log2(e), flush_to_zero=True)`; an exp2 gets the flag."""
    if not is_tile(math.kind(original)) or len(original.args) != 1:
        return None
    if math.member(original) == "exp2":
        return set_keyword(updated, "flush_to_zero", "True")
    power = cst.BinaryOperation(_as_factor(updated.args[0].value), cst.Multiply(), cst.Float(LOG2_E))
    return set_keyword(
        updated.with_changes(
            func=cst.parse_expression(f"{math.tile}.exp2"), args=[updated.args[0].with_changes(value=power)]
        ),
        "flush_to_zero",
        "True",
    )


def tanh(math: Math, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`ct.tanh(x)` with approximate rounding."""
    return math.approximate(updated) if is_tile(math.kind(original)) and len(original.args) == 1 else None


def approximate_truediv(math: Math, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`ct.truediv(a, b)` with approximate rounding and flush to zero."""
    if not is_tile(math.kind(original)) or keyword(original, "rounding_mode") is not None:
        return None
    return set_keyword(math.approximate(updated), "flush_to_zero", "True")


def approximate_division(math: Math, division: Division) -> cst.BaseExpression | Factor | None:
    """`a / b` as an approximate `ct.truediv`."""
    return math.quotient(*division.updated) if is_tile(_result(math, division)) else None


def reciprocal_root(math: Math, division: Division) -> cst.BaseExpression | Factor | None:
    """`x / ct.sqrt(y)` as `x * ct.rsqrt(y)`, and `1 / ct.sqrt(y)` as `ct.rsqrt(y)`."""
    (left, right), (_, updated) = division.original, division.updated
    if math.member(right) != "sqrt" or not isinstance(updated, cst.Call) or len(updated.args) != 1:
        return None
    if not is_tile(math.kind(right)) or not is_tile(_result(math, division)):
        return None
    root = math.call("rsqrt", updated.args[0].value)
    one = isinstance(left, cst.Integer | cst.Float) and left.evaluated_value == 1
    return root if one else Factor(root)


def row_reciprocal(math: Math, division: Division) -> cst.BaseExpression | Factor | None:
    """A tile over a value of its row as the tile times that value's reciprocal: one division a row."""
    left, right = division.original
    if math.kind(left) is not Kind.TILE or math.kind(right) is not Kind.ROW:
        return None
    return Factor(math.quotient(cst.Float("1.0"), division.updated[1]))


def bare(expression: cst.BaseExpression) -> cst.BaseExpression:
    """The expression without its outer parentheses, unless they hold a line break."""
    outer = expression.lpar[0].whitespace_after if expression.lpar else None
    if not isinstance(outer, cst.SimpleWhitespace):
        return expression
    return expression.with_changes(lpar=expression.lpar[1:], rpar=expression.rpar[:-1])


def _result(math: Math, division: Division) -> Kind | None:
    left, right = division.original
    return combined(math.kind(left), math.kind(right))


def _as_factor(expression: cst.BaseExpression) -> cst.BaseExpression:
    """In parentheses where a multiplication behind it would bind stronger."""
    strong = isinstance(expression, cst.BinaryOperation) and isinstance(
        expression.operator, cst.Multiply | cst.Divide | cst.Power
    )
    simple = isinstance(expression, cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.UnaryOperation)
    if strong or simple or expression.lpar:
        return expression
    return expression.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
