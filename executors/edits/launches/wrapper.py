"""The function around a launch: what its names stand for, also inside the lambdas and functions that it defines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import TypeVar

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import Binding, Bindings, bound_names, name_nodes, names_in
from ..syntax.kernel_source import KernelSource, nodes
from ..syntax.kernel_view import code

N = TypeVar("N", bound=cst.CSTNode)
Value = tuple[cst.BaseExpression, cst.CSTNode]
"""An expression and the place where it stands."""


class Wrapper:
    """The outermost function around a launch, method or not."""

    def __init__(self, read: KernelSource, function: cst.FunctionDef) -> None:
        self.read = read
        self.function = function
        self._bindings = Bindings(function, read)

    @staticmethod
    def around(read: KernelSource, node: cst.CSTNode) -> Wrapper | Skipped:
        functions = [parent for parent in read.above(node) if isinstance(parent, cst.FunctionDef)]
        return Wrapper(read, functions[-1]) if functions else read.refused(node, "stands outside every function")

    def holds(self, node: cst.CSTNode) -> bool:
        return self.function in self.read.above(node)

    def is_global(self, name: str, place: cst.CSTNode) -> bool:
        """Whether a name at a place is none of the function's own."""
        return self._bindings.is_global(name) and not self._is_parameter(name, place)

    def reaching(self, name: str, place: cst.CSTNode) -> Binding | None:
        """The binding that certainly holds at a place; inside a closure the only one of the function."""
        if self._is_parameter(name, place):
            return None
        binding = self._bindings.reaching(name, place)
        deferred = [c for c in self._closures(place) if isinstance(c, cst.FunctionDef)]
        if binding is None or not deferred or self._bindings.is_bound_once(name):
            return binding
        return binding if deferred[-1] in self.read.above(binding.node) else None

    def resolve(self, expression: cst.BaseExpression, place: cst.CSTNode) -> Value:
        """What a name stands for, followed through plain assignments."""
        *_, last = self.steps(expression, place)
        return last

    def steps(self, expression: cst.BaseExpression, place: cst.CSTNode) -> Iterator[Value]:
        """The expression and what it stands for, one assignment after the other."""
        yield expression, place
        while isinstance(expression, cst.Name):
            binding = self.reaching(expression.value, place)
            if binding is None or binding.value is None:
                return
            expression, place = binding.value, binding.node
            yield expression, place

    def same(self, one: Value, other: Value) -> bool:
        """Whether two expressions are written alike and certainly have one value."""
        if code(one[0]) != code(other[0]):
            return False
        for name in names_in(one[0]):
            held = self._is_parameter(name, one[1]), self._is_parameter(name, other[1])
            if held == (True, True):
                continue
            if any(held):
                return False
            if not self._bindings.is_global(name):
                first, second = self.reaching(name, one[1]), self.reaching(name, other[1])
                certain = first is not None and first is second
                if not certain and not self._is_settled(name, one[1], other[1]):
                    return False
        return True

    def _is_settled(self, name: str, *places: cst.CSTNode) -> bool:
        """Whether every assignment of a name, on whatever branch, is over before these places outside loops."""
        bound = [n for n in bound_names(self.function) if n.value == name]
        first = min(self.read.positions[place].start.line for place in places)
        looped = any(isinstance(p, cst.For | cst.While) for place in places for p in self.read.above(place))
        return not looped and all(self.read.positions[n].end.line < first for n in bound)

    def unpacked(self, name: str, place: cst.CSTNode) -> tuple[cst.BaseExpression, int, cst.CSTNode] | None:
        """The value that a name is one item of (`a, name = value`), the item's number, and the assignment."""
        binding = self.reaching(name, place)
        if binding is None or not isinstance(binding.node, cst.Assign) or binding.value is not None:
            return None
        for target in binding.node.targets:
            if isinstance(target.target, cst.Tuple):
                names = [code(element.value) for element in target.target.elements]
                starred = any(isinstance(e, cst.StarredElement) for e in target.target.elements)
                if names.count(name) == 1 and not starred:
                    return binding.node.value, names.index(name), binding.node
        return None

    def tuple_of(self, expression: cst.BaseExpression | None, place: cst.CSTNode) -> cst.Tuple | None:
        """The tuple that an expression, a lambda or a local function gives."""
        name = intermediary(expression)
        if name is not None:
            function = self._local_function(name)
            if function is not None:
                return _returned(function)
            binding = self.reaching(name, place) if isinstance(expression, cst.Name) else None
            if binding is None or binding.value is None:
                return None
            expression = binding.value
        if isinstance(expression, cst.Lambda):
            expression = expression.body
        return expression if isinstance(expression, cst.Tuple) else None

    def closure(self, node: cst.CSTNode) -> cst.Lambda | cst.FunctionDef | None:
        """The innermost lambda or inner function around a node."""
        return next(iter(self._closures(node)), None)

    def only_in(self, expression: cst.BaseExpression | None, place: cst.CSTNode, calls: list[cst.Call]) -> bool:
        """Whether the tuple behind an expression is written in place, or its name stands for it in these calls alone."""
        name = intermediary(expression)
        if name is None or expression is None:
            return True
        binding = self.reaching(name, place)
        elsewhere = [use for use in self._uses(name) if not any(use in name_nodes(call) for call in calls)]
        if self._local_function(name) is not None or binding is None:
            return not elsewhere
        others = [self.reaching(name, use) for use in elsewhere]
        return not any(other is None or other is binding for other in others)

    def _uses(self, name: str) -> list[cst.Name]:
        """Where the function reads a name."""
        bound = bound_names(self.function)
        defined = [f.name for f in nodes(self.function, cst.FunctionDef)]
        return [n for n in name_nodes(self.function) if n.value == name and n not in bound and n not in defined]

    def _local_function(self, name: str) -> cst.FunctionDef | None:
        found = [f for f in nodes(self.function.body, cst.FunctionDef) if f.name.value == name]
        return found[0] if len(found) == 1 and self._bindings.is_global(name) else None

    def _is_parameter(self, name: str, place: cst.CSTNode) -> bool:
        """Whether a closure around the place has a parameter of that name."""
        return any(
            parameter.name.value == name
            for closure in self._closures(place)
            for parameter in nodes(closure.params, cst.Param)
        )

    def _closures(self, node: cst.CSTNode) -> list[cst.Lambda | cst.FunctionDef]:
        around = takewhile(lambda parent: parent is not self.function, self.read.above(node))
        return [parent for parent in around if isinstance(parent, cst.Lambda | cst.FunctionDef)]


