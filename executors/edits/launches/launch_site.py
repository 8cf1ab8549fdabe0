"""One ct.launch: which literal decides a constant that it passes, and whether its grid follows that constant."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from kdiag.executors.edits.base import Skipped
from kdiag.executors.edits.syntax.bindings import Bindings, names_in
from kdiag.executors.edits.syntax.kernel_source import KernelSource, dotted, integer, nodes, positional


@dataclass(frozen=True, eq=False)
class TileConstant:
    """A tile size: the kernel's parameter, the constant that decides it, its literal and where that is assigned."""

    parameter: str
    name: str
    value: int
    literal: cst.Integer
    assignment: cst.CSTNode

    @property
    def setting(self) -> str:
        """What a variant calls it."""
        return self.name.lower()


class LaunchSite:
    """One ct.launch and the function around it."""

    def __init__(self, read: KernelSource, launch: cst.Call) -> None:
        self._read = read
        self._launch = launch
        self._wrapper = _function_around(read, launch)
        self._bindings = (
            Bindings(self._wrapper, read.parents, read.positions) if self._wrapper is not None else None
        )

    def constant(self, parameter: str) -> TileConstant | Skipped:
        """The constant behind a parameter, provided that grid and loops follow it by name."""
        passed = self._passed(parameter)
        if isinstance(passed, Skipped):
            return passed
        if integer(passed) is not None:
            text = self._read.text(passed)
            return Skipped(f"{parameter} is passed to ct.launch as the literal {text}, not by name")
        constant = self._resolve(parameter, passed, 0)
        return constant if isinstance(constant, Skipped) else self._followed(constant)

    def _passed(self, parameter: str) -> cst.BaseExpression | Skipped:
        """The expression in the launch's tuple of arguments."""
        values = positional(self._launch)
        passed = self._value(values[3]) if len(values) > 3 else None
        if not isinstance(passed, cst.Tuple) or any(
            isinstance(element, cst.StarredElement) for element in passed.elements
        ):
            return Skipped("the arguments of ct.launch are not written out as a tuple")
        names = [p.name.value for p in self._read.function.params.params]
        at = names.index(parameter)
        if at >= len(passed.elements):
            return Skipped(f"ct.launch passes nothing for {parameter}")
        return passed.elements[at].value

    def _resolve(self, parameter: str, expression: cst.BaseExpression, steps: int) -> TileConstant | Skipped:
        """Follow names to the assignment of a literal."""
        if not isinstance(expression, cst.Name) or steps > 4:
            return self._not_a_literal(parameter, expression)
        name = expression.value
        found = self._binding(name)
        if isinstance(found, Skipped):
            return found
        assignment, value = found
        if isinstance(value, cst.Integer):
            size = value.evaluated_value
            if size < 2 or size & (size - 1):
                return Skipped(f"{name} = {size} is not a power of two")
            return TileConstant(parameter, name, size, value, assignment)
        return self._resolve(parameter, value, steps + 1)

    def _binding(self, name: str) -> tuple[cst.CSTNode, cst.BaseExpression] | Skipped:
        """The one assignment that decides a name at the launch: in its wrapper, else in the module."""
        if self._bindings is not None and not self._bindings.is_global(name):
            local = self._bindings.reaching(name, self._launch)
            if local is None:
                return Skipped(f"{name} is assigned more than once in the launch wrapper")
            value = local.node.default if isinstance(local.node, cst.Param) else local.value
            if value is None:
                return Skipped(f"{name} is an argument of the launch wrapper and has no default")
            return local.node, value
        return _module_binding(self._read, name)

    def _not_a_literal(self, parameter: str, expression: cst.BaseExpression) -> Skipped:
        text = self._read.text(expression)
        if isinstance(expression, cst.Attribute | cst.Subscript):
            return Skipped(f"{parameter} is taken from a configuration ({text})")
        return Skipped(f"{parameter} is computed from the data ({text})")

    def _followed(self, constant: TileConstant) -> TileConstant | Skipped:
        """The constant, unless the grid repeats its literal or nothing counts tiles by it."""
        grid = self._grid()
        in_grid = any(constant.name in names_in(part) for part in grid)
        literals = [literal for part in grid for literal in nodes(part, cst.Integer)]
        repeated = any(i.evaluated_value == constant.value and i is not constant.literal for i in literals)
        if repeated and not in_grid:
            return Skipped(f"the grid repeats the literal {constant.value} instead of {constant.name}")
        if (other := self._other_use(constant)) is not None:
            return Skipped(other)
        if in_grid or _loops_by(self._read, constant.parameter):
            return constant
        return Skipped(f"neither the grid nor a loop of the kernel counts tiles of {constant.name}")

    def _other_use(self, constant: TileConstant) -> str | None:
        """Where the size stands a second time: as a literal in kernel or wrapper, or in another module constant."""
        around = [self._read.function.body, *([self._wrapper.body] if self._wrapper is not None else [])]
        for literal in [literal for body in around for literal in nodes(body, cst.Integer)]:
            assigned = isinstance(self._read.parents.get(literal), cst.Assign)
            if literal.evaluated_value == constant.value and literal is not constant.literal and not assigned:
                line = self._read.place(literal).line
                return f"line {line} repeats the literal {constant.value} of {constant.name}"
        for statement in nodes(self._read.module, cst.Assign):
            if _function_around(self._read, statement) is None and constant.name in names_in(statement.value):
                return f"line {self._read.place(statement).line} computes another value from {constant.name}"
        return None

    def _grid(self) -> list[cst.BaseExpression]:
        """The grid's expression and those of the local names in it."""
        values = positional(self._launch)
        parts, done = [values[1]], set[str]()
        for part in parts:
            for name in sorted(names_in(part) - done):
                done.add(name)
                value = self._value(cst.Name(name))
                if dotted(value) != name:
                    parts.append(value)
        return parts

    def _value(self, expression: cst.BaseExpression) -> cst.BaseExpression:
        """What a local name certainly stands for at the launch; other expressions stand for themselves."""
        if isinstance(expression, cst.Name) and self._bindings is not None:
            local = self._bindings.reaching(expression.value, self._launch)
            if local is not None and local.value is not None:
                return local.value
        return expression


