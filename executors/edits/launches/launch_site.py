"""One ct.launch: what it passes for a parameter, what decides a name at the launch, and its grid."""

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import Bindings, bound_names, names_in
from ..syntax.kernel_source import KernelSource, dotted, nodes, positional


class LaunchSite:
    """One ct.launch and the function around it."""

    def __init__(self, read: KernelSource, launch: cst.Call) -> None:
        self.read = read
        self.launch = launch
        self.wrapper = read.around(launch, cst.FunctionDef)
        self.bindings = Bindings(self.wrapper, read) if self.wrapper is not None else None

    def passed(self, parameter: str) -> cst.BaseExpression | Skipped:
        """The expression in the launch's tuple of arguments."""
        values = positional(self.launch)
        passed = self.value(values[3]) if len(values) > 3 else None
        if not isinstance(passed, cst.Tuple) or any(
            isinstance(element, cst.StarredElement) for element in passed.elements
        ):
            return Skipped("the arguments of ct.launch are not written out as a tuple")
        names = self.read.parameters
        at = names.index(parameter)
        if at >= len(passed.elements):
            return Skipped(f"ct.launch passes nothing for {parameter}")
        return passed.elements[at].value

    def binding(self, name: str) -> tuple[cst.CSTNode, cst.BaseExpression] | Skipped:
        """The one assignment that decides a name at the launch: in its wrapper, else in the module."""
        if self.bindings is not None and not self.bindings.is_global(name):
            local = self.bindings.reaching(name, self.launch)
            if local is None:
                return Skipped(f"{name} is assigned more than once in the launch wrapper")
            value = local.node.default if isinstance(local.node, cst.Param) else local.value
            if value is None and isinstance(local.node, cst.Assign):
                value = _assigned(local.node, name)
                if value is None:
                    return Skipped(f"{name} is unpacked from a value that is not written out")
            if value is None:
                return Skipped(f"{name} is an argument of the launch wrapper and has no default")
            return local.node, value
        return module_binding(self.read, name)

    def grid(self) -> list[cst.BaseExpression]:
        """The grid's expression and those of the local names in it."""
        values = positional(self.launch)
        parts, done = [values[1]], set[str]()
        for part in parts:
            for name in sorted(names_in(part) - done):
                done.add(name)
                value = self.value(cst.Name(name))
                if dotted(value) != name:
                    parts.append(value)
        return parts

    def value(self, expression: cst.BaseExpression) -> cst.BaseExpression:
        """What a local name certainly stands for at the launch; other expressions stand for themselves."""
        if isinstance(expression, cst.Name) and self.bindings is not None:
            local = self.bindings.reaching(expression.value, self.launch)
            if local is not None and local.value is not None:
                return local.value
        return expression


def module_binding(read: KernelSource, name: str) -> tuple[cst.CSTNode, cst.BaseExpression] | Skipped:
    """The only assignment of a module-level name."""
    statements: list[cst.Assign | cst.AnnAssign] = [*nodes(read.module, cst.Assign)]
    statements += nodes(read.module, cst.AnnAssign)
    found = [
        (statement, value)
        for statement in statements
        if (value := _assigned(statement, name)) is not None and read.around(statement, cst.FunctionDef) is None
    ]
    rebound = any(n.name.value == name for g in nodes(read.module, cst.Global) for n in g.names)
    bound = [n for n in bound_names(read.module) if n.value == name and read.around(n, cst.FunctionDef) is None]
    if len(found) == len(bound) == 1 and not rebound:
        return found[0]
    return Skipped(f"{name} is not assigned exactly once in the module")


def _assigned(statement: cst.Assign | cst.AnnAssign, name: str) -> cst.BaseExpression | None:
    """What a statement assigns to a name, by itself or as in `M, N = 64, 32`; None for another name or any other way."""
    if isinstance(statement, cst.AnnAssign):
        return statement.value if dotted(statement.target) == name else None
    for target in statement.targets:
        if dotted(target.target) == name:
            return statement.value
        pairs = _items(target.target), _items(statement.value)
        if None not in pairs and len(pairs[0] or ()) == len(pairs[1] or ()):
            for one, value in zip(pairs[0] or (), pairs[1] or (), strict=True):
                if dotted(one) == name:
                    return value
    return None


def _items(expression: cst.BaseExpression | cst.BaseAssignTargetExpression) -> list[cst.BaseExpression] | None:
    """What stands in a tuple or list that is written out; None for anything else."""
    if not isinstance(expression, cst.Tuple | cst.List):
        return None
    if any(isinstance(element, cst.StarredElement) for element in expression.elements):
        return None
    return [element.value for element in expression.elements]


def launches(read: KernelSource) -> list[cst.Call]:
    """The calls of ct.launch in the file that get the kernel by its name."""
    every = read.calls("launch", within=read.module)
    return [call for call in every if [dotted(value) for value in positional(call)[2:3]] == [read.name]]
