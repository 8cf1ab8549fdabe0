"""Writes numbers that a launch decides, and comparisons of them, as the host's own expressions in front of the launch.

What is passed to the kernel is read again for it, so it must be a name or a number, or made of those without calls: a
call could take long, or give something else the second time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import libcst as cst

from kdiag.records import Launch

from ..base import Skipped
from ..syntax.kernel_source import holds, integer, nodes
from ..syntax.kernel_view import code
from ..syntax.operands import operand
from .extra_argument import LaunchCall
from .launch_site import LaunchSite
from .launch_values import Atom, Blocks, Extent, LaunchValue, Passed, Quotient
from .wrapper import hidden_builtin

LONGEST_LINE = 90


@dataclass(frozen=True)
class Fits:
    """The condition that a number is at most the extent of an array.

    It holds only if none of the parameters `signed` is negative and all of `divisors` are positive.
    """

    reach: LaunchValue
    extent: Extent
    signed: frozenset[str] = frozenset()
    divisors: frozenset[str] = frozenset()

    @property
    def least(self) -> dict[str, int]:
        """The least value of the parameters whose sign matters."""
        return dict.fromkeys(sorted(self.signed), 0) | dict.fromkeys(sorted(self.divisors), 1)

    def holds(self, launch: Launch) -> bool:
        """Whether it certainly holds in a captured launch."""
        reach, extent = self.reach.in_launch(launch), LaunchValue.of(self.extent).in_launch(launch)
        signs = {name: LaunchValue.of(Passed(name)).in_launch(launch) for name in self.least}
        known = reach is not None and extent is not None and reach <= extent
        return known and all((signs[name] or 0) >= least for name, least in self.least.items())


class NotWritable(Exception):
    """A number that the host cannot write; the text says why."""


def violated(launch: LaunchCall, tile: str, conditions: Iterable[Fits]) -> str | Skipped:
    """The host's expression that is True where one of the conditions does not hold; `tile` is its name of cuda.tile."""
    extents: dict[LaunchValue, list[Extent]] = {}
    least: dict[str, int] = {}
    for condition in conditions:
        extents.setdefault(condition.reach, []).append(condition.extent)
        least |= {name: max(value, least.get(name, 0)) for name, value in condition.least.items()}
    write = _Writer(launch, tile)
    try:
        unsure = [name for name in least if integer(launch.arguments[name]) is None]
        parts = [f"{write.atom(Passed(name))} < {least[name]}" for name in unsure]
        for reach, arrays in extents.items():
            limits = list(dict.fromkeys(write.atom(array) for array in arrays))
            limit = limits[0] if len(limits) == 1 else f"min({', '.join(limits)})"
            if len(limits) > 1 and (hidden := hidden_builtin(launch.read, "min")) is not None:
                return hidden
            if write.number(reach) != limit:
                parts.append(f"{write.number(reach)} > {limit}")
    except NotWritable as reason:
        return Skipped(f"line {launch.line}: {reason}")
    return _laid_out(list(dict.fromkeys(parts)), launch) if parts else "False"


def _laid_out(parts: Sequence[str], launch: LaunchCall) -> str:
    """The parts joined by `or`, on lines of their own where one line would be long."""
    one_line = " or ".join(parts)
    if len(parts) == 1 or launch.read.place(launch.statement).column + len(one_line) <= LONGEST_LINE:
        return one_line
    return "(\n    " + "\n    or ".join(parts) + "\n)"


class _Writer:
    """Writes numbers as one launch's host would."""

    def __init__(self, launch: LaunchCall, tile: str) -> None:
        self._launch = launch
        self._tile = tile

    def number(self, value: LaunchValue) -> str:
        """A sum of products. Raises NotWritable."""
        text = ""
        for product, count in value.terms.items():
            factors = [self.atom(atom) for atom in product]
            factors += [str(abs(count))] if abs(count) != 1 or not factors else []
            sign = "-" if count < 0 else "+"
            text += f" {sign} {' * '.join(factors)}" if text else f"{sign} {' * '.join(factors)}"
        return text.removeprefix("+ ") or "0"

    def atom(self, atom: Atom) -> str:
        """One factor. Raises NotWritable."""
        match atom:
            case Blocks(axis):
                return self._blocks(axis)
            case Extent(array, axis):
                return f"{self._passed(array)}.shape[{axis}]"
            case Passed(parameter):
                return self._passed(parameter)
            case Quotient(numerator, denominator, up):
                above, below = self.number(numerator), self.number(denominator)
                if up:
                    return f"{self._tile}.cdiv({above}, {below})"
                return f"({operand(above)} // {operand(below)})"

    def _blocks(self, axis: int) -> str:
        grid = self._launch.grid
        if isinstance(grid, cst.Tuple):
            return operand(self._simple(self._component(grid, axis), "the grid"))
        if not isinstance(grid, cst.Name):
            raise NotWritable(f"the grid `{code(grid)}` is not written as a tuple or a name")
        written = LaunchSite(self._launch.read, self._launch.call).value(grid)
        if isinstance(written, cst.Tuple):
            self._component(written, axis)
        elif axis:
            raise NotWritable(f"the grid `{code(grid)}` may have fewer than {axis + 1} axes")
        return f"{grid.value}[{axis}]"

    def _component(self, grid: cst.Tuple, axis: int) -> cst.BaseExpression:
        if axis >= len(grid.elements):
            raise NotWritable(f"the grid `{code(grid)}` has no axis {axis}")
        return grid.elements[axis].value

    def _passed(self, parameter: str) -> str:
        return operand(self._simple(self._launch.arguments[parameter], parameter))

    def _simple(self, expression: cst.BaseExpression, what: str) -> str:
        """The expression's text, if it can be evaluated once more."""
        calls = [call for call in nodes(expression, cst.Call) if self._launch.read.names.resolve(call.func) != "cdiv"]
        if calls or holds(expression, cst.NamedExpr):
            raise NotWritable(f"`{code(expression)}`, passed for {what}, would be computed twice")
        return code(expression)


def divisor(launch: LaunchCall, parameter: str, largest: int) -> str | Skipped:
    """The host's expression for `largest` where it divides what is passed for a parameter, and 1 elsewhere."""
    try:
        passed = _Writer(launch, "").atom(Passed(parameter))
    except NotWritable as reason:
        return Skipped(f"line {launch.line}: {reason}")
    return f"{largest} if {passed} % {largest} == 0 else 1"