def _module_binding(read: KernelSource, name: str) -> tuple[cst.CSTNode, cst.BaseExpression] | Skipped:
    """The only assignment of a module-level name."""
    statements = [
        *((s, s.value, [t.target for t in s.targets]) for s in nodes(read.module, cst.Assign)),
        *((s, s.value, [s.target]) for s in nodes(read.module, cst.AnnAssign)),
    ]
    found = [
        (statement, value)
        for statement, value, targets in statements
        if value is not None and name in map(dotted, targets) and _function_around(read, statement) is None
    ]
    rebound = any(n.name.value == name for g in nodes(read.module, cst.Global) for n in g.names)
    augmented = any(dotted(a.target) == name for a in nodes(read.module, cst.AugAssign))
    if len(found) == 1 and not rebound and not augmented:
        return found[0]
    return Skipped(f"{name} is not assigned exactly once in the module")


def _function_around(read: KernelSource, node: cst.CSTNode) -> cst.FunctionDef | None:
    parent = read.parents.get(node)
    while parent is not None and not isinstance(parent, cst.FunctionDef):
        parent = read.parents.get(parent)
    return parent


def _loops_by(read: KernelSource, parameter: str) -> bool:
    """Whether the kernel counts tiles by a parameter: num_tiles, cdiv, a division, or the step of a range."""
    divisors = [
        operation.right
        for operation in nodes(read.function, cst.BinaryOperation)
        if isinstance(operation.operator, cst.Divide | cst.FloorDivide)
    ]
    steps = [call.args[2] for call in nodes(read.function, cst.Call) if _is_stepped_range(call)]
    counted: list[cst.CSTNode] = [*read.calls("num_tiles", "cdiv"), *divisors, *steps]
    return any(parameter in names_in(node) for node in counted)


def _is_stepped_range(call: cst.Call) -> bool:
    return dotted(call.func) == "range" and len(call.args) > 2
