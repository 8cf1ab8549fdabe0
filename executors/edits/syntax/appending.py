"""One more item at the end of a parameter list or a tuple, laid out like the items before it."""

from collections.abc import Sequence
from typing import TypeVar

import libcst as cst

Item = TypeVar("Item", cst.Param, cst.Element, cst.Arg)
SPACE = cst.SimpleWhitespace(" ")


def with_parameter(node: cst.CSTNode, name: str, kind: str) -> cst.Parameters:
    """A function's parameters with `name: kind` behind the plain ones."""
    parameters = cst.ensure_type(node, cst.Parameters)
    new = cst.Param(cst.Name(name), cst.Annotation(cst.parse_expression(kind)), star="")
    return parameters.with_changes(params=appended(parameters.params, new))


def with_element(node: cst.CSTNode, value: str) -> cst.Tuple:
    passed = cst.ensure_type(node, cst.Tuple)
    elements = [each for each in passed.elements if isinstance(each, cst.Element)]
    opening = passed.lpar[0].whitespace_after if passed.lpar else SPACE
    *front, last, new = appended(elements, cst.Element(cst.parse_expression(value)), opening)
    brackets = list(passed.rpar)
    if isinstance(last.comma, cst.Comma) and brackets:
        between, closing = _comment_kept(last.comma.whitespace_after, brackets[0].whitespace_before)
        last = last.with_changes(comma=last.comma.with_changes(whitespace_after=between))
        brackets[0] = brackets[0].with_changes(whitespace_before=closing)
    return passed.with_changes(elements=[*front, last, new], rpar=brackets)


def appended(items: Sequence[Item], new: Item, opening: cst.BaseParenthesizableWhitespace = SPACE) -> list[Item]:
    """The items and the new one. `opening` is the white space after the opening bracket. A comment stays with its item."""
    *front, last = items
    gap = front[-1].comma if front else None
    between = gap.whitespace_after if isinstance(gap, cst.Comma) else opening
    between = _plain(between) if isinstance(between, cst.ParenthesizedWhitespace) else SPACE
    comma = last.comma
    if isinstance(comma, cst.Comma):
        between, after = _comment_kept(between, comma.whitespace_after)
        if front or isinstance(after, cst.ParenthesizedWhitespace):
            new = new.with_changes(comma=comma.with_changes(whitespace_after=after))
    elif not isinstance(last, cst.Element):
        own = "whitespace_after_param" if isinstance(last, cst.Param) else "whitespace_after_arg"
        between, closing = _comment_kept(between, getattr(last, own))
        new = new.with_changes(**{own: closing})
        last = last.with_changes(**{own: cst.SimpleWhitespace("")})
    return [*front, last.with_changes(comma=cst.Comma(whitespace_after=between)), new]


def _comment_kept(
    between: cst.BaseParenthesizableWhitespace, closing: cst.BaseParenthesizableWhitespace
) -> tuple[cst.BaseParenthesizableWhitespace, cst.BaseParenthesizableWhitespace]:
    """A comment that ended the last line moves from the closing bracket to the line break before the new item."""
    if isinstance(between, cst.ParenthesizedWhitespace) and isinstance(closing, cst.ParenthesizedWhitespace):
        return between.with_changes(first_line=closing.first_line), _plain_line(closing)
    return between, closing


def _plain(between: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    """A line break without the comment and the empty lines that it holds."""
    return _plain_line(between).with_changes(empty_lines=[])


def _plain_line(between: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    line = between.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
    return between.with_changes(first_line=line)
