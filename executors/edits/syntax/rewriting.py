"""Rewrites nodes of a parsed file where one changed node may lie inside another: inner ones are changed first."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

import libcst as cst

from .walking import parents

Changed = cst.CSTNode | cst.FlattenSentinel[cst.CSTNode] | cst.RemovalSentinel
Change = Callable[[cst.CSTNode], Changed]


Node = TypeVar("Node", bound=cst.CSTNode)


def rewrite(root: Node, changes: Mapping[cst.CSTNode, Change]) -> Node:
    """The tree with each of these nodes handed to its change, with what is inside changed already."""
    return cast("Node", root.visit(_Changer(changes, _around(root, changes)))) if changes else root


def _around(root: cst.CSTNode, changes: Mapping[cst.CSTNode, Change]) -> set[cst.CSTNode] | None:
    """The nodes of a module that hold a changed one: LibCST copies what it visits. None for what is no module."""
    if not isinstance(root, cst.Module):
        return None
    above, found = parents(root), set[cst.CSTNode]()
    for changed in changes:
        node: cst.CSTNode | None = changed
        while node is not None and node not in found:
            found.add(node)
            node = above.get(node)
    return found


def to(new: Changed | None) -> Change:
    """The change that puts something in place of whatever is there, or nothing at all."""
    return lambda _: cst.RemovalSentinel.REMOVE if new is None else new


def with_before(added: Sequence[cst.CSTNode]) -> Change:
    """The change that puts nodes in front of one."""
    return lambda updated: cst.FlattenSentinel([*added, updated])


def before(lines: Sequence[str]) -> Change:
    """The change that puts statements in front of one; what stands above it (comments, empty lines) stays above."""

    def change(updated: cst.CSTNode) -> Changed:
        first, *rest = (statement(line) for line in lines)
        above = getattr(updated, "leading_lines", ())
        first = first.with_changes(leading_lines=above)
        return cst.FlattenSentinel([first, *rest, updated.with_changes(leading_lines=())])

    return change


def behind_docstring(function: cst.FunctionDef, first: cst.BaseStatement) -> list[cst.CSTNode]:
    """The statements of a function with one more in front of them."""
    body: list[cst.CSTNode] = [*function.body.body]
    body.insert(function.get_docstring() is not None, first)
    return body


def statement(line: str) -> cst.SimpleStatementLine:
    return cst.ensure_type(cst.parse_statement(line), cst.SimpleStatementLine)


class _Changer(cst.CSTTransformer):
    def __init__(self, changes: Mapping[cst.CSTNode, Change], around: set[cst.CSTNode] | None) -> None:
        super().__init__()
        self._changes, self._around = changes, around

    def on_visit(self, node: cst.CSTNode) -> bool:
        return self._around is None or node in self._around

    def on_leave(  # type: ignore[override] # a statement may become several
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> Changed:
        change = self._changes.get(original_node)
        return updated_node if change is None else change(updated_node)
