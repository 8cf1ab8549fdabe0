"""Padding of gathers (a value) and of tile loads (a mode), translated without changing what is read."""

import math

import libcst as cst

from ..syntax.kernel_source import dotted

VALUE_OF_MODE = {
    "UNDETERMINED": None,
    "ZERO": None,
    "NEG_ZERO": "-0.0",
    "NAN": 'float("nan")',
    "POS_INF": 'float("inf")',
    "NEG_INF": '-float("inf")',
}
"""A gather's `padding_value` for each mode of a load; None is the gather's default, zero."""

_INFINITE = {"math.inf", "np.inf", "numpy.inf", "torch.inf"}
_NAN = {"math.nan", "np.nan", "numpy.nan", "torch.nan"}


def mode_of_value(expression: cst.BaseExpression | None) -> str | None:
    """The mode that pads with exactly this value; None when there is none or the value is not written out."""
    value = 0 if expression is None else number(expression)
    if value is None or (math.isfinite(value) and value != 0):
        return None
    negative = math.copysign(1.0, value) < 0
    if math.isnan(value):
        return "NAN"
    if value == 0:
        return "NEG_ZERO" if negative else "ZERO"
    return "NEG_INF" if negative else "POS_INF"


def number(expression: cst.BaseExpression) -> float | None:
    """The value of a number written out: a literal, `float("...")`, `math.inf` and the like, each with a sign."""
    match expression:
        case cst.Integer() | cst.Float():
            return expression.evaluated_value
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            value = number(inner)
            return None if value is None else -value
        case cst.Call(func=cst.Name(value="float"), args=[cst.Arg(value=cst.SimpleString() as text)]):
            return _parsed(text.evaluated_value)
    name = dotted(expression)
    if name in _INFINITE:
        return math.inf
    return math.nan if name in _NAN else None


def _parsed(text: str | bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
