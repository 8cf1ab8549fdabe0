"""Finds the nodes of one kind below a node without walking the tree again each time.

LibCST lists a node's children by visiting it, which is slow, and edits ask for nodes hundreds of times a file. A module
is walked once: its nodes are numbered in the order of the text, so that those below a node have consecutive numbers.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from heapq import merge
from typing import TypeVar, cast

import libcst as cst

N = TypeVar("N", bound=cst.CSTNode)
MOST_TREES = 8


class _Tree:
    """A module's nodes in the order of the text. A node that stands in it twice has no number."""

    def __init__(self, module: cst.Module) -> None:
        self.nodes: list[cst.CSTNode] = []
        self.spans: dict[int, tuple[int, int] | None] = {}
        self.kinds: dict[type, list[int]] = defaultdict(list)
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._walk(module)

    def span(self, node: cst.CSTNode) -> tuple[int, int] | None:
        """The numbers of a node and of what is below it: from the first to before the second."""
        found = self.spans.get(id(node))
        return None if found is None or self.nodes[found[0]] is not node else found

    def of_kind(self, kind: type[cst.CSTNode], start: int, end: int) -> Iterator[cst.CSTNode]:
        """The nodes of a kind among these numbers."""
        chosen = [numbers for own, numbers in self.kinds.items() if issubclass(own, kind)]
        parts = [numbers[bisect_left(numbers, start) : bisect_left(numbers, end)] for numbers in chosen]
        return (self.nodes[number] for number in (parts[0] if len(parts) == 1 else merge(*parts)))

    def _walk(self, node: cst.CSTNode) -> None:
        number = len(self.nodes)
        self.nodes.append(node)
        self.kinds[type(node)].append(number)
        for child in node.children:
            self.parents[child] = node
            self._walk(child)
        again = id(node) in self.spans
        self.spans[id(node)] = None if again else (number, len(self.nodes))


class _Latest:
    """The latest trees, which hold their nodes, whose ids stay theirs. Replaced whole, as several threads walk."""

    def __init__(self) -> None:
        self.trees: tuple[_Tree, ...] = ()

    def asked(self, tree: _Tree) -> _Tree:
        """A tree that was asked for is the last to be forgotten."""
        if self.trees[-1:] != (tree,):
            self.trees = (*(each for each in self.trees if each is not tree), tree)[-MOST_TREES:]
        return tree


_latest = _Latest()


def parents(module: cst.Module) -> Mapping[cst.CSTNode, cst.CSTNode]:
    """The node that each node of a module is a child of."""
    return _tree(module).parents


def below(root: cst.CSTNode, kind: type[N]) -> Iterator[N]:
    """All nodes of one kind below a node, itself included, in the order of the text."""
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


def _walked(root: cst.CSTNode, kind: type[N]) -> Iterator[N]:
    """The same for a node that is in no module, such as one that an edit has made."""
    if isinstance(root, kind):
        yield root
    for child in root.children:
        yield from _walked(child, kind)
