"""Whether everything that depends on a tile size follows it: the grid, the kernel's loops, host values, other kernels."""

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import bound_names, names_in
from ..syntax.kernel_source import dotted, nodes
from ..syntax.kernel_view import is_number
from .host_uses import outside_functions, strays
from .launch_site import LaunchSite
from .split_rows import split_rows
from .tile_constant import TileConstant
from .tile_loops import counted_in_kernel, relies_on_multiples, rounded_down
from .tile_reductions import calls_unseen, reduced_uncombined
from .tile_starts import numbered_by_blocks, rounded_start
from .tile_visible import shows_size


def followed(site: LaunchSite, constant: TileConstant, chain: tuple[str, ...]) -> TileConstant | Skipped:
    """The constant with all that has to change with it, or what would be left behind."""
    grid = site.grid()
    in_grid = any(set(chain) & names_in(part) for part in grid)
    repeats = {} if in_grid else dict(_repeats(grid, constant.value or 0))
    constant = replace(constant, repeats=repeats)
    if (reason := _left_behind(site, constant, chain)) is not None:
        return Skipped(reason)
    if not (in_grid or repeats) and numbered_by_blocks(site.read, constant.parameter):
        return Skipped(f"blocks number the tiles of {constant.name}, and the grid is not seen to count them")
    if not (in_grid or repeats or counted_in_kernel(site.read, constant.parameter)):
        if not constant.capped:
            return Skipped(f"neither the grid nor a loop of the kernel counts tiles of {constant.name}")
        split = split_rows(site, constant, chain[0])
        return split if isinstance(split, Skipped) else _own(site, replace(constant, also=split), chain)
    whole = reduced_uncombined(site.read, constant.parameter)
    if constant.capped and (whole or calls_unseen(site.read)):
        text = site.read.text(constant.capped[0])
        return Skipped(
            f"{constant.parameter} is computed from the data ({text}): the kernel reduces a whole row at once"
        )
    grows = not (relies_on_multiples(site, constant.parameter) or rounded_down(grid, {*chain}, repeats))
    return _own(site, replace(constant, grows=grows, shrinks=not whole), chain)


def _left_behind(site: LaunchSite, constant: TileConstant, chain: tuple[str, ...]) -> str | None:
    """What would not follow the size, or would show it."""
    names = _derived(site, chain[-1]) if chain and _is_global(site, constant) else set[str]()
    return (
        _literal_elsewhere(site, constant)
        or shows_size(site.read, constant.parameter)
        or rounded_start(site.read, constant.parameter)
        or outside_functions(site.read, names, chain)
        or strays(site, {*chain, *names}, constant)
    )


def _is_global(site: LaunchSite, constant: TileConstant) -> bool:
    return site.read.around(constant.assignment, cst.FunctionDef) is None


def _repeats(grid: list[cst.BaseExpression], size: int) -> Iterator[tuple[cst.Integer, int]]:
    """The literals with which the grid counts tiles of this size: cdiv(n, 256), n / 256, (n + 255) // 256."""
    for part in grid:
        for call in nodes(part, cst.Call):
            name = (dotted(call.func) or "").lower()
            divides = len(call.args) == 2 and ("div" in name)
            if divides and is_number(call.args[1].value, size):
                yield cst.ensure_type(call.args[1].value, cst.Integer), 0
        for operation in nodes(part, cst.BinaryOperation):
            if isinstance(operation.operator, cst.Divide | cst.FloorDivide) and is_number(operation.right, size):
                yield cst.ensure_type(operation.right, cst.Integer), 0
                above = operation.left
                if isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Add):
                    for added in (above.left, above.right):
                        if is_number(added, size - 1):
                            yield cst.ensure_type(added, cst.Integer), -1


def _literal_elsewhere(site: LaunchSite, constant: TileConstant) -> str | None:
    """Where the size stands once more as a literal that would not follow: in the kernel or in the launch wrapper."""
    read, found = site.read, [*constant.literals, *constant.repeats]
    around = [read.function.body, *([site.wrapper.body] if site.wrapper is not None else [])]
    if constant.value is None:
        return None
    for literal in [literal for body in around for literal in nodes(body, cst.Integer)]:
        if literal.evaluated_value == constant.value and literal not in found and not _unrelated(site, literal):
            line = read.line(literal)
            return f"line {line} repeats the literal {constant.value} of {constant.name}"
    return None