def module_nodes(read: KernelSource, kind: type[N]) -> Iterator[N]:
    """All nodes of one kind in the file, in no order: much faster than a walk."""
    return (node for node in read.parents if isinstance(node, kind))


def hidden_builtin(read: KernelSource, *names: str) -> Skipped | None:
    """Why one of Python's own functions cannot be used: the file gives its name another meaning, or may."""
    for star in module_nodes(read, cst.ImportStar):
        return read.refused(star, f"imports every name and may give {names[0]} another meaning")
    for found in module_nodes(read, cst.Name):
        parent = read.parents[found]
        read_only = isinstance(parent, cst.Call | cst.Attribute) or (
            isinstance(parent, cst.Arg) and parent.keyword is not found
        )
        if found.value in names and not read_only:
            return read.refused(found, f"may give {found.value} a meaning of its own")
    return None


def fresh_name(read: KernelSource, wanted: str) -> str:
    """A name that nothing in the file has, close to the wanted one."""
    taken = {name.value for name in module_nodes(read, cst.Name)}
    while wanted in taken:
        wanted += "_"
    return wanted


def intermediary(expression: cst.BaseExpression | None) -> str | None:
    """The local name or function by which a tuple is passed; None where it is written in place."""
    if isinstance(expression, cst.Call):
        expression = expression.func
    return expression.value if isinstance(expression, cst.Name) else None


def _returned(function: cst.FunctionDef) -> cst.Tuple | None:
    returns = list(nodes(function, cst.Return))
    return returns[0].value if len(returns) == 1 and isinstance(returns[0].value, cst.Tuple) else None
