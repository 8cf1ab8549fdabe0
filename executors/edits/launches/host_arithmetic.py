"""How host code and kernels write the numbers that a grid is made of."""

import libcst as cst

from ..syntax.kernel_source import argument, dotted, last_name
from ..syntax.kernel_view import code

SIGNS: dict[type[cst.BaseBinaryOp], str] = {cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.FloorDivide: "//"}


def rounded_up(expression: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The operands of a division that rounds up: `cdiv(a, b)`, `ceil(a / b)`, `(a + b - 1) // b`, `-(a // -b)`.

    Sizes are below 2**31, so a float64 quotient that is no integer is never rounded to one.
    """
    match expression:
        case cst.Call() if last_name(expression.func) in ("cdiv", "ceil_div", "div_up"):
            one, other = argument(expression, 0, "x"), argument(expression, 1, "y")
            return None if one is None or other is None else (one, other)
        case cst.Call(args=[cst.Arg(value=cst.BinaryOperation(left=a, operator=cst.Divide(), right=b))]) if dotted(
            expression.func
        ) in ("math.ceil", "ceil"):
            return a, b
        case cst.UnaryOperation(
            operator=cst.Minus(),
            expression=cst.BinaryOperation(
                left=a, operator=cst.FloorDivide(), right=cst.UnaryOperation(operator=cst.Minus(), expression=b)
            ),
        ):
            return a, b
        case cst.BinaryOperation(
            left=cst.BinaryOperation(
                left=cst.BinaryOperation(left=a, operator=cst.Add(), right=c),
                operator=cst.Subtract(),
                right=cst.Integer(value="1"),
            ),
            operator=cst.FloorDivide(),
            right=b,
        ) if code(b) == code(c):
            return a, b
    return None
