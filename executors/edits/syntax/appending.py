"""One more item at the end of a parameter list or a tuple, laid out like the items before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import libcst as cst

Item = TypeVar("Item", cst.Param, cst.Element)
SPACE = cst.SimpleWhitespace(" ")


def appended(
    items: Sequence[Item], new: Item, opening: cst.BaseParenthesizableWhitespace = SPACE
) -> list[Item]:
    """The items and the new one. `opening` is the white space after the opening bracket. A comment stays with its item."""
    *front, last = items
    gap = front[-1].comma if front else None
    between = gap.whitespace_after if isinstance(gap, cst.Comma) else opening
    between = _plain(between) if isinstance(between, cst.ParenthesizedWhitespace) else SPACE
    comma = last.comma
    if isinstance(comma, cst.Comma):
        after = comma.whitespace_after
        if isinstance(after, cst.ParenthesizedWhitespace):
            if isinstance(between, cst.ParenthesizedWhitespace):
                between, after = between.with_changes(first_line=after.first_line), _plain_line(after)
            new = new.with_changes(comma=comma.with_changes(whitespace_after=after))
        elif front:
            new = new.with_changes(comma=comma)
    elif isinstance(last, cst.Param) and isinstance(new, cst.Param):
        new = new.with_changes(whitespace_after_param=last.whitespace_after_param)
        last = last.with_changes(whitespace_after_param=cst.SimpleWhitespace(""))
    return [*front, last.with_changes(comma=cst.Comma(whitespace_after=between)), new]


def _plain(between: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    """A line break without the comment and the empty lines that it holds."""
    return _plain_line(between).with_changes(empty_lines=[])


def _plain_line(between: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    line = between.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
    return between.with_changes(first_line=line)