def _unrelated(site: LaunchSite, literal: cst.Integer) -> bool:
    """Whether a literal certainly belongs to something else: another name, an entry of a table, a set of choices."""
    parent = site.read.parents.get(literal)
    if isinstance(parent, cst.Assign | cst.AnnAssign | cst.DictElement | cst.Param):
        return True
    if isinstance(parent, cst.Element):
        return isinstance(site.read.parents.get(parent), cst.Set)
    return isinstance(parent, cst.Arg) and parent.keyword is not None and "occupancy" in parent.keyword.value


def _own(site: LaunchSite, constant: TileConstant, chain: tuple[str, ...]) -> TileConstant | Skipped:
    """The constant, shadowed in the wrapper where functions beside the wrapper and the kernel read it as well."""
    if not chain or site.read.around(constant.assignment, cst.FunctionDef) is not None:
        return constant if not chain else _alone_in_wrapper(site, constant, chain)
    derived = _derived(site, chain[-1])
    readers = [
        function
        for function in nodes(site.read.module, cst.FunctionDef)
        if derived & names_in(function) and not _inside(site, function)
    ]
    if not readers:
        return _alone_in_wrapper(site, constant, chain)
    other = readers[0].name.value
    for reader in readers:
        if site.wrapper is not None and (_calls(site, site.wrapper, reader) or _calls(site, reader, site.wrapper)):
            return Skipped(f"{reader.name.value} computes with {chain[-1]} as well, perhaps what is passed")
    own = {site.read.function, *([site.wrapper] if site.wrapper is not None else [])}
    if any((derived - {chain[-1]}) & names_in(function) for function in own) or chain[-1] in names_in(
        site.read.function.body
    ):
        return Skipped(f"{other} computes with {chain[-1]} as well")
    if site.wrapper is None or len(chain) > 1:
        return Skipped(f"{chain[-1]} is also used by {other}")
    return _alone_in_wrapper(site, replace(constant, literals=(), chained=None, shadowed=(site.wrapper,)), chain)


def _calls(site: LaunchSite, caller: cst.FunctionDef, called: cst.FunctionDef) -> bool:
    """Whether a function calls another by its name, or through functions of the file."""
    functions = list(nodes(site.read.module, cst.FunctionDef))
    reached = [caller]
    for one in reached:
        names = {dotted(call.func) for call in nodes(one, cst.Call)}
        reached += [other for other in functions if other.name.value in names and other not in reached]
    return any(one is called for one in reached[1:])


def _derived(site: LaunchSite, name: str) -> set[str]:
    """The constant and the module's other names that are computed from it."""
    derived = {name}
    statements: list[cst.Assign | cst.AnnAssign | cst.AugAssign] = [*nodes(site.read.module, cst.Assign)]
    statements += [*nodes(site.read.module, cst.AnnAssign), *nodes(site.read.module, cst.AugAssign)]
    known = [
        (s, names_in(s.value))
        for s in statements
        if s.value is not None and site.read.around(s, cst.FunctionDef) is None
    ]
    while new := {bound.value for s, names in known if derived & names for bound in bound_names(s)} - derived:
        derived |= new
    return derived


def _inside(site: LaunchSite, function: cst.FunctionDef) -> bool:
    """Whether a function is the kernel, the wrapper, or stands inside or around the wrapper, or binds the name itself."""
    return any(node in (site.read.function, site.wrapper) for node in (function, *site.read.above(function)))


def _alone_in_wrapper(site: LaunchSite, constant: TileConstant, chain: tuple[str, ...]) -> TileConstant | Skipped:
    """The constant, unless its wrapper launches another kernel with it."""
    if site.wrapper is None:
        return constant
    kernel = site.read.name
    for call in site.read.calls("launch", within=site.wrapper):
        launched = {name for argument in call.args for name in names_in(argument.value)}
        if kernel not in launched and any(_same(site, call, name) for name in set(chain) & _reached(site, call)):
            return Skipped(f"{chain[0]} is also passed to another kernel")
    return constant


def _same(site: LaunchSite, call: cst.Call, name: str) -> bool:
    """Whether a name has the same value at another launch, or may have."""
    if site.bindings is None:
        return True
    here, there = site.bindings.reaching(name, site.launch), site.bindings.reaching(name, call)
    return here is None or there is None or here is there


def _reached(site: LaunchSite, call: cst.Call) -> set[str]:
    """The names that a launch uses, those behind its local names included."""
    other = LaunchSite(site.read, call)
    reached, waiting = set[str](), list(names_in(call))
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += names_in(other.value(cst.Name(name))) - {name}
    return reached
