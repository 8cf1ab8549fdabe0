"""How a matrix product gets the row and the column of its tile from the number of its block."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import permutations

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import name_nodes, names_in
from ..syntax.kernel_source import argument, integer
from ..syntax.kernel_view import KernelView, code
from .blocks import BLOCK, BLOCKS, arrays, axis_calls, foreign_calls, strided_loop
from .canonical import Canonical
from .grid import launch_sites
from .host_values import HostValues
from .wrapper import Value


@dataclass(frozen=True, eq=False)
class Decoding:
    """The expressions for the row and the column of the tile, and the statement in front of both.

    `rows`, `columns` and `block` are texts: the numbers of tiles along both, and the number that is decoded.
    """

    row: cst.BaseExpression
    column: cst.BaseExpression
    statement: cst.BaseStatement
    rows: str
    columns: str
    block: str

    def names(self, fresh: Callable[[str], str]) -> dict[str, str]:
        """What each of the three is called: itself where it is a name, or a new name."""
        texts = {"rows": self.rows, "columns": self.columns, "block": self.block}
        return {key: text if text.isidentifier() else fresh(key) for key, text in texts.items()}

    def lines(self, names: Mapping[str, str]) -> list[str]:
        """The assignments of the new names."""
        texts = {"rows": self.rows, "columns": self.columns, "block": self.block}
        lines = []
        for key, text in texts.items():
            if names[key] != text:
                written = text.replace("<rows>", names["rows"]).replace("<columns>", names["columns"])
                lines.append(f"{names[key]} = {written}")
        return lines


def decoding(view: KernelView) -> Decoding | Skipped:
    """The row-major (or column-major) decoding of a kernel's blocks, or why there is none that can be regrouped."""
    reason = foreign_calls(view.source)
    if reason is not None:
        return reason
    index = _stored_index(view)
    if isinstance(index, Skipped):
        return index
    (row, row_place), (column, column_place) = index
    calls = axis_calls(view, BLOCK)
    if isinstance(calls, Skipped):
        return calls
    axes = dict(calls)
    statements = [view.source.statement(node) for node in (row, column)]
    together = view.source.parents[statements[0]] is view.source.parents[statements[1]]
    if not together or not all(isinstance(line, cst.SimpleStatementLine) for line in statements):
        return Skipped("the row and the column of the tile are computed in different blocks of the source")
    first = min(statements, key=lambda s: view.source.positions[s].start.line)
    if isinstance(row, cst.Call) and isinstance(column, cst.Call) and row in axes and column in axes:
        return _of_axes(view, axes, (row, column), first)
    return _of_number(view, (row, row_place), (column, column_place), first)


def _stored_index(
    view: KernelView,
) -> tuple[tuple[cst.BaseExpression, cst.CSTNode], tuple[cst.BaseExpression, cst.CSTNode]] | Skipped:
    """What the last two indices of the result's tile stand for, alike in every store."""
    stores = view.source.calls("store")
    found = []
    for call in stores:
        index = argument(call, 1, "index")
        if isinstance(index, cst.Tuple) and len(index.elements) > 1:
            found.append([view.resolve(element.value, call) for element in index.elements[-2:]])
    if not found or len(found) != len(stores):
        return Skipped("the kernel does not store its result by the row and the column of a tile")
    if any(one[0] is not other[0] for pair in found for one, other in zip(pair, found[0], strict=True)):
        return Skipped("the kernel stores tiles at different rows and columns")
    return found[0][0], found[0][1]


def _of_axes(
    view: KernelView, axes: Mapping[cst.Call, int], pair: tuple[cst.Call, cst.Call], first: cst.BaseStatement
) -> Decoding | Skipped:
    """Row and column are the block's numbers along two axes of the grid."""
    row, column = axes[pair[0]], axes[pair[1]]
    if row == column or any(list(axes.values()).count(axis) != 1 for axis in (row, column)):
        return Skipped("the kernel asks for the block's row or column more than once")
    tile, (low, high) = view.tile, sorted((row, column))
    width = "<rows>" if row == low else "<columns>"
    block = f"{tile}.{BLOCK}({low}) + {tile}.{BLOCK}({high}) * {width}"
    return Decoding(*pair, first, f"{tile}.{BLOCKS}({row})", f"{tile}.{BLOCKS}({column})", block)


