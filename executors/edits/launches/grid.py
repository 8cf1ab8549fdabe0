"""Where a file launches a kernel: the grid and the arguments of each launch, written out as tuples.

`ct.launch` and the tuners are read; a grid or arguments may be written in place, through a name of their own, or as what
a lambda or a local function returns. Every mention of the kernel must be one that is understood, so that no launch in
the file stays unseen.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import name_nodes, names_in
from ..syntax.kernel_source import KernelSource, argument, dotted, last_name, nodes
from .wrapper import Wrapper, module_nodes

TUNERS = ("exhaustive_search", "autotune_launch")
HINTS = "replace_hints"
MOST_STEPS = 4


@dataclass(frozen=True, eq=False)
class Site:
    """One launch of the kernel, or one search for its best configuration: its grid and its arguments as tuples.

    A new grid goes to `grid_slot`: the tuple itself, or the name of a tuple that others use as well. `own_arguments` is
    whether nothing else uses the tuple of the arguments.
    """

    wrapper: Wrapper
    call: cst.Call
    grid: cst.Tuple
    arguments: cst.Tuple
    grid_slot: cst.BaseExpression
    own_arguments: bool

    @property
    def axes(self) -> list[cst.BaseExpression]:
        return [element.value for element in self.grid.elements]

    @property
    def passed(self) -> list[cst.BaseExpression]:
        """The expressions of the arguments, in the order of the kernel's parameters."""
        return [element.value for element in self.arguments.elements]


def launch_sites(read: KernelSource) -> tuple[Site, ...] | Skipped:
    """Every launch of the kernel in its file, or why one cannot be read."""
    kernel = read.name
    found: list[tuple[Wrapper, cst.Call]] = []
    understood: list[cst.CSTNode] = []
    unknown: list[cst.Call] = []
    for call, launched in _launches(read):
        wrapper = Wrapper.around(read, call)
        if isinstance(wrapper, Skipped):
            return wrapper
        kernels = _kernels(read, wrapper, launched, call, 0)
        if kernels is None:
            unknown.append(call)
        elif kernel in kernels:
            if kernels != {kernel}:
                return read.refused(call, f"launches {kernel} or another kernel")
            found.append((wrapper, call))
            understood.append(launched)
    stray = _strays(read, understood, unknown)
    if stray is not None:
        return stray
    sites: list[Site] = []
    for wrapper, call in found:
        site = _site(read, wrapper, call, [other for _, other in found])
        if isinstance(site, Skipped):
            return site
        sites.append(site)
    return tuple(sites) or Skipped(f"the file has no launch of {kernel}")


