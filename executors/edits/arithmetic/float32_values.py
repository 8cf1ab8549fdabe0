"""Which expressions of a kernel are certainly float32 tiles, from the source alone.

A forward pass over the kernel's statements that knows the kind of every name at every line; branches are joined and
loops run until nothing changes. What cannot be told is `None`, and is left alone by the edits. Promotion follows
cuda-tile 1.7: a float32 tile stays float32 beside numbers, integers and narrower floats, and not beside float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from kdiag.executors.edits.arithmetic.float32_kinds import Kind, combined, kind_of
from kdiag.executors.edits.syntax.kernel_source import KernelSource, TileNames, nodes

Kinds = Mapping[cst.CSTNode, Kind | None]
Environment = dict[str, Kind | None]
ARITHMETIC_ASSIGNMENTS = (
    cst.AddAssign,
    cst.SubtractAssign,
    cst.MultiplyAssign,
    cst.DivideAssign,
    cst.PowerAssign,
)


def float32_values(kernel: KernelSource) -> Kinds:
    """The kind of each expression of the kernel; a node that is absent was not understood."""
    constants = _globals(kernel)
    environment: Environment = {
        name: Kind.NUMBER for name, value in constants.items() if isinstance(value, cst.Integer | cst.Float)
    }
    for parameter in kernel.function.params.params:
        environment[parameter.name.value] = _parameter(parameter, constants, kernel.names)
    flow = _Flow(kernel.names)
    flow.block(kernel.function.body, environment)
    return flow.kinds


def _globals(kernel: KernelSource) -> Mapping[str, cst.BaseExpression]:
    """The value of each module-level name that is bound once in the file."""
    bound = list(names_bound(kernel.module))
    lines = [line for line in kernel.module.body if isinstance(line, cst.SimpleStatementLine)]
    assigned = [small for line in lines for small in line.body if isinstance(small, cst.Assign)]
    values = {
        target.target.value: a.value
        for a in assigned
        for target in a.targets
        if isinstance(target.target, cst.Name)
    }
    return {name: value for name, value in values.items() if bound.count(name) == 1}


def names_bound(statement: cst.CSTNode) -> Iterable[str]:
    """The names that a statement or anything in it binds; what its nested functions bind is counted as well."""
    for node in [statement, *_below(statement)]:
        targets: list[cst.BaseExpression] = []
        match node:
            case cst.Assign():
                targets = [target.target for target in node.targets]
            case cst.AnnAssign() | cst.AugAssign() | cst.NamedExpr() | cst.For():
                targets = [node.target]
            case cst.FunctionDef() | cst.ClassDef():
                targets = [node.name]
            case cst.AsName(name=cst.BaseExpression() as name):
                targets = [name]
        for target in targets:
            yield from (name.value for name in nodes(target, cst.Name))


def _below(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    for child in node.children:
        yield child
        yield from _below(child)


def _parameter(
    parameter: cst.Param, constants: Mapping[str, cst.BaseExpression], names: TileNames
) -> Kind | None:
    """A number where the annotation says so: int, float, Constant of something, or a module-level name of that."""
    annotation = None if parameter.annotation is None else parameter.annotation.annotation
    if isinstance(annotation, cst.Name):
        if annotation.value in {"int", "float"}:
            return Kind.NUMBER
        annotation = constants.get(annotation.value)
    constant = isinstance(annotation, cst.Subscript) and names.resolve(annotation.value) == "Constant"
    return Kind.NUMBER if constant else None


class _Flow:
    """The kinds of names as control flows through the kernel; `kinds` ends as what holds on every pass."""

    def __init__(self, names: TileNames) -> None:
        self.kinds: dict[cst.CSTNode, Kind | None] = {}
        self._names = names

    def block(self, body: cst.BaseSuite, environment: Environment) -> None:
        for statement in body.body:
            if isinstance(body, cst.SimpleStatementSuite):
                self._small(statement, environment)
            else:
                self._statement(statement, environment)

    def _statement(self, statement: cst.CSTNode, environment: Environment) -> None:
        match statement:
            case cst.SimpleStatementLine():
                for small in statement.body:
                    self._small(small, environment)
            case cst.For():
                self._expression(statement.iter, environment)
                self._loop(statement.body, environment, statement.target)
                self._else(statement.orelse, environment)
            case cst.While():
                self._loop(statement.body, environment, None, statement.test)
                self._else(statement.orelse, environment)
            case cst.If():
                self._expression(statement.test, environment)
                otherwise = dict(environment)
                self.block(statement.body, environment)
                self._else(statement.orelse, otherwise)
                _join(environment, otherwise)
            case cst.BaseCompoundStatement():
                environment.update(dict.fromkeys(names_bound(statement)))

    def _else(self, orelse: cst.Else | cst.If | None, environment: Environment) -> None:
        if isinstance(orelse, cst.If):
            self._statement(orelse, environment)
        elif orelse is not None:
            self.block(orelse.body, environment)

    def _loop(
        self,
        body: cst.BaseSuite,
        environment: Environment,
        target: cst.BaseExpression | None,
        test: cst.BaseExpression | None = None,
    ) -> None:
        """Kinds only ever get less certain, so this ends after as many passes as there are steps down."""
        while True:
            before = dict(environment)
            inside = dict(environment)
            if target is not None:
                self._bind(target, None, None, inside)
            if test is not None:
                self._expression(test, inside)
            self.block(body, inside)
            _join(environment, inside)
            if environment == before:
                return

    def _small(self, statement: cst.CSTNode, environment: Environment) -> None:
        match statement:
            case cst.Assign():
                kind = self._expression(statement.value, environment)
                for target in statement.targets:
                    self._bind(target.target, statement.value, kind, environment)
            case cst.AnnAssign(value=cst.BaseExpression() as value):
                self._bind(statement.target, value, self._expression(value, environment), environment)
            case cst.AugAssign():
                kind = combined(
                    self._expression(statement.target, environment),
                    self._expression(statement.value, environment),
                )
                kept = isinstance(statement.operator, ARITHMETIC_ASSIGNMENTS)
                self._bind(statement.target, None, kind if kept else None, environment)
            case cst.Expr() | cst.Return(value=cst.BaseExpression()):
                assert statement.value is not None
                self._expression(statement.value, environment)
        for walrus in nodes(statement, cst.NamedExpr):
            environment.update(dict.fromkeys(names_bound(walrus)))

    def _bind(
        self,
        target: cst.BaseExpression,
        value: cst.BaseExpression | None,
        kind: Kind | None,
        environment: Environment,
    ) -> None:
        if isinstance(target, cst.Name):
            environment[target.value] = kind
        elif isinstance(target, cst.Tuple | cst.List):
            parts: list[cst.BaseExpression | None] = [None] * len(target.elements)
            if isinstance(value, cst.Tuple) and len(value.elements) == len(parts):
                parts = [element.value for element in value.elements]
            for element, part in zip(target.elements, parts, strict=True):
                known = None if part is None else self.kinds.get(part)
                self._bind(element.value, part, known, environment)

    def _expression(self, node: cst.BaseExpression, environment: Environment) -> Kind | None:
        kind = kind_of(node, environment, self._names, lambda part: self._expression(part, environment))
        self.kinds[node] = kind
        return kind


def _join(environment: Environment, other: Environment) -> None:
    """What holds whichever way the control flow took; a name bound on one way only has that way's kind."""
    for name, kind in other.items():
        mine = environment.get(name, kind)
        numbers = Kind.NUMBER in {mine, kind} and mine is not kind
        environment[name] = None if numbers else combined(mine, kind)