def _of_number(
    view: KernelView,
    row: tuple[cst.BaseExpression, cst.CSTNode],
    column: tuple[cst.BaseExpression, cst.CSTNode],
    first: cst.BaseStatement,
) -> Decoding | Skipped:
    """Row and column are quotient and remainder of one number."""
    parts = [_divided(expression) for expression, _ in (row, column)]
    if parts[0] is None or parts[1] is None or parts[0].quotient == parts[1].quotient:
        return Skipped("the row and the column of the tile are not decoded row by row (they may be grouped already)")
    quotient, remainder = parts if parts[0].quotient else parts[::-1]
    assert quotient is not None
    assert remainder is not None
    alike = code(quotient.divisor) == code(remainder.divisor) and code(quotient.number) == code(remainder.number)
    places = (row[1], column[1])
    same = all(view.bindings.same(part, *places) for part in (quotient.divisor, quotient.number))
    if not alike or not same:
        return Skipped("the row and the column of the tile are not decoded from one number")
    other = _number_of_others(view, quotient, row[1])
    if isinstance(other, Skipped):
        return other
    inner, number = code(quotient.divisor), code(quotient.number)
    rows, columns = (other, inner) if parts[0].quotient else (inner, other)
    return Decoding(row[0], column[0], first, rows, columns, number)


@dataclass(frozen=True, eq=False)
class _Divided:
    """`number // divisor` or `number % divisor`."""

    number: cst.BaseExpression
    divisor: cst.BaseExpression
    quotient: bool


def _divided(expression: cst.BaseExpression) -> _Divided | None:
    match expression:
        case cst.BinaryOperation(left=number, operator=cst.FloorDivide() | cst.Modulo() as operator, right=divisor):
            return _Divided(number, divisor, isinstance(operator, cst.FloorDivide))
    return None


def _number_of_others(view: KernelView, quotient: _Divided, place: cst.CSTNode) -> str | Skipped:
    """How many quotients there are: the numbers end at a product of the divisor and this."""
    number, where = view.resolve(quotient.number, place)
    loop = strided_loop(view)
    if loop is not None:
        if not isinstance(quotient.number, cst.Name) or quotient.number.value != code(loop.target):
            return Skipped("the tile is not decoded from the number of the item")
        if sum(n.value == code(loop.target) for n in name_nodes(loop.body)) != 2:
            return Skipped("the number of the item is used for more than the row and the column of the tile")
        stop, stands = view.resolve(cst.ensure_type(loop.iter, cst.Call).args[1].value, loop)
        return _other_factor(view, (stop, stands), quotient, place)
    if not view.is_call(number, BLOCK) or integer(argument(cst.ensure_type(number, cst.Call), 0, "axis")) != 0:
        return Skipped("the tile is not decoded from the number of the block")
    return _of_launches(view, quotient, where)


def _other_factor(view: KernelView, stop: Value, quotient: _Divided, place: cst.CSTNode) -> str | Skipped:
    """The factor beside the divisor in the product that the items end at."""
    for factor, other in permutations(_factors(stop[0])):
        alike = code(factor) == code(quotient.divisor) and view.bindings.same(factor, stop[1], place)
        if alike or _equal(view, (factor, stop[1]), (quotient.divisor, place)):
            names = names_in(other)
            if names and all(view.bindings.same(cst.Name(name), stop[1], place) for name in names):
                return code(other)
    return Skipped("the number of items is not known to be the product of the tiles along both directions")


def _equal(view: KernelView, one: Value, other: Value) -> bool:
    """Whether two numbers of the kernel are equal at all of its launches."""
    sites = launch_sites(view.source)
    if isinstance(sites, Skipped):
        return False
    for site in sites:
        form = Canonical(view, HostValues(view.source, site, view.tile, arrays(view.source)))
        known = form.of_kernel(*one)
        if known is None or known != form.of_kernel(*other):
            return False
    return True


def _of_launches(view: KernelView, quotient: _Divided, place: cst.CSTNode) -> str | Skipped:
    """The quotients of a block's number: the grid of every launch is the divisor times a whole number."""
    calls = axis_calls(view, BLOCK)
    uses = [n for n in name_nodes(view.source.function.body) if code(n) == code(quotient.number)]
    written = isinstance(quotient.number, cst.Name)
    count = sum(axis == 0 for _, axis in calls) if not isinstance(calls, Skipped) else 0
    if count != (1 if written else 2) or (written and len(uses) != 3):
        return Skipped("the number of the block is used for more than the row and the column of the tile")
    sites = launch_sites(view.source)
    if isinstance(sites, Skipped):
        return sites
    for site in sites:
        grid, stands = site.wrapper.resolve(site.axes[0], site.grid)
        form = Canonical(view, HostValues(view.source, site, view.tile, arrays(view.source)))
        divisor = form.of_kernel(quotient.divisor, place)
        factors = _factors(grid)
        if divisor is None or divisor not in [form.of_host(factor, stands) for factor in factors]:
            line = view.source.line(site.call)
            return Skipped(f"line {line}: the grid is not known to be whole rows of tiles")
    return f"{view.tile}.{BLOCKS}(0) // {code(quotient.divisor)}"


def _factors(expression: cst.BaseExpression) -> list[cst.BaseExpression]:
    match expression:
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            return [left, right]
    return []
