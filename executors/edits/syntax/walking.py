"""Finds the nodes of one kind below a node without walking the tree again each time.

LibCST lists a node's children by visiting it, which is slow, and edits ask for nodes hundreds of times a file. A module
is written once, which tells its text and what is where: its nodes are numbered in the order of the text, so that those
below a node have consecutive numbers.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple, TypeVar, cast

import libcst as cst
from libcst._nodes.internal import CodegenState

N = TypeVar("N", bound=cst.CSTNode)
Kind = type[N] | tuple[type[N], ...]
MOST_TREES = 8


class Position(NamedTuple):
    """A place in a file: a line, counted from 1, and a column, counted from 0."""

    line: int
    column: int


class Range(NamedTuple):
    """Where a node begins and ends, without the white space around it, as LibCST's PositionProvider says."""

    start: Position
    end: Position


class _Tree(CodegenState):
    """A module's nodes in the order of the text. A node that stands in it twice has no number."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.nodes: list[cst.CSTNode] = []
        self.spans: dict[int, tuple[int, int] | None] = {}
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.positions: dict[cst.CSTNode, Range] = {}
        self._types: dict[type, list[int]] = defaultdict(list)
        self._kinds: dict[Kind[cst.CSTNode], list[int]] = {}
        self._open: list[tuple[int, Position]] = []
        self._here = Position(1, 0)
        module._codegen(self)
        self.text = "".join(self.tokens)

    def span(self, node: cst.CSTNode) -> tuple[int, int] | None:
        """The numbers of a node and of what is below it: from the first to before the second."""
        found = self.spans.get(id(node))
        return None if found is None or self.nodes[found[0]] is not node else found

    def of_kind(self, kind: Kind[cst.CSTNode], start: int, end: int) -> Iterator[cst.CSTNode]:
        """The nodes of a kind among these numbers."""
        if (numbers := self._kinds.get(kind)) is None:
            own = (numbers for each, numbers in self._types.items() if issubclass(each, kind))
            numbers = self._kinds[kind] = sorted(chain.from_iterable(own))
        return (self.nodes[number] for number in numbers[bisect_left(numbers, start) : bisect_left(numbers, end)])

    # What LibCST calls while it writes.

    def before_codegen(self, node: cst.CSTNode) -> None:
        number = len(self.nodes)
        if self._open:
            self.parents[node] = self.nodes[self._open[-1][0]]
        self._open.append((number, self._here))
        self.nodes.append(node)
        self._types[type(node)].append(number)

    def after_codegen(self, node: cst.CSTNode) -> None:
        number, start = self._open.pop()
        self.spans[id(node)] = None if id(node) in self.spans else (number, len(self.nodes))
        self.positions.setdefault(node, Range(start, self._here))

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        line, column = self._here
        if "\n" in value or "\r" in value:
            lines = value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            self._here = Position(line + len(lines) - 1, len(lines[-1]))
        else:
            self._here = Position(line, column + len(value))

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        start = self._here
        yield
        begin = start if start_node is None else self.positions[start_node].start
        self.positions[node] = Range(begin, self._here if end_node is None else self.positions[end_node].end)


class _Latest:
    """The latest trees, which hold their nodes, whose ids stay theirs. Replaced whole, as several threads walk."""

    def __init__(self) -> None:
        self.trees: tuple[_Tree, ...] = ()

    def asked(self, tree: _Tree) -> _Tree:
        """A tree that was asked for is the last to be forgotten. Another of the same text is equal, and holds other nodes."""
        if not self.trees or self.trees[-1] is not tree:
            self.trees = (*(each for each in self.trees if each is not tree), tree)[-MOST_TREES:]
        return tree


_latest = _Latest()


def parents(module: cst.Module) -> Mapping[cst.CSTNode, cst.CSTNode]:
    """The node that each node of a module is a child of."""
    return _tree(module).parents


def positions(module: cst.Module) -> Mapping[cst.CSTNode, Range]:
    """Where each node of a module begins and ends."""
    return _tree(module).positions


def text(module: cst.Module) -> str:
    """The text of a module."""
    return _tree(module).text


def below(root: cst.CSTNode, kind: Kind[N]) -> Iterator[N]:
    """All nodes of one kind, or of several, below a node, itself included, in the order of the text."""
    for tree in reversed(_latest.trees):
        span = tree.span(root)
        if span is not None:
            return cast(Iterator[N], _latest.asked(tree).of_kind(kind, *span))
    if isinstance(root, cst.Module):
        return cast(Iterator[N], _tree(root).of_kind(kind, 0, len(_tree(root).nodes)))
    return _walked(root, kind)


def _tree(module: cst.Module) -> _Tree:
    """The module's tree, walked now if it is not among the latest."""
    known = next((tree for tree in _latest.trees if tree.nodes[0] is module), None)
    return _latest.asked(known or _Tree(module))


def _walked(root: cst.CSTNode, kind: Kind[N]) -> Iterator[N]:
    """The same for a node that is in no module, such as one that an edit has made."""
    if isinstance(root, kind):
        yield root
    for child in root.children:
        yield from _walked(child, kind)
