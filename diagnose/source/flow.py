"""Runs the statements of a kernel on what is known about its values, and of every function it calls.

Branches are both taken and joined; a loop is repeated until nothing new is learned about any variable. A function is
run once for each way of calling it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import libcst as cst

from kdiag.errors import UsageError
from kdiag.records import Place

from .module import Function, Module, Program
from .names import parameters, range_arguments, tested_names
from .values import STATIC, UNDECIDED, Kind, Value, combined, join

# More ways of calling functions than any kernel has; beyond, a call counts as one of an unknown function.
MAX_CALLS = 2000
# A variable learns something new at most once for each property and axis.
MAX_PASSES = 50
# Nested loops repeat each other. The most that a kernel of TileGym takes is some thousands.
MAX_STATEMENTS = 200_000


@dataclass
class Frame:
    """One run of a function: its variables so far, and the places of the loops around the current statement.

    `top` marks the evaluation of a value at the top of the file, outside of any function.
    """

    function: Function
    variables: dict[str, Value]
    loops: tuple[Place, ...]
    top: bool = False
    returned: list[Value] = field(default_factory=list)

    @property
    def module(self) -> Module:
        """The file of the function."""
        return self.function.module


class Observer(Protocol):
    """Is told what runs, possibly several times for one place."""

    def on_expression(self, node: cst.CSTNode, frame: Frame, parts: Sequence[Value]) -> None:
        """A call of cuda.tile or of a view (`parts` are the values of the arguments) or an operation (of operands)."""

    def on_loop(self, node: cst.For | cst.While, frame: Frame, parts: Sequence[Value]) -> None:
        """A loop that ran, with the values of its range's arguments, or on entry of the names in its condition."""

    def on_helper(self, call: cst.Call, frame: Frame, module: str, function: Function | None) -> None:
        """A call of a function, and the module it is imported from, "" for this file; None if it was not found."""


