"""One tile that holds a whole row of the data becomes several, counted by a second axis of the grid.

It is exact for a kernel that computes every element from its row and column alone: the same columns are worked on, each
by one block as before, only by more blocks. The new axis counts `next_power_of_2(n) // TILE` tiles, not
`cdiv(n, TILE)`, so that columns behind the row that used to be written still are.
"""

from collections.abc import Iterator

import libcst as cst

from ..accesses.tile_shapes import ELEMENTWISE
from ..base import Skipped
from ..syntax.bindings import name_nodes, names_in
from ..syntax.kernel_source import KernelSource, argument, dotted, integer, method, nodes, positional
from .blocks import called_functions
from .launch_site import LaunchSite
from .tile_constant import TileConstant
from .tile_reductions import reduces
from .tile_shapes import SHAPE_ARGUMENTS

# Tile loads and stores are none of them: a tile that lies wholly outside its array is undefined.
ALLOWED = {*ELEMENTWISE, "gather", "scatter", "arange", "bid"}
Changes = dict[cst.CSTNode, cst.CSTNode]


def split_rows(site: LaunchSite, constant: TileConstant, name: str) -> Changes | Skipped:
    """What changes in the kernel and in the grid, or why the row has to stay in one piece.

    `name` is what the launch calls the size.
    """
    read = site.read
    why = _not_elementwise(read) or _second_axis_used(read)
    kernel = None if why is not None else _kernel_changes(read, constant.parameter)
    if kernel is None:
        return _whole(site, constant, why or "it is used for more than the columns")
    grid = _grid_change(site, constant, name)
    if grid is None:
        return _whole(site, constant, "the grid has no axis left that could count its tiles")
    return kernel | grid


def _whole(site: LaunchSite, constant: TileConstant, why: str) -> Skipped:
    text = site.read.text(constant.capped[0])
    return Skipped(f"{constant.parameter} is computed from the data ({text}) to hold a whole row, and {why}")


def _not_elementwise(read: KernelSource) -> str | None:
    """What the kernel or its functions do besides computing one element from others at its place."""
    if reduces(read):
        return "the kernel reduces it"
    every = (read.function, *called_functions(read))
    for function in every:
        for kind in (cst.For, cst.While, cst.If, cst.IfExp, cst.Lambda):
            if (found := next(nodes(function.body, kind), None)) is not None:
                return f"line {read.line(found)} branches or loops"
        for call in nodes(function.body, cst.Call):
            member, own = read.names.resolve(call.func), dotted(call.func)
            known = member in ALLOWED or method(call) == "astype" or own in {f.name.value for f in every}
            if not known:
                return f"line {read.line(call)} calls {own or 'a method'}, which is not known to be elementwise"
    reading = {dotted(argument(call, 0, "array")) for call in read.calls("gather")}
    writing = {dotted(argument(call, 0, "array")) for call in read.calls("scatter")}
    both = sorted(name for name in reading & writing if name)
    return f"{both[0]} is read and written" if both else None


def _second_axis_used(read: KernelSource) -> str | None:
    axes = [argument(call, 0, "axis") for call in read.calls("bid")]
    if any(integer(axis) != 0 for axis in axes):
        return "the kernel uses another axis of the grid already"
    return None


def _kernel_changes(read: KernelSource, parameter: str) -> Changes | None:
    """Columns that count from the block's own tile; None if the size is used in another way."""
    tile = min(read.names.modules, default="")
    uses = [node for node in name_nodes(read.function.body) if node.value == parameter]
    changes: Changes = {}
    understood = 0
    for call in read.calls("arange"):
        size = argument(call, *SHAPE_ARGUMENTS["arange"])
        if dotted(size) != parameter:
            return None
        understood += 1
        offset = cst.parse_expression(f"({tile}.bid(1) * {parameter} + {read.text(call)})")
        changes[call] = offset
    return changes if tile and understood == len(uses) else None


def _grid_change(site: LaunchSite, constant: TileConstant, name: str) -> Changes | None:
    """The grid with a second axis; None if it is no tuple of one axis that this launch alone uses."""
    written = positional(site.launch)[1]
    grid = site.value(written)
    if not isinstance(grid, cst.Tuple) or not 1 <= len(grid.elements) <= 3 or site.bindings is None:
        return None
    spare = [integer(element.value) == 1 for element in grid.elements[1:]]
    (expression,) = constant.capped
    place = grid if isinstance(written, cst.Tuple) else _assignment(site, written)
    after = site.read.line(place) > site.read.line(constant.assignment)
    if not all(spare) or not after or _shared(site, written):
        return None
    if not site.bindings.same(expression, constant.assignment, place):
        return None
    text = site.read.text(expression)
    text = text if isinstance(expression, cst.Call) else f"({text})"
    count = cst.parse_expression(f"{text} // {name}")
    if len(grid.elements) > 1:
        return {grid.elements[1].value: count}
    only = grid.elements[0].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    return {grid: grid.with_changes(elements=[only, cst.Element(count)])}


def _assignment(site: LaunchSite, written: cst.BaseExpression) -> cst.CSTNode:
    bound = site.bindings.reaching(dotted(written) or "", site.launch) if site.bindings is not None else None
    return written if bound is None else bound.node


def _shared(site: LaunchSite, written: cst.BaseExpression) -> bool:
    """Whether anything but this launch reads the grid's name."""
    if isinstance(written, cst.Tuple) or site.wrapper is None or site.bindings is None:
        return False
    here = site.bindings.reaching(dotted(written) or "", site.launch)
    return any(
        node is not written and site.bindings.reaching(node.value, node) is here
        for node in _reads(site.wrapper, dotted(written) or "")
    )


def _reads(wrapper: cst.FunctionDef, name: str) -> Iterator[cst.Name]:
    targets = [target.target for statement in nodes(wrapper, cst.Assign) for target in statement.targets]
    for node in name_nodes(wrapper.body):
        if node.value == name and node not in targets and names_in(node):
            yield node
