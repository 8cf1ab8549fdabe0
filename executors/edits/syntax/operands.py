"""Parentheses around an operand, where it needs them."""

import libcst as cst


def operand(text: str) -> str:
    """The text, in parentheses unless it is a name, a number, a call or the like, or stands in some already."""
    return text if _is_whole(cst.parse_expression(text)) else f"({text})"


def as_operand(expression: cst.BaseExpression) -> cst.BaseExpression:
    """The same for an expression."""
    return expression if _is_whole(expression) else in_parentheses(expression)


def in_parentheses(expression: cst.BaseExpression) -> cst.BaseExpression:
    return expression.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _is_whole(expression: cst.BaseExpression) -> bool:
    simple = isinstance(expression, cst.Name | cst.Integer | cst.Call | cst.Attribute | cst.Subscript)
    return simple or bool(expression.lpar)