def _launches(read: KernelSource) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Every launch and search in the file with what it launches."""
    for call in nodes(read.module, cst.Call):
        name = read.names.resolve(call.func)
        searched = last_name(call.func) in TUNERS
        if name != "launch" and not searched:
            continue
        launched = argument(call, 3 if searched else 2, "kernel")
        if launched is not None:
            yield call, launched


def _kernels(
    read: KernelSource, wrapper: Wrapper, expression: cst.BaseExpression, place: cst.CSTNode, steps: int
) -> set[str] | None:
    """The names of the kernels that an expression may stand for; None where that cannot be told."""
    expression, place = wrapper.resolve(expression, place)
    if steps > MOST_STEPS:
        return None
    match expression:
        case cst.Name(value=name):
            return _named(read, wrapper, name, place, steps)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=called))) if called == HINTS:
            return _kernels(read, wrapper, inner, place, steps + 1)
        case cst.Call(args=[cst.Arg(value=inner), *_]) if (dotted(expression.func) or "").endswith(HINTS):
            return _kernels(read, wrapper, inner, place, steps + 1)
        case cst.IfExp(body=one, orelse=other):
            either = [_kernels(read, wrapper, part, place, steps + 1) for part in (one, other)]
            return None if either[0] is None or either[1] is None else either[0] | either[1]
    return None


def _named(read: KernelSource, wrapper: Wrapper, name: str, place: cst.CSTNode, steps: int) -> set[str] | None:
    """The kernels that a name stands for: a function of the file, or what the file keeps in a dictionary."""
    if wrapper.is_global(name, place):
        return {name} if _defines(read, name) else None
    item = wrapper.unpacked(name, place)
    if item is None or not isinstance(item[0], cst.Subscript):
        return None
    return _cached(read, item[0].value, item[1], steps)


def _cached(read: KernelSource, cache: cst.BaseExpression, item: int, steps: int) -> set[str] | None:
    """The kernels in one position of the tuples that the file puts into a dictionary."""
    kernels: set[str] = set()
    for assign in nodes(read.module, cst.Assign):
        for target in assign.targets:
            into = target.target
            if not isinstance(into, cst.Subscript) or dotted(into.value) != dotted(cache):
                continue
            wrapper = Wrapper.around(read, assign)
            value = assign.value
            if isinstance(wrapper, Skipped) or not isinstance(value, cst.Tuple) or item >= len(value.elements):
                return None
            here = _kernels(read, wrapper, value.elements[item].value, assign, steps + 1)
            if here is None:
                return None
            kernels |= here
    return kernels or None


def _site(read: KernelSource, wrapper: Wrapper, call: cst.Call, launches: list[cst.Call]) -> Site | Skipped:
    """The launch with its grid and arguments, or why they cannot be read."""
    found: list[cst.Tuple] = []
    for expression, what in zip(_written(read, call), ("a grid", "arguments"), strict=True):
        value = wrapper.tuple_of(expression, call)
        if value is None or any(isinstance(element, cst.StarredElement) for element in value.elements):
            return read.refused(call, f"launches the kernel with {what} not written out as a tuple")
        found.append(value)
    grid, arguments = found
    written, passed = _written(read, call)
    own = [wrapper.only_in(expression, call, launches) for expression in (written, passed)]
    slot: cst.BaseExpression = grid
    if not own[0]:
        moved = all(wrapper.same((axis.value, grid), (axis.value, call)) for axis in grid.elements)
        if not isinstance(written, cst.Name) or not moved:
            return read.refused(call, "takes its grid from a function or name that something else uses")
        slot = written
    return Site(wrapper, call, grid, arguments, slot, own[1])


def _written(read: KernelSource, call: cst.Call) -> tuple[cst.BaseExpression | None, cst.BaseExpression | None]:
    """What stands for the grid and for the arguments in a launch or a search."""
    if read.names.resolve(call.func) == "launch":
        return argument(call, 1, "grid"), argument(call, 3, "kernel_args")
    return argument(call, 2, "grid_fn"), argument(call, 4, "args_fn")


def _strays(read: KernelSource, launched: list[cst.CSTNode], unknown: list[cst.Call]) -> Skipped | None:
    """Why the kernel may be launched at a place that is not understood."""
    kernel = read.name
    for name in module_nodes(read, cst.Name):
        parent = read.parents[name]
        if name.value != kernel or name is read.function.name:
            continue
        if (isinstance(parent, cst.Attribute) and parent.attr is name) or (
            isinstance(parent, cst.Arg) and parent.keyword is name
        ):
            continue
        hinted = isinstance(parent, cst.Attribute) and parent.attr.value == HINTS
        passed = isinstance(parent, cst.Arg) and isinstance(read.parents[parent], cst.Call)
        helper = passed and (dotted(cst.ensure_type(read.parents[parent], cst.Call).func) or "").endswith(HINTS)
        named = isinstance(parent, cst.Assign) and parent.value is name
        if not (hinted or helper or named or any(name in name_nodes(e) for e in launched)):
            return read.refused(name, f"uses {kernel} in a way that is not understood")
        wrapper = Wrapper.around(read, name)
        if isinstance(wrapper, Wrapper) and any(wrapper.holds(call) for call in unknown):
            call = next(call for call in unknown if wrapper.holds(call))
            return read.refused(call, f"may launch {kernel}, which cannot be told from the file")
    return None


def _defines(read: KernelSource, name: str) -> bool:
    """Whether the module defines a function of that name and never gives the name to anything else."""
    functions = [f for f in module_nodes(read, cst.FunctionDef) if f.name.value == name]
    assigned = any(name in names_in(target) for target in module_nodes(read, cst.AssignTarget))
    return len(functions) == 1 and not assigned
