"""Where a kernel's tile sizes come from: the integer literals that reach its `ct.Constant` parameters through ct.launch.

A tile size can be edited only if one assignment of a literal decides it and the launch and the grid follow it by name.
"""

from collections.abc import Iterator

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import names_in
from ..syntax.kernel_source import KernelSource, dotted, last_name, nodes
from .launch_site import LaunchSite, launches
from .tile_constant import TileConstant
from .tile_origin import origin
from .tile_shapes import shapes
from .tile_uses import followed

TUNERS = ("exhaustive_search", "autotune_launch")


def tile_constants(read: KernelSource) -> dict[str, TileConstant | Skipped] | Skipped:
    """For each parameter that sizes a tile, its constant or why it cannot be edited; or why none can."""
    kernel = read.name
    found = launches(read)
    if _is_tuned(read, found):
        return Skipped(f"the launch of {kernel} is autotuned")
    if not found:
        return Skipped(f"the file has no ct.launch of {kernel}")
    sizes = {name for shape in shapes(read) for name in names_in(shape)}
    parameters = [p for p in constant_parameters(read) if p in sizes]
    if not parameters:
        return Skipped("no ct.Constant[int] parameter sizes a tile")
    return _unambiguous({parameter: _agreed(read, found, parameter) for parameter in parameters})


def _is_tuned(read: KernelSource, launches: list[cst.Call]) -> bool:
    """Whether a tuner gets the kernel, or every launch goes through a kernel object made from it."""
    kernel = read.name
    for call in nodes(read.module, cst.Call):
        name = last_name(call.func)
        if name in TUNERS and kernel in names_in(call):
            return True
        if not launches and dotted(call.func) == f"{kernel}.replace_hints":
            return True
    return False


def constant_parameters(read: KernelSource) -> Iterator[str]:
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


def _agreed(read: KernelSource, launches: list[cst.Call], parameter: str) -> TileConstant | Skipped:
    """The constant of a parameter; several launches change together where they pass the same size."""
    agreed: TileConstant | None = None
    for call in launches:
        site = LaunchSite(read, call)
        found = origin(site, parameter)
        constant = found if isinstance(found, Skipped) else followed(site, *found)
        if isinstance(constant, Skipped):
            return constant
        if agreed is not None and (agreed.value, agreed.name) != (constant.value, constant.name):
            return Skipped(f"the launches of the kernel pass different constants for {parameter}")
        agreed = constant if agreed is None else agreed.joined(constant)
    assert agreed is not None  # there is at least one launch
    return agreed


def _unambiguous(found: dict[str, TileConstant | Skipped]) -> dict[str, TileConstant | Skipped]:
    """The constants, without those of which it is not certain which literal of the grid belongs to which."""
    constants = [constant for constant in found.values() if isinstance(constant, TileConstant)]
    repeats = [literal for constant in constants for literal in constant.repeats]
    return {
        parameter: Skipped(f"a literal of the grid may stand for {parameter} or for another tile size")
        if isinstance(constant, TileConstant) and any(repeats.count(r) > 1 for r in constant.repeats)
        else constant
        for parameter, constant in found.items()
    }
