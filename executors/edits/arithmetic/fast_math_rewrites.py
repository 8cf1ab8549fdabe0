"""The rewrites of H, one function each: an expression on float32 tiles, and what takes its place.

Every rewrite gets the original nodes, whose kinds are known, and the updated ones, whose parts may have been rewritten.
`flush_to_zero` and approximate rounding exist for float32 alone: what is not certain to be float32 gets them behind a
test of its dtype (see `Math.guard`), which cuTile evaluates when it traces the kernel.
"""

from collections.abc import Callable
from dataclasses import dataclass

import libcst as cst

from ..syntax.kernel_source import argument, holds, keyword
from ..syntax.operands import in_parentheses
from .fast_math_knowledge import Math
from .float32_kinds import Kind

LOG2_E = "1.4426950408889634"


@dataclass(frozen=True, eq=False)
class Division:
    """`left / right`, before the edit and with its parts already edited. `node` holds it in the file."""

    node: cst.CSTNode
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
    if len(original.args) != 1 + math.is_approximate(original):
        return None
    if math.member(original) == "exp2":
        return math.flushed(updated)
    power = cst.BinaryOperation(as_factor(updated.args[0].value), cst.Multiply(), cst.Float(LOG2_E))
    return _power_of_two(math, original, updated, power)


def folded_exp2(math: Math, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`ct.exp(a - b)` as `ct.exp2(a * log2(e) - b * log2(e))`, whose first product is one with the difference.

    Where a factor is a number, log2(e) goes into it, and that is then one number for all elements.
    """
    if math.member(original) != "exp" or len(original.args) != 1 + math.is_approximate(original):
        return exp2(math, original, updated)
    written = math.written(original.args[0].value, original)
    power = None if holds(written, cst.Call) else _folded(math, written)
    if power is None:
        return exp2(math, original, updated)
    return _power_of_two(math, original, updated, power)


def _folded(math: Math, argument: cst.BaseExpression) -> cst.BaseExpression | None:
    """The argument times log2(e), where that multiplies the parts of a difference or a number."""
    if not isinstance(argument, cst.BinaryOperation):
        return None
    left, right = argument.left, argument.right
    match argument.operator:
        case cst.Subtract() | cst.Add():
            first, second = (_folded(math, part) or _times_log2_e(part) for part in (left, right))
            return argument.with_changes(left=first, right=second)
        case cst.Multiply() if math.kind(right) is Kind.NUMBER:
            return argument.with_changes(right=in_parentheses(_times_log2_e(right)))
        case cst.Multiply() if math.kind(left) is Kind.NUMBER:
            return argument.with_changes(left=in_parentheses(_times_log2_e(left)))
    return None


def _times_log2_e(expression: cst.BaseExpression) -> cst.BinaryOperation:
    return cst.BinaryOperation(as_factor(expression), cst.Multiply(), cst.Float(LOG2_E))


def _power_of_two(math: Math, original: cst.Call, updated: cst.Call, power: cst.BaseExpression) -> cst.BaseExpression:
    """The call with this argument as an exp2; the layout around the argument stays where it was the only one."""
    args = [updated.args[0].with_changes(value=power)]
    if len(original.args) > 1:
        args = [args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
    return math.flushed(updated.with_changes(func=cst.parse_expression(f"{math.tile}.exp2"), args=args))


def tanh(math: Math, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`ct.tanh(x)` with approximate rounding."""
    return math.approximate(updated) if len(original.args) == 1 else None


def approximate_truediv(math: Math, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`ct.truediv(a, b)` with approximate rounding and flush to zero."""
    return None if keyword(original, "rounding_mode") is not None else math.flushed(math.approximate(updated))


def approximate_root(math: Math, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`ct.sqrt(x)` with approximate rounding and flush to zero, `ct.rsqrt(x)` with the latter."""
    if len(original.args) != 1:
        return None
    return math.flushed(math.approximate(updated) if math.member(original) == "sqrt" else updated)


def root_of_power(math: Math, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`ct.pow(x, -0.5)` as `ct.rsqrt(x)`."""
    if len(original.args) != 2 or not is_minus_half(original.args[1].value):
        return None
    return math.call("rsqrt", updated.args[0].value)


def approximate_division(math: Math, division: Division) -> cst.BaseExpression | Factor | None:
    """`a / b` as an approximate `ct.truediv`."""
    return math.quotient(*division.updated)


def reciprocal_root(math: Math, division: Division) -> cst.BaseExpression | Factor | None:
    """`x / ct.sqrt(y)` as `x * ct.rsqrt(y)`, and `1 / ct.sqrt(y)` as `ct.rsqrt(y)`."""
    left, right = division.original
    root = math.written(right, division.node)
    if math.member(root) != "sqrt" or not isinstance(root, cst.Call) or math.guard(right) != "":
        return None
    radicand = division.updated[1] if root is right else root
    square = argument(radicand, 0, "x") if isinstance(radicand, cst.Call) else None
    if square is None:
        return None
    made = math.call("rsqrt", square)
    one = isinstance(left, cst.Integer | cst.Float) and left.evaluated_value == 1
    return made if one else Factor(made)


def reciprocal(math: Math, division: Division) -> cst.BaseExpression | Factor | None:
    """A tile over a value of its row, or over a number, as the tile times the reciprocal: one division a row.

    The compiler takes the reciprocal out of a loop in which it does not change (compiled with tileiras 13.4).
    """
    left, right = division.original
    if math.kind(left) is Kind.TILE and math.kind(right) is Kind.ROW:
        return Factor(math.quotient(cst.Float("1.0"), division.updated[1]))
    if math.kind(left) in (Kind.TILE, Kind.ROW) and math.kind(right) is Kind.NUMBER:
        zero = isinstance(right, cst.Integer | cst.Float) and right.evaluated_value == 0
        inverse = cst.BinaryOperation(cst.Float("1.0"), cst.Divide(), as_divisor(division.updated[1]))
        return None if zero else Factor(in_parentheses(inverse))
    return None


def is_minus_half(expression: cst.BaseExpression) -> bool:
    """Whether it is -0.5, written as a literal."""
    match expression:
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Float() as number):
            return number.evaluated_value == 0.5
    return False


def as_factor(expression: cst.BaseExpression) -> cst.BaseExpression:
    """In parentheses where a multiplication behind it would bind stronger."""
    strong = isinstance(expression, cst.BinaryOperation) and isinstance(
        expression.operator, cst.Multiply | cst.Divide | cst.Power
    )
    return expression if strong or _is_simple(expression) else in_parentheses(expression)


def as_divisor(expression: cst.BaseExpression) -> cst.BaseExpression:
    """In parentheses unless it is one operand."""
    return expression if _is_simple(expression) else in_parentheses(expression)


def _is_simple(expression: cst.BaseExpression) -> bool:
    simple = cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.UnaryOperation | cst.BaseNumber
    return isinstance(expression, simple) or bool(expression.lpar)