@dataclass
class Flow:
    """Runs functions and tells `observer` what happens in them."""

    program: Program
    observer: Observer
    _results: dict[object, Value] = field(default_factory=dict)
    _statements: int = 0

    def run(self, function: Function, arguments: dict[str, Value], loops: tuple[Place, ...]) -> Value:
        """What the function returns; a recursive call is taken to return nothing known."""
        key = (function.node, tuple(arguments.items()), loops)
        if key not in self._results:
            if len(self._results) >= MAX_CALLS:
                return Value(frozenset({Kind.UNKNOWN}))
            self._results[key] = UNDECIDED
            frame = Frame(function, dict(arguments), loops)
            self._block(function.node.body, frame)
            result = frame.returned[0] if frame.returned else STATIC
            for value in frame.returned[1:]:
                result = join(result, value)
            self._results[key] = result
        return self._results[key]

    def bind(self, function: Function, call: cst.Call, values: Sequence[Value]) -> dict[str, Value]:
        """The values of the function's parameters in a call, those left out at their defaults."""
        declared = parameters(function.node)
        names = [param.name.value for param in declared]
        bound: dict[str, Value] = {}
        for position, (arg, value) in enumerate(zip(call.args, values, strict=True)):
            name = arg.keyword.value if arg.keyword else (names[position] if position < len(names) else "")
            if name in names and not arg.star:
                bound[name] = value
        for param in declared:
            if param.name.value not in bound:
                default = Frame(function, {}, ())
                bound[param.name.value] = self.value(param.default, default) if param.default else UNDECIDED
        return dict(sorted(bound.items()))

    def value(self, expression: cst.CSTNode, frame: Frame) -> Value:
        """The value of an expression, telling the observer of what is in it."""
        from .expressions import evaluate

        return evaluate(expression, frame, self)

    def assign(self, target: cst.CSTNode, value: Value, frame: Frame) -> None:
        """Bind a target; the parts of a tuple each get theirs, or the whole where the parts are not known."""
        match target:
            case cst.Name(value=name):
                frame.variables[name] = value
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                items = value.items if value.items and len(value.items) == len(elements) else None
                whole = combined([value])
                for position, element in enumerate(elements):
                    self.assign(element.value, items[position] if items else whole, frame)
            case _:
                self.value(target, frame)

    def _block(self, body: cst.BaseSuite | cst.CSTNode, frame: Frame) -> None:
        statements = body.body if isinstance(body, cst.BaseSuite) else [body]
        for statement in statements:
            self._statements += 1
            if self._statements > MAX_STATEMENTS:
                name = frame.function.node.name.value
                raise UsageError(f"{frame.module.file} nests the loops around {name} too deeply to be read.")
            if isinstance(statement, cst.SimpleStatementLine):
                for part in statement.body:
                    self._simple(part, frame)
            else:
                self._statement(statement, frame)

    def _statement(self, node: cst.CSTNode, frame: Frame) -> None:
        match node:
            case cst.If() | cst.Try() | cst.Match():
                self._conditional(node, frame)
            case cst.For() | cst.While():
                self._loop(node, frame)
            case cst.Else():
                self._block(node.body, frame)
            case cst.With():
                for item in node.items:
                    entered = self.value(item.item, frame)
                    if item.asname is not None:
                        self.assign(item.asname.name, entered, frame)
                self._block(node.body, frame)
            case cst.FunctionDef() | cst.ClassDef():
                pass  # runs where it is called
            case _:
                self._simple(node, frame)

    def _conditional(self, node: cst.If | cst.Try | cst.Match, frame: Frame) -> None:
        match node:
            case cst.If():
                self.value(node.test, frame)
                self._branches(frame, node.body, node.orelse)
            case cst.Try():
                self._block(node.body, frame)
                self._branches(frame, *(handler.body for handler in node.handlers), node.orelse, None)
                self._block(node.finalbody.body if node.finalbody else cst.IndentedBlock([]), frame)
            case cst.Match():
                self.value(node.subject, frame)
                self._branches(frame, *(case.body for case in node.cases), None)

    def _simple(self, node: cst.CSTNode, frame: Frame) -> None:
        match node:
            case cst.Assign():
                value = self.value(node.value, frame)
                for target in node.targets:
                    self.assign(target.target, value, frame)
            case cst.AnnAssign(value=cst.BaseExpression() as assigned):
                self.assign(node.target, self.value(assigned, frame), frame)
            case cst.AugAssign():
                self.assign(node.target, self.value(node, frame), frame)
            case cst.Return(value=cst.BaseExpression() as result):
                frame.returned.append(self.value(result, frame))
            case cst.AnnAssign() | cst.Import() | cst.ImportFrom() | cst.Global() | cst.Nonlocal():
                pass
            case _:
                for child in node.children:
                    self.value(child, frame)

    def _branches(self, frame: Frame, *branches: cst.CSTNode | None) -> None:
        """Run each branch from the same start and join what they leave; None is a branch that does nothing."""
        start, left = frame.variables, []
        for branch in branches:
            frame.variables = dict(start)
            if branch is not None:
                self._block(branch, frame)
            left.append(frame.variables)
        frame.variables = _joined(left)

    def _loop(self, node: cst.For | cst.While, frame: Frame) -> None:
        around, before = frame.loops, frame.variables
        for _ in range(MAX_PASSES):
            frame.variables, frame.loops = dict(before), around
            parts = self._enter(node, frame)
            frame.loops = (*around, frame.module.place(node))
            self._block(node.body, frame)
            frame.loops = around
            self.observer.on_loop(node, frame, parts)
            after = _joined([before, frame.variables])
            if after == before:
                break
            before = after
        frame.variables = before
        if node.orelse is not None:
            self._block(node.orelse.body, frame)

    def _enter(self, node: cst.For | cst.While, frame: Frame) -> list[Value]:
        """The values a loop is controlled by; binds its variable."""
        if isinstance(node, cst.While):
            self.value(node.test, frame)
            return [frame.variables.get(name, UNDECIDED) for name in tested_names(node)]
        arguments = range_arguments(node)
        if arguments is None:
            source = self.value(node.iter, frame)
            self.assign(node.target, _element(source), frame)
            return [source]
        parts = [self.value(part, frame) for part in arguments]
        start = parts[0] if len(parts) > 1 else UNDECIDED
        self.assign(node.target, Value(combined([start]).kinds), frame)
        return parts


def _element(source: Value) -> Value:
    if not source.items:
        return combined([source])
    element = source.items[0]
    for item in source.items[1:]:
        element = join(element, item)
    return element


def _joined(branches: Sequence[dict[str, Value]]) -> dict[str, Value]:
    """What is known after one of the branches; a variable that only some of them bind has what those give it."""
    after: dict[str, Value] = {}
    for variables in branches:
        for name, value in variables.items():
            after[name] = join(after[name], value) if name in after else value
    return after
