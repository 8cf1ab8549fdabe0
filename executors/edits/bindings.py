"""Which assignment a name in a kernel stands for at a given place, from the syntax alone.

The answer is either certain or None: a binding counts when it dominates the use (it stands before it in the same block
or an enclosing one) and no other binding of the name can run in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import CodePosition, CodeRange


@dataclass(frozen=True, eq=False)
class Binding:
    """One place where a name gets its value: `value` of an assignment, or the loop whose target it is, or neither."""

    name: str
    node: cst.CSTNode
    block: cst.CSTNode
    value: cst.BaseExpression | None = None
    loop: cst.For | None = None


class Bindings:
    """The bindings of one function. `parents` and `positions` are LibCST metadata of the module around it."""

    def __init__(
        self,
        function: cst.FunctionDef,
        parents: Mapping[cst.CSTNode, cst.CSTNode],
        positions: Mapping[cst.CSTNode, CodeRange],
    ) -> None:
        self._parents = parents
        self._positions = positions
        self._by_name: dict[str, list[Binding]] = {}
        collector = _Collector(parents)
        function.visit(collector)
        for binding in collector.found:
            self._by_name.setdefault(binding.name, []).append(binding)

    def reaching(self, name: str, use: cst.CSTNode) -> Binding | None:
        """The one binding of `name` that certainly holds at `use`; None for a global name or a doubtful case."""
        above = list(self._ancestors(use))
        everyone = self._by_name.get(name, [])
        reaching = [
            b
            for b in everyone
            if b.block in above
            and self._starts(b.node) < self._starts(use)
            and (b.loop is not None or b.node not in above)
        ]
        if not reaching:
            return None
        last = max(reaching, key=lambda b: (self._starts(b.node).line, self._starts(b.node).column))
        rivals = [b for b in everyone if b not in reaching]
        return None if any(self._interferes(rival, last, use, above) for rival in rivals) else last

    def is_global(self, name: str) -> bool:
        """Whether the function never binds the name."""
        return name not in self._by_name

    def same(self, expression: cst.CSTNode, here: cst.CSTNode, there: cst.CSTNode) -> bool:
        """Whether every name in the expression certainly stands for the same value at both places."""
        return all(
            self.is_global(name)
            or (self.reaching(name, here) is not None and self.reaching(name, here) is self.reaching(name, there))
            for name in names_in(expression)
        )

    def _interferes(
        self, rival: Binding, chosen: Binding, use: cst.CSTNode, above: list[cst.CSTNode]
    ) -> bool:
        """Whether the rival may run after the chosen binding and before the use."""
        at = self._starts(rival.node)
        own_statement = rival.loop is None and rival.node in above
        if not own_statement and self._starts(chosen.node) < at < self._starts(use):
            return True
        around_chosen = {*self._ancestors(chosen.node), chosen.loop}
        loops = [n for n in above if isinstance(n, cst.For | cst.While) and n not in around_chosen]
        return any(loop in self._ancestors(rival.node) for loop in loops)

    def _ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        parent = self._parents.get(node)
        while parent is not None:
            yield parent
            parent = self._parents.get(parent)

    def _starts(self, node: cst.CSTNode) -> _At:
        return _At.of(self._positions[node].start)


@dataclass(frozen=True, order=True)
class _At:
    line: int
    column: int

    @staticmethod
    def of(position: CodePosition) -> _At:
        return _At(position.line, position.column)


def names_in(expression: cst.CSTNode) -> set[str]:
    """The variable names that an expression reads; attributes and keywords are none."""
    found: set[str] = set()

    class Reader(cst.CSTVisitor):
        def visit_Name(self, node: cst.Name) -> None:
            found.add(node.value)

        def visit_Attribute(self, node: cst.Attribute) -> bool:
            node.value.visit(self)
            return False

        def visit_Arg(self, node: cst.Arg) -> bool:
            node.value.visit(self)
            return False

    expression.visit(Reader())
    return found


class _Collector(cst.CSTVisitor):
    """Finds every binding in a function."""

    def __init__(self, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> None:
        self.found: list[Binding] = []
        self._parents = parents

    def _block(self, node: cst.CSTNode) -> cst.CSTNode:
        while not isinstance(node, cst.BaseSuite):
            node = self._parents[node]
        return node

    def _bind(
        self, target: cst.BaseExpression, node: cst.CSTNode, value: cst.BaseExpression | None = None
    ) -> None:
        if isinstance(target, cst.Name):
            self.found.append(Binding(target.value, node, self._block(node), value))
        elif isinstance(target, cst.Tuple | cst.List):
            values: list[cst.BaseExpression | None] = [None] * len(target.elements)
            if isinstance(value, cst.Tuple) and len(value.elements) == len(target.elements):
                values = [element.value for element in value.elements]
            for element, part in zip(target.elements, values, strict=True):
                self._bind(element.value, node, part)

    def visit_Param(self, node: cst.Param) -> None:
        parent = self._parents[self._parents[node]]
        if isinstance(parent, cst.FunctionDef):
            self.found.append(Binding(node.name.value, node, parent.body))

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            self._bind(target.target, node, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._bind(node.target, node, node.value)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._bind(node.target, node)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._bind(node.target, node)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._bind(node.name, node)

    def visit_For(self, node: cst.For) -> None:
        if isinstance(node.target, cst.Name):
            self.found.append(Binding(node.target.value, node, node.body, loop=node))
        else:
            self._bind(node.target, node)
