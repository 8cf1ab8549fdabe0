"""Rewrites nodes of a parsed file where one changed node may lie inside another: inner ones are changed first."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import libcst as cst

Changed = cst.CSTNode | cst.FlattenSentinel[cst.CSTNode] | cst.RemovalSentinel
Change = Callable[[cst.CSTNode], Changed]


def rewrite(root: cst.CSTNode, changes: Mapping[cst.CSTNode, Change]) -> cst.CSTNode:
    """The tree with each of these nodes handed to its change, with what is inside changed already."""
    return cast("cst.CSTNode", root.visit(_Changer(changes)))


def to(node: cst.CSTNode) -> Change:
    """The change that puts a node in place of whatever is there."""
    return lambda _: node


def before(lines: Sequence[str]) -> Change:
    """The change that puts statements in front of one; what stands above it (comments, empty lines) stays above."""

    def change(updated: cst.CSTNode) -> Changed:
        first, *rest = (statement(line) for line in lines)
        above = getattr(updated, "leading_lines", ())
        first = first.with_changes(leading_lines=above)
        return cst.FlattenSentinel([first, *rest, updated.with_changes(leading_lines=())])

    return change


def statement(line: str) -> cst.SimpleStatementLine:
    """A simple statement from its text."""
    return cst.ensure_type(cst.parse_statement(line), cst.SimpleStatementLine)


def appended(node: cst.CSTNode, value: str) -> cst.Tuple:
    """A tuple with one more element at its end, laid out like the others."""
    values = cst.ensure_type(node, cst.Tuple)
    *front, last = values.elements
    gap = front[-1].comma if front else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    between = gap if isinstance(gap, cst.Comma) else cst.Comma()
    closing = last.comma
    if isinstance(closing, cst.Comma) and isinstance(closing.whitespace_after, cst.SimpleWhitespace):
        closing = cst.MaybeSentinel.DEFAULT if not front else closing
    if isinstance(closing, cst.Comma) and isinstance(closing.whitespace_after, cst.ParenthesizedWhitespace):
        gap_after = between.whitespace_after
        if isinstance(gap_after, cst.ParenthesizedWhitespace):
            # A comment behind the last element stays behind it.
            between = between.with_changes(
                whitespace_after=gap_after.with_changes(first_line=closing.whitespace_after.first_line, empty_lines=[])
            )
            plain = cst.TrailingWhitespace(whitespace=cst.SimpleWhitespace(""))
            closing = closing.with_changes(whitespace_after=closing.whitespace_after.with_changes(first_line=plain))
    elif isinstance(between.whitespace_after, cst.ParenthesizedWhitespace):
        plain = cst.TrailingWhitespace(whitespace=cst.SimpleWhitespace(""))
        between = between.with_changes(
            whitespace_after=between.whitespace_after.with_changes(first_line=plain, empty_lines=[])
        )
    added = cst.Element(cst.parse_expression(value), comma=closing)
    return values.with_changes(elements=[*front, last.with_changes(comma=between), added])


class _Changer(cst.CSTTransformer):
    def __init__(self, changes: Mapping[cst.CSTNode, Change]) -> None:
        super().__init__()
        self._changes = changes

    def on_leave(  # type: ignore[override] # a statement may become several
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> Changed:
        change = self._changes.get(original_node)
        return updated_node if change is None else change(updated_node)
