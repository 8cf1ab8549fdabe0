"""Where a file launches or tunes a kernel, and what a search may run on: the facts that every variant of C needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from ..syntax.bindings import name_nodes, names_in
from ..syntax.kernel_source import KernelSource, argument, dotted, keyword, last_name, nodes, positional
from .launch_site import LaunchSite
from .tile_constants import constant_parameters

READING = ("load", "gather", "num_tiles")
# Attributes of an array that reach no element of it.
PROPERTIES = ("shape", "dtype", "ndim", "strides")
SEARCH, LEGACY = "exhaustive_search", "autotune_launch"
DEEPEST_CALL = 6


@dataclass(frozen=True, eq=False)
class Search:
    """One call of a tuner for a kernel. `hints_fn` is None where the search sets no hints."""

    call: cst.Call
    function: cst.FunctionDef
    space: cst.BaseExpression
    grid_fn: cst.BaseExpression
    args_fn: cst.BaseExpression
    hints_fn: cst.BaseExpression | None


def searches(read: KernelSource) -> list[Search]:
    """The calls of `ct.tune.exhaustive_search` that name the kernel, each in a function."""
    found = []
    for call in _tuners(read, SEARCH):
        parts = [
            argument(call, *place) for place in ((0, "search_space"), (2, "grid_fn"), (4, "args_fn"), (5, "hints_fn"))
        ]
        function = read.around(call, cst.FunctionDef)
        space, grid, args, hints = parts
        if function is not None and space is not None and grid is not None and args is not None:
            found.append(Search(call, function, space, grid, args, hints))
    return found


def legacy_searches(read: KernelSource) -> list[cst.Call]:
    """The calls of `autotune_launch`, which cuda-tile 1.7 no longer has, that name the kernel."""
    return [call for call in _tuners(read, LEGACY) if dotted(argument(call, 2, "kernel"))]


def is_tuned(read: KernelSource) -> bool:
    """Whether a tuner gets the kernel, or the launch goes through kernel objects that are made from it."""
    kernel = read.name
    given = [keyword(call, "kernel") for call in nodes(read.module, cst.Call)]
    return (
        any(
            kernel in names_in(call)
            for call in nodes(read.module, cst.Call)
            if (dotted(call.func) or "").endswith("replace_hints")
        )
        or any(dotted(named.value) == kernel for named in given if named is not None)
        or bool(_tuners(read, SEARCH) or _tuners(read, LEGACY))
    )


def plain_launches(read: KernelSource) -> list[cst.Call]:
    """The `ct.launch` calls of the kernel, by its name or by a local name for it."""
    return [
        call
        for call in read.calls("launch", within=read.module)
        if len(values := positional(call)) > 2 and dotted(local_value(read, values[2], call)) == read.name
    ]


def on_current_stream(read: KernelSource, launch: cst.Call) -> bool:
    """Whether a call's first argument is torch's current stream, on which torch makes its copies."""
    values = positional(launch)
    stream = local_value(read, values[0], launch) if values else None
    return isinstance(stream, cst.Call) and dotted(stream.func) == "torch.cuda.current_stream"


def local_value(read: KernelSource, expression: cst.BaseExpression, use: cst.Call) -> cst.BaseExpression:
    """What a local name certainly stands for at a place; other expressions stand for themselves."""
    return LaunchSite(read, use).value(expression)


def not_read_only(read: KernelSource) -> tuple[int, ...]:
    """The positions of the parameters that may be written: all but scalars and arrays that are only read."""
    parameters = read.function.params.params
    return tuple(
        at
        for at, parameter in enumerate(parameters)
        if parameter.annotation is None and not _only_read(read, read.function, parameter.name.value, 0)
    )


def constants(read: KernelSource) -> tuple[int, ...]:
    """The positions of the `ct.Constant` parameters."""
    names = read.parameters
    return tuple(names.index(name) for name in constant_parameters(read))


def top_statement(read: KernelSource, node: cst.CSTNode) -> cst.CSTNode:
    """The statement of the module that holds a node."""
    while not isinstance(read.parents.get(node), cst.Module):
        node = read.parents[node]
    return node


@lru_cache(maxsize=4)
def module_functions(read: KernelSource) -> dict[str, cst.FunctionDef]:
    """The functions of the module by name; of two with one name, neither."""
    found: dict[str, list[cst.FunctionDef]] = {}
    for statement in read.module.body:
        if isinstance(statement, cst.FunctionDef):
            found.setdefault(statement.name.value, []).append(statement)
    return {name: functions[0] for name, functions in found.items() if len(functions) == 1}


def _tuners(read: KernelSource, tuner: str) -> list[cst.Call]:
    kernel = read.name
    return [
        call
        for call in nodes(read.module, cst.Call)
        if last_name(call.func) == tuner and dotted(argument(call, 3 if tuner == SEARCH else 2, "kernel")) == kernel
    ]


def _only_read(read: KernelSource, function: cst.FunctionDef, name: str, depth: int) -> bool:
    """Whether every use of an array's name in a function, and in those it is passed to, only reads it."""
    uses = [node for node in name_nodes(function.body) if node.value == name]
    return depth < DEEPEST_CALL and all(_reads(read, use, depth) for use in uses)


def _reads(read: KernelSource, use: cst.Name, depth: int) -> bool:
    parent = read.parents[use]
    if isinstance(parent, cst.Attribute):
        return parent.value is use and parent.attr.value in PROPERTIES
    call = read.parents.get(parent)
    if not isinstance(parent, cst.Arg) or not isinstance(call, cst.Call) or parent.star:
        return False
    if read.names.resolve(call.func) in READING:
        return argument(call, 0, "array") is use
    passed = list(_passed(read, call, use))
    return bool(passed) and all(_only_read(read, function, name, depth + 1) for function, name in passed)


def _passed(read: KernelSource, call: cst.Call, use: cst.Name) -> Iterator[tuple[cst.FunctionDef, str]]:
    """The function of the module that a call hands an argument to by position, and its name for it."""
    function = module_functions(read).get(dotted(call.func) or "")
    values = positional(call)
    if function is not None and use in values:
        at, parameters = values.index(use), function.params.params
        if at < len(parameters):
            yield function, parameters[at].name.value
