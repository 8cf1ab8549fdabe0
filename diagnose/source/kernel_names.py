"""Which kernels of a file an expression can be: followed through variables, containers, caches and functions."""

from collections.abc import Iterator

import libcst as cst
from libcst.helpers import get_full_name_for_node

from kdiag.diagnose.source.kernels import KernelMakings
from kdiag.diagnose.source.module import Module
from kdiag.diagnose.source.names import nodes_under

_FILLS = ("append", "extend", "insert", "add", "update", "setdefault")


class KernelNames:
    """What every name of a file is bound to, and which names are kernels."""

    def __init__(self, module: Module, makings: KernelMakings) -> None:
        self._kernels: dict[str, str] = {}
        for function, making in makings.items():
            names = (function.name.value, *making.names)
            self._kernels |= dict.fromkeys(names, function.name.value)
        self._values: dict[str, list[tuple[str, cst.CSTNode]]] = {}
        for node, scope in module.nodes:
            for name, value in _bindings(node):
                self._values.setdefault(name, []).append((scope, value))

    def behind(self, expression: cst.CSTNode, scope: str) -> tuple[str, ...]:
        """The kernels that an expression within a function can be, sorted; none where it leads nowhere."""
        found: set[str] = set()
        waiting: list[tuple[cst.CSTNode, str]] = [(expression, scope)]
        seen: set[tuple[str, str]] = set()
        while waiting:
            node, inside = waiting.pop()
            for name in _names(node):
                if name in self._kernels:
                    found.add(self._kernels[name])
                elif (name, inside) not in seen:
                    seen.add((name, inside))
                    waiting.extend(self._bound(name, inside))
        return tuple(sorted(found))

    def _bound(self, name: str, inside: str) -> Iterator[tuple[cst.CSTNode, str]]:
        """What the name may stand for in that function: of a function what it returns."""
        for scope, value in self._values.get(name, ()):
            if not f"{inside}.".startswith(f"{scope}." if scope else ""):
                continue  # a variable of another function
            if isinstance(value, cst.FunctionDef):
                body = f"{scope}.{name}".lstrip(".")
                returned = (node for node in nodes_under(value) if isinstance(node, cst.Return))
                yield from ((node.value, body) for node in returned if node.value is not None)
            else:
                yield value, scope or inside


def _bindings(node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode]]:
    """The names a node binds. What is put into a container counts for the container."""
    match node:
        case cst.Assign():
            for target in node.targets:
                yield from ((name, node.value) for name in _targets(target.target))
        case cst.AnnAssign(value=cst.BaseExpression() as value) | cst.NamedExpr(value=value):
            yield from ((name, value) for name in _targets(node.target))
        case cst.For():
            yield from ((name, node.iter) for name in _targets(node.target))
        case cst.FunctionDef():
            yield node.name.value, node
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=method))) if method in _FILLS:
            yield from ((name, arg.value) for name in _targets(owner) for arg in node.args)


def _targets(target: cst.CSTNode) -> Iterator[str]:
    if isinstance(target, cst.Name | cst.Attribute):
        yield get_full_name_for_node(target) or ""
    elif isinstance(target, cst.Subscript):
        yield from _targets(target.value)
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _targets(element.value)


def _names(node: cst.CSTNode) -> Iterator[str]:
    for part in (node, *nodes_under(node)):
        if isinstance(part, cst.Name | cst.Attribute):
            yield get_full_name_for_node(part) or ""
