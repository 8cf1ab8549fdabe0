"""Where a kernel's tile sizes come from: the integer literals that reach its `ct.Constant` parameters through ct.launch.

A tile size can be edited only if one assignment of a literal decides it and the launch and the grid follow it by name.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kdiag.executors.edits.base import Skipped
from kdiag.executors.edits.launches.launch_site import LaunchSite, TileConstant
from kdiag.executors.edits.syntax.bindings import names_in
from kdiag.executors.edits.syntax.kernel_source import KernelSource, argument, dotted, nodes, positional

TUNERS = ("exhaustive_search", "autotune_launch")
# The members of cuda.tile that take a tile's shape: the position and the name of that argument.
SHAPE_ARGUMENTS = {
    "load": (2, "shape"),
    "num_tiles": (2, "shape"),
    "arange": (0, "size"),
    "full": (0, "shape"),
    "zeros": (0, "shape"),
    "ones": (0, "shape"),
}


def tile_constants(read: KernelSource) -> dict[str, TileConstant | Skipped] | Skipped:
    """For each parameter that sizes a tile, its constant or why it cannot be edited; or why none can."""
    kernel = read.function.name.value
    every = read.calls("launch", within=read.module)
    launches = [call for call in every if _launched(call) == kernel]
    if _is_tuned(read, launches):
        return Skipped(f"the launch of {kernel} is autotuned")
    if not launches:
        return Skipped(f"the file has no ct.launch of {kernel}")
    sizes = {name for shape in shapes(read) for name in names_in(shape)}
    parameters = [p for p in _constant_parameters(read) if p in sizes]
    if not parameters:
        return Skipped("no ct.Constant[int] parameter sizes a tile")
    others = {name for call in every if call not in launches for name in names_in(call)}
    return {parameter: _agreed(read, launches, parameter, others) for parameter in parameters}


def shapes(read: KernelSource) -> Iterator[cst.BaseExpression]:
    """The expressions in the kernel that say how large a tile is."""
    for member, (position, name) in SHAPE_ARGUMENTS.items():
        for call in read.calls(member):
            if (shape := argument(call, position, name)) is not None:
                yield shape


def _launched(call: cst.Call) -> str | None:
    values = positional(call)
    return dotted(values[2]) if len(values) > 2 else None


def _is_tuned(read: KernelSource, launches: list[cst.Call]) -> bool:
    """Whether a tuner gets the kernel, or every launch goes through a kernel object made from it."""
    kernel = read.function.name.value
    for call in nodes(read.module, cst.Call):
        name = (dotted(call.func) or "").rpartition(".")[2]
        if name in TUNERS and kernel in names_in(call):
            return True
        if not launches and dotted(call.func) == f"{kernel}.replace_hints":
            return True
    return False


def _constant_parameters(read: KernelSource) -> Iterator[str]:
    """The kernel's parameters annotated with ct.Constant, directly or through a name for it."""
    aliases = {
        target.target.value
        for statement in nodes(read.module, cst.Assign)
        if _is_constant(read, statement.value)
        for target in statement.targets
        if isinstance(target.target, cst.Name)
    }
    for parameter in read.function.params.params:
        if parameter.annotation is not None:
            kind = parameter.annotation.annotation
            if _is_constant(read, kind) or dotted(kind) in aliases:
                yield parameter.name.value


def _is_constant(read: KernelSource, kind: cst.BaseExpression) -> bool:
    return read.names.resolve(kind.value if isinstance(kind, cst.Subscript) else kind) == "Constant"


def _agreed(
    read: KernelSource, launches: list[cst.Call], parameter: str, others: set[str]
) -> TileConstant | Skipped:
    """The constant that all launches of the kernel pass for a parameter."""
    found = [LaunchSite(read, call).constant(parameter) for call in launches]
    first = found[0]
    for constant in found:
        if isinstance(constant, Skipped) or isinstance(first, Skipped):
            return constant if isinstance(constant, Skipped) else first
        if constant.literal is not first.literal:
            return Skipped(f"the launches of the kernel pass different constants for {parameter}")
    if isinstance(first, TileConstant) and first.name in others:
        return Skipped(f"{first.name} is also passed to another kernel")
    return first
