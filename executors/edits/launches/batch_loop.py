"""A loop of a launch wrapper that launches one kernel for each of several tensors, read so that one launch can do it."""

from dataclasses import dataclass

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import name_nodes, names_in
from ..syntax.kernel_source import KernelSource, argument, dotted, entries, integer, last_name, nodes, positional
from ..syntax.kernel_view import code
from .host_arithmetic import rounded_up
from .launch_site import launches

MEMORY = ("load", "gather", "store", "scatter")
PURE = ("cdiv", "ceil", "current_stream", "numel", "size", "div_up", "ceil_div")


@dataclass(frozen=True, eq=False)
class BatchLoop:
    """The loop, its launch, and what the launch passes.

    `columns` names the kernel's array for each name of the loop's target, in the order of the target; `written` are the
    positions in it of arrays that the kernel writes. The first axis of the grid has `extent` (an expression in the
    kernel, such as `x.shape[0]`) over `tile` (a parameter) blocks; `flat` says that the array must have one dimension.
    """

    loop: cst.For
    launch: cst.Call
    columns: tuple[str, ...]
    written: tuple[int, ...]
    extent: str
    tile: str
    count: str
    flat: str | None


def batch_loop(read: KernelSource) -> BatchLoop | Skipped:
    """The only loop that launches the kernel, if its items are independent of all but their own tensors."""
    kernel = read.name
    looped = [
        (call, loop)
        for call in launches(read)
        if isinstance(loop := read.around(call, cst.For, cst.FunctionDef), cst.For)
    ]
    if not looped:
        return Skipped(f"no loop of the file launches {kernel} once for each of several tensors")
    if len(looped) > 1:
        return Skipped(f"more than one loop launches {kernel}")
    call, loop = looped[0]
    line = read.line(loop)
    if loop.orelse is not None or loop.asynchronous is not None:
        return Skipped(f"line {line}: the loop has an else branch or awaits")
    local = _locals(read, loop, call)
    if local is None:
        return Skipped(f"line {line}: the loop does more than launch {kernel}")
    targets = _targets(loop)
    if targets is None:
        return Skipped(f"line {line}: the items of the loop are not tuples of names")
    return _launch(read, loop, call, targets, local)


def _locals(read: KernelSource, loop: cst.For, call: cst.Call) -> dict[str, cst.BaseExpression] | None:
    """What the loop assigns before its last statement, the launch; None if it does anything else."""
    if not isinstance(loop.body, cst.IndentedBlock):
        return None
    *before, last = loop.body.body
    if not isinstance(last, cst.SimpleStatementLine) or len(last.body) != 1:
        return None
    if not isinstance(last.body[0], cst.Expr) or last.body[0].value is not call:
        return None
    found: dict[str, cst.BaseExpression] = {}
    for line in before:
        assign = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
            return None
        name = assign.targets[0].target
        if not isinstance(name, cst.Name) or name.value in found or not _is_pure(assign.value):
            return None
        found[name.value] = assign.value
    rest = [argument.value for argument in call.args[:2]]
    later = [name for name in found if _read_later(read, loop, name)]
    return found if all(map(_is_pure, rest)) and not later else None


def _is_pure(expression: cst.BaseExpression) -> bool:
    return all(last_name(call.func) in PURE for call in nodes(expression, cst.Call))


def _read_later(read: KernelSource, loop: cst.For, name: str) -> bool:
    """Whether the function may use a name of the loop behind it: below it, or above it where it is run again."""
    function = read.around(loop, cst.FunctionDef)
    again = isinstance(read.around(loop, cst.For, cst.While, cst.FunctionDef), cst.For | cst.While)
    inside, ends = set(name_nodes(loop)), read.positions[loop].end.line
    everywhere = name_nodes(function) if function is not None else []
    uses = [node for node in everywhere if node.value == name and node not in inside]
    return any(again or read.positions[node].start.line > ends for node in uses)


def _targets(loop: cst.For) -> list[str] | None:
    if not isinstance(loop.target, cst.Tuple):
        return None
    names = [dotted(element.value) for element in loop.target.elements]
    known = [name for name in names if name is not None and "." not in name]
    return known if len(known) == len(names) == len(set(known)) else None


def _launch(
    read: KernelSource, loop: cst.For, call: cst.Call, targets: list[str], local: dict[str, cst.BaseExpression]
) -> BatchLoop | Skipped:
    """The loop with what its launch passes, each tensor of an item once and everything else the same for all items."""
    line = read.line(call)
    passed = positional(call)[3]
    parameters = read.parameters
    if not isinstance(passed, cst.Tuple) or len(passed.elements) != len(parameters) or len(call.args) != 4:
        return Skipped(f"line {line}: the arguments of ct.launch are not written out as a tuple")
    values = dict(zip(parameters, entries(passed), strict=True))
    columns = {name: parameter for parameter, value in values.items() if (name := dotted(value)) in targets}
    others = {name for parameter, value in values.items() if dotted(value) not in targets for name in names_in(value)}
    arrays = {array for call in read.calls(*MEMORY) if (array := dotted(argument(call, 0, "array"))) is not None}
    if set(columns) != set(targets) or others & {*targets, *local} or not arrays.issuperset(columns.values()):
        return Skipped(f"line {line}: the launch passes more of an item than its tensors")
    if any(_read_later(read, loop, target) for target in targets):
        return Skipped(f"line {line}: a tensor of the last item is used behind the loop")
    grid = _grid(positional(call)[1], local, columns, values)
    if grid is None:
        return Skipped(f"line {line}: the grid is not the number of tiles along one axis of an item's tensor")
    extent, tile, count, flat = grid
    stored = {dotted(argument(call, 0, "array")) for call in read.calls("store", "scatter")}
    order = tuple(columns[target] for target in targets)
    written = tuple(at for at, parameter in enumerate(order) if parameter in stored)
    return BatchLoop(loop, call, order, written, extent, tile, count, flat)


def _grid(
    grid: cst.BaseExpression,
    local: dict[str, cst.BaseExpression],
    columns: dict[str, str],
    values: dict[str, cst.BaseExpression],
) -> tuple[str, str, str, str | None] | None:
    """The extent in the kernel, the tile's parameter, the same count on the host, and the array that must be flat."""
    grid = local.get(dotted(grid) or "", grid)
    if not isinstance(grid, cst.Tuple) or any(integer(e.value) != 1 for e in grid.elements[1:]):
        return None
    counted = rounded_up(grid.elements[0].value)
    if counted is None:
        return None
    extent, tile = counted
    tiles = [parameter for parameter, value in values.items() if code(value) == code(tile)]
    extent = local.get(dotted(extent) or "", extent)
    text = code(extent)
    for name, parameter in columns.items():
        if tiles and text == f"{name}.numel()":
            return f"{parameter}.shape[0]", tiles[0], _count(name, "numel()", tile), name
        axis = text.removeprefix(f"{name}.shape[").removesuffix("]")
        if tiles and text == f"{name}.shape[{axis}]" and axis.isdecimal():
            return f"{parameter}.shape[{axis}]", tiles[0], _count(name, f"shape[{axis}]", tile), None
    return None


def _count(name: str, extent: str, tile: cst.BaseExpression) -> str:
    return f"-(-{name}.{extent} // {code(tile)})"
