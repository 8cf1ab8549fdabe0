"""Which assignment a name in a kernel stands for at a given place, from the syntax alone.

The answer is either certain or None: a binding counts when it dominates the use (it stands before it in the same block
or an enclosing one) and no other binding of the name can run in between.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from .kernel_source import KernelSource, nodes
from .walking import Position


@dataclass(frozen=True, eq=False)
class Binding:
    """One place where a name gets its value: `value` of an assignment, or the loop whose target it is, or neither."""

    name: str
    node: cst.CSTNode
    block: cst.CSTNode
    value: cst.BaseExpression | None = None
    loop: cst.For | None = None


class Bindings:
    """The bindings of one function of a file."""

    def __init__(self, function: cst.FunctionDef, read: KernelSource) -> None:
        self._read = read
        self._by_name: dict[str, list[Binding]] = {}
        for binding in _collect(function, read.parents):
            self._by_name.setdefault(binding.name, []).append(binding)

    def reaching(self, name: str, use: cst.CSTNode) -> Binding | None:
        """The one binding of `name` that certainly holds at `use`; None for a global name or a doubtful case."""
        above = list(self._read.above(use))
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
        last = max(reaching, key=lambda b: self._starts(b.node))
        rivals = [b for b in everyone if b not in reaching]
        return None if any(self._interferes(rival, last, use, above) for rival in rivals) else last

    def before_loops(self, name: str, use: cst.CSTNode) -> Binding | None:
        """The last binding before `use` where every other that may run in between stands in a loop of its own."""
        above = list(self._read.above(use))
        everyone = self._by_name.get(name, [])
        before = [
            b for b in everyone if b.block in above and b.node not in above and self._starts(b.node) < self._starts(use)
        ]
        if not before:
            return None
        last = max(before, key=lambda b: self._starts(b.node))
        around = {*self._read.above(last.node), last.node}
        rivals = [b for b in everyone if b not in before and self._interferes(b, last, use, above)]
        inner = [[n for n in self._read.above(b.node) if n not in around] for b in rivals]
        carried = all(any(isinstance(n, cst.For | cst.While) for n in nodes) for nodes in inner)
        return last if carried and not any(isinstance(n, cst.If) for nodes in inner for n in nodes) else None

    def is_global(self, name: str) -> bool:
        """Whether the function never binds the name."""
        return name not in self._by_name

    def is_bound_once(self, name: str) -> bool:
        return len(self._by_name.get(name, ())) == 1

    def same(self, expression: cst.CSTNode, here: cst.CSTNode, there: cst.CSTNode) -> bool:
        """Whether every name in the expression certainly stands for the same value at both places."""
        return all(
            self.is_global(name)
            or (self.reaching(name, here) is not None and self.reaching(name, here) is self.reaching(name, there))
            for name in names_in(expression)
        )

    def _interferes(self, rival: Binding, chosen: Binding, use: cst.CSTNode, above: list[cst.CSTNode]) -> bool:
        """Whether the rival may run after the chosen binding and before the use."""
        at = self._starts(rival.node)
        own_statement = rival.loop is None and rival.node in above
        if not own_statement and self._starts(chosen.node) < at < self._starts(use):
            return True
        around_chosen = {*self._read.above(chosen.node), chosen.loop}
        loops = [n for n in above if isinstance(n, cst.For | cst.While) and n not in around_chosen]
        return any(loop in self._read.above(rival.node) for loop in loops)

    def _starts(self, node: cst.CSTNode) -> Position:
        return self._read.positions[node].start


def name_nodes(node: cst.CSTNode) -> list[cst.Name]:
    """The variable names below a node, read or bound; attributes and keywords are none."""
    attributes = {n.attr for n in nodes(node, cst.Attribute)}
    keywords = {n.keyword for n in nodes(node, cst.Arg)}
    return [name for name in nodes(node, cst.Name) if name not in attributes and name not in keywords]


def bound_names(root: cst.CSTNode) -> list[cst.Name]:
    """The names that statements below a node give a value to, nested functions included."""
    targets: list[cst.CSTNode] = [node.target for node in nodes(root, cst.AssignTarget)]
    targets += [node.target for node in nodes(root, cst.AugAssign)]
    targets += [node.target for node in nodes(root, cst.AnnAssign)]
    targets += [node.target for node in nodes(root, cst.NamedExpr)]
    targets += [node.target for node in nodes(root, cst.For)]
    targets += [node.target for node in nodes(root, cst.CompFor)]
    targets += [node.name for node in nodes(root, cst.AsName)]
    targets += [node.name for node in nodes(root, cst.FunctionDef)]
    targets += [node.name for node in nodes(root, cst.ClassDef)]
    return [name for target in targets for name in name_nodes(target)]


def names_bound(root: cst.CSTNode) -> set[str]:
    """The same names as text."""
    return {name.value for name in bound_names(root)}


def names_in(expression: cst.CSTNode) -> set[str]:
    """The variable names that an expression uses."""
    return {name.value for name in name_nodes(expression)}


def _collect(function: cst.FunctionDef, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> Iterator[Binding]:
    """Every binding in the function, parameters first."""
    yield from (Binding(param.name.value, param, function.body) for param in nodes(function.params, cst.Param))
    for node in nodes(function.body, _BINDERS):
        block = node
        while not isinstance(block, cst.BaseSuite):
            block = parents[block]
        match node:
            case cst.Assign():
                for target in node.targets:
                    yield from _bind(target.target, node, block, node.value)
            case cst.AnnAssign():
                yield from _bind(node.target, node, block, node.value)
            case cst.For(target=cst.Name(value=name)):
                yield Binding(name, node, node.body, loop=node)
            case cst.AugAssign() | cst.NamedExpr() | cst.For():
                yield from _bind(node.target, node, block)


_BINDERS = (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For)


def _bind(
    target: cst.BaseExpression, node: cst.CSTNode, block: cst.CSTNode, value: cst.BaseExpression | None = None
) -> Iterator[Binding]:
    """The bindings of one assignment target; a tuple is taken apart where the value is a tuple as well."""
    if isinstance(target, cst.Name):
        yield Binding(target.value, node, block, value)
    elif isinstance(target, cst.Tuple | cst.List):
        values: list[cst.BaseExpression | None] = [None] * len(target.elements)
        if isinstance(value, cst.Tuple) and len(value.elements) == len(target.elements):
            values = [element.value for element in value.elements]
        for element, part in zip(target.elements, values, strict=True):
            yield from _bind(element.value, node, block, part)
