"""The kinds of names as control flows through one function: branches are joined, loops run until nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import libcst as cst

from ..syntax.bindings import names_bound
from ..syntax.kernel_source import TileNames, nodes
from .float32_kinds import Kind, combined, kind_of
from .local_functions import Functions

Environment = dict[str, Kind | None]
ARITHMETIC_ASSIGNMENTS = (cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign, cst.DivideAssign, cst.PowerAssign)


class Flow:
    """The kinds of names as control flows through the kernel; `kinds` ends as what holds on every pass."""

    def __init__(
        self, names: TileNames, functions: Functions, constants: Environment, active: tuple[str, ...] = ()
    ) -> None:
        self.kinds: dict[cst.CSTNode, Kind | None] = {}
        self.called: dict[cst.Call, tuple[cst.FunctionDef, Flow]] = {}
        self._names, self._functions, self._constants = names, functions, constants
        self._active = active
        self._returned: list[cst.BaseExpression] = []

    def all(self) -> Iterator[Flow]:
        """The flow itself and those of the functions called in it."""
        yield self
        for _, flow in self.called.values():
            yield from flow.all()

    def returned(self, at: int | None = None) -> Kind | None:
        """What the function returns, or one part of the tuple that it returns."""
        values: list[cst.BaseExpression] = self._returned
        if at is not None:
            tuples = [value for value in values if isinstance(value, cst.Tuple) and at < len(value.elements)]
            values = [value.elements[at].value for value in tuples] if len(tuples) == len(values) else []
        kinds = [self.kinds.get(value) for value in values]
        return reduce(joined, kinds) if kinds else None

    def block(self, body: cst.BaseSuite, environment: Environment) -> None:
        for statement in body.body:
            if isinstance(body, cst.SimpleStatementSuite):
                self.small(statement, environment)
            else:
                self._statement(statement, environment)

    def _statement(self, statement: cst.CSTNode, environment: Environment) -> None:
        match statement:
            case cst.SimpleStatementLine():
                for small in statement.body:
                    self.small(small, environment)
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

    def small(self, statement: cst.CSTNode, environment: Environment) -> None:
        match statement:
            case cst.Assign():
                kind = self._expression(statement.value, environment)
                for target in statement.targets:
                    self._bind(target.target, statement.value, kind, environment)
            case cst.AnnAssign(value=cst.BaseExpression() as value):
                self._bind(statement.target, value, self._expression(value, environment), environment)
            case cst.AugAssign():
                kind = combined(
                    self._expression(statement.target, environment), self._expression(statement.value, environment)
                )
                kept = isinstance(statement.operator, ARITHMETIC_ASSIGNMENTS)
                self._bind(statement.target, None, kind if kept else None, environment)
            case cst.Return(value=cst.BaseExpression() as value):
                self._expression(value, environment)
                self._returned.append(value)
            case cst.Expr():
                self._expression(statement.value, environment)
        for walrus in nodes(statement, cst.NamedExpr):
            environment.update(dict.fromkeys(names_bound(walrus)))

    def _bind(
        self, target: cst.BaseExpression, value: cst.BaseExpression | None, kind: Kind | None, environment: Environment
    ) -> None:
        if isinstance(target, cst.Name):
            environment[target.value] = kind
        elif isinstance(target, cst.Tuple | cst.List):
            parts: list[cst.BaseExpression | None] = [None] * len(target.elements)
            if isinstance(value, cst.Tuple) and len(value.elements) == len(parts):
                parts = [element.value for element in value.elements]
            call = self.called.get(value) if isinstance(value, cst.Call) else None
            for at, (element, part) in enumerate(zip(target.elements, parts, strict=True)):
                known = None if part is None else self.kinds.get(part)
                self._bind(element.value, part, call[1].returned(at) if call else known, environment)

    def _expression(self, node: cst.BaseExpression, environment: Environment) -> Kind | None:
        function = None
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value not in environment:
            function = self._functions.get(node.func.value)
        if function is not None and isinstance(node, cst.Call) and function.name.value not in self._active:
            kind = self._call(node, function, environment)
        else:
            kind = kind_of(node, environment, self._names, lambda part: self._expression(part, environment))
        self.kinds[node] = kind
        return kind

    def _call(self, call: cst.Call, function: cst.FunctionDef, environment: Environment) -> Kind | None:
        """The kind of what a function of the file returns for these arguments."""
        kinds = {argument: self._expression(argument.value, environment) for argument in call.args}
        parameters = [parameter.name.value for parameter in function.params.params]
        inside = self._constants | dict.fromkeys(parameters)
        for parameter in function.params.params:
            if isinstance(parameter.default, cst.Integer | cst.Float):
                inside[parameter.name.value] = Kind.NUMBER
        for at, (argument, kind) in enumerate(kinds.items()):
            if argument.keyword is not None:
                inside[argument.keyword.value] = kind
            elif not argument.star and at < len(parameters):
                inside[parameters[at]] = kind
        active = (*self._active, function.name.value)
        flow = Flow(self._names, self._functions, self._constants, active)
        flow.block(function.body, inside)
        self.called[call] = (function, flow)
        return flow.returned()


def joined(one: Kind | None, other: Kind | None) -> Kind | None:
    """What holds of a value that is of one kind or of the other."""
    return None if one is not other and Kind.NUMBER in {one, other} else combined(one, other)


def _join(environment: Environment, other: Environment) -> None:
    """What holds whichever way the control flow took; a name bound on one way only has that way's kind."""
    for name, kind in other.items():
        environment[name] = joined(environment.get(name, kind), kind)
