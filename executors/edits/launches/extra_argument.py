"""One more `ct.Constant` parameter of a kernel, and its value in every launch of it.

A launch computes the value in a statement of its own in front of it. A kernel that is used otherwise than by being
launched in this file is left alone: whoever else launches it would pass one argument too few.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import libcst as cst

from ..base import Skipped
from ..syntax.appending import with_element, with_parameter
from ..syntax.bindings import name_nodes
from ..syntax.kernel_source import KernelSource, entries, positional
from ..syntax.rewriting import Change, before, rewrite
from .launch_site import launches

ELSEWHERE = "the kernel takes one more argument, {name}: code outside this file that launches it has to pass it"


@dataclass(frozen=True, eq=False)
class LaunchCall:
    """One `ct.launch` of a kernel: `grid` and the `arguments` by the kernel's parameters, as the host writes them."""

    read: KernelSource
    call: cst.Call
    statement: cst.SimpleStatementLine
    grid: cst.BaseExpression
    passed: cst.Tuple

    @property
    def arguments(self) -> dict[str, cst.BaseExpression]:
        return dict(zip(self.read.parameters, entries(self.passed), strict=True))

    @property
    def line(self) -> int:
        return self.read.line(self.call)


@dataclass(frozen=True)
class Addition:
    """A parameter to add, such as `CHECK_BOUNDS: ct.Constant[bool]`, and the host's name for its value."""

    parameter: str
    kind: str
    variable: str


def launch_calls(read: KernelSource) -> tuple[LaunchCall, ...] | Skipped:
    """Every launch of the kernel, or why its arguments cannot be extended."""
    parameters = read.function.params
    plain = not (parameters.star_kwarg or parameters.kwonly_params or parameters.posonly_params)
    if not parameters.params or not plain or isinstance(parameters.star_arg, cst.Param):
        return Skipped("the kernel's parameters are not all plain ones")
    if any(parameter.default is not None for parameter in parameters.params):
        return Skipped("a parameter of the kernel has a default")
    kernel = read.name
    calls = launches(read)
    if not calls:
        return Skipped(f"the file has no ct.launch of {kernel}")
    launched = [positional(call)[2] for call in calls]
    for name in name_nodes(read.module):
        if name.value == kernel and name not in (*launched, read.function.name):
            return read.refused(name, f"uses {kernel} otherwise than in ct.launch")
    found = [_launch_call(read, call) for call in calls]
    refused = next((each for each in found if isinstance(each, Skipped)), None)
    return refused or tuple(each for each in found if isinstance(each, LaunchCall))


def clash(read: KernelSource, addition: Addition) -> Skipped | None:
    """A refusal where the file uses one of the names already."""
    taken = {name.value for name in name_nodes(read.module)} & {addition.parameter, addition.variable}
    return Skipped(f"the file uses the name {min(taken)} for something else") if taken else None


def with_argument(
    launches: Sequence[LaunchCall], addition: Addition, value: Callable[[LaunchCall], str | Skipped]
) -> str | Skipped:
    """The file with the parameter in the kernel, and in front of every launch `variable = value`.

    The names must be free (see `clash`).
    """
    read = launches[0].read
    changes: dict[cst.CSTNode, Change] = {
        read.function.params: lambda node: with_parameter(node, addition.parameter, addition.kind)
    }
    for launch in launches:
        written = value(launch)
        if isinstance(written, Skipped):
            return written
        changes[launch.passed] = lambda node: with_element(node, addition.variable)
        changes[launch.statement] = before([f"{addition.variable} = {written}"])
    return rewrite(read.module, changes).code


def _launch_call(read: KernelSource, call: cst.Call) -> LaunchCall | Skipped:
    line, values = read.line(call), positional(call)
    statement = read.around(call, cst.SimpleStatementLine, cst.Module, cst.Lambda, cst.SimpleStatementSuite)
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) > 1:
        return Skipped(f"line {line}: the launch is no statement on a line of its own")
    passed = values[3] if len(values) > 3 else None
    if not isinstance(passed, cst.Tuple) or not passed.elements or not passed.lpar:
        return Skipped(f"line {line}: the arguments of ct.launch are not written out as a tuple")
    if any(isinstance(element, cst.StarredElement) for element in passed.elements):
        return Skipped(f"line {line}: the arguments of ct.launch are unpacked")
    if len(passed.elements) != len(read.function.params.params):
        return Skipped(f"line {line}: the launch does not pass one argument for each parameter")
    return LaunchCall(read, call, statement, values[1], passed)
