"""Finds the tile sizes of a kernel: named powers of two that its launch passes to `ct.Constant` parameters."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from kdiag.executors.edits.bindings import Binding, Bindings
from kdiag.executors.edits.kernel_source import KernelSource, nodes, text
from kdiag.executors.edits.launches import LaunchSite, launch_sites, parameters, searched
from kdiag.executors.edits.rewrite import argument, positional
from kdiag.executors.edits.tiles import Shapes

SMALLEST = 8  # a smaller power of two is a count or a switch, not a tile
SHAPED = {"load": 2, "num_tiles": 2, "full": 0, "zeros": 0, "ones": 0, "arange": 0, "reshape": 1, "broadcast_to": 1}


@dataclass(frozen=True)
class TileConstant:
    """A tile size: the parameter it reaches, the name that the launch passes, its literal and its value."""

    parameter: str
    name: str
    literal: cst.Integer
    value: int


def tile_constants(kernel: KernelSource) -> tuple[TileConstant, ...] | str:
    """The tile sizes of a kernel that can be changed by changing one number each, or why there is none."""
    if (how := searched(kernel)) is not None:
        return f"{how} decides the tile sizes at run time"
    sites = launch_sites(kernel)
    if not sites:
        return "no ct.launch in this file passes the kernel its tile sizes"
    found: list[TileConstant] = []
    reasons: list[str] = []
    for index, parameter in _constant_parameters(kernel):
        if not _is_dimension(parameter, kernel):
            continue
        constant = _constant(index, parameter, sites, kernel)
        if isinstance(constant, str):
            reasons.append(constant)
        else:
            found.append(constant)
    if found:
        return tuple(found)
    return reasons[0] if reasons else "no parameter of the kernel is a ct.Constant that gives the size of a tile"


def mma_roles(kernel: KernelSource) -> dict[str, str]:
    """Which parameters are rows, columns and depth of a matrix product: {"tile_m": "TM", ...}; empty if unclear."""
    names = {name for _, name in _constant_parameters(kernel)}
    for call in kernel.calls_of("mma"):
        shapes = [Shapes(kernel).of(operand) for operand in positional(call)[:2]]
        if len(shapes) != 2 or any(shape is None or len(shape) != 2 for shape in shapes):
            continue
        (rows, depth), (other, columns) = (shape or ("", "") for shape in shapes)
        if depth == other and {rows, columns, depth} <= names and len({rows, columns, depth}) == 3:
            return {"tile_m": rows, "tile_n": columns, "tile_k": depth}
    return {}


def _constant_parameters(kernel: KernelSource) -> list[tuple[int, str]]:
    given = (*kernel.function.params.posonly_params, *kernel.function.params.params)
    found = []
    for index, param in enumerate(given):
        annotation = kernel.constant(param.annotation.annotation) if param.annotation is not None else None
        base = annotation.value if isinstance(annotation, cst.Subscript) else annotation
        if base is not None and kernel.operation(base) == "Constant":
            found.append((index, param.name.value))
    return found


def _is_dimension(parameter: str, kernel: KernelSource) -> bool:
    """Whether a parameter is written in the shape of some tile."""
    for operation, call in kernel.calls:
        if operation not in SHAPED:
            continue
        shape = argument(call, SHAPED[operation], "shape")
        if shape is not None and any(n.value == parameter for n in nodes(kernel.bindings.value(shape), cst.Name)):
            return True
    return False


def _constant(
    index: int, parameter: str, sites: tuple[LaunchSite, ...], kernel: KernelSource
) -> TileConstant | str:
    if any(len(site.arguments) != len(parameters(kernel)) for site in sites):
        return "a launch does not write its arguments out"
    passed = [site.arguments[index] for site in sites]
    name = passed[0]
    if not isinstance(name, cst.Name):
        return _not_a_name(name, parameter)
    if any(text(other) != name.value for other in passed):
        return f"the launches pass different values for {parameter}"
    literal = _literal(name, sites[0], kernel)
    if isinstance(literal, str):
        return literal
    value = literal.evaluated_value
    if value < SMALLEST or value & (value - 1):
        return f"{name.value} is {value}, no power of two from {SMALLEST} on"
    constant = TileConstant(parameter, name.value, literal, value)
    return _why_not(constant, sites, kernel) or constant


def _not_a_name(passed: cst.BaseExpression, parameter: str) -> str:
    if isinstance(passed, cst.Integer):
        return f"the launch passes {parameter} as the number {text(passed)}, not by a name that the grid can share"
    return f"the tile is derived from the data: {parameter} is {text(passed)}"


def _literal(name: cst.Name, site: LaunchSite, kernel: KernelSource) -> cst.Integer | str:
    """The number that a name of the launch wrapper, or else of the module, is bound to."""
    binding = site.bindings.only(name)
    if binding is None and name.value not in site.bindings.by_name:
        found = Bindings.of(kernel.module).by_name.get(name.value, ())
        binding = found[0] if len(found) == 1 else None
    if binding is None:
        return f"{name.value} is bound in more than one place, or in none"
    if binding.kind == "parameter" and (reason := _passed_by_callers(name.value, site, kernel)):
        return reason
    if isinstance(binding.value, cst.Integer) and binding.kind in ("assigned", "parameter"):
        return binding.value
    return _derived(name.value, binding)


def _derived(name: str, binding: Binding) -> str:
    if binding.kind == "parameter" or binding.value is None:
        return f"{name} is decided by the callers of the launch"
    return f"the tile is derived from the data: {name} = {text(binding.value)}"


def _passed_by_callers(name: str, site: LaunchSite, kernel: KernelSource) -> str | None:
    """Why a default value is not what counts: a call in the file gives another."""
    assert isinstance(site.scope, cst.FunctionDef)
    order = [param.name.value for param in (*site.scope.params.posonly_params, *site.scope.params.params)]
    for call in nodes(kernel.module, cst.Call):
        if text(call.func).rpartition(".")[2] != site.scope.name.value:
            continue
        place = order.index(name) if name in order else len(call.args)
        if argument(call, place, name) is not None or any(entry.star for entry in call.args):
            return f"a call of {site.scope.name.value} gives {name} itself"
    return None


def _why_not(constant: TileConstant, sites: tuple[LaunchSite, ...], kernel: KernelSource) -> str | None:
    """Why changing the number alone would be wrong."""
    scopes = [site.scope for site in sites]
    uses = [node for node in nodes(kernel.module, cst.Name) if node.value == constant.name]
    inside = [node for scope in (*scopes, kernel.function) for node in nodes(scope, cst.Name)]
    own = {id(node) for node in inside} if kernel.module not in scopes else {id(node) for node in uses}
    outside = [node for node in uses if id(node) not in own]
    defined_outside = constant.literal not in [n for scope in scopes for n in nodes(scope, cst.Integer)]
    if len(outside) > defined_outside:
        return f"{constant.name} is used outside the launch of this kernel as well"
    repeated = [
        node
        for scope in (*scopes, kernel.function)
        for node in nodes(scope, cst.Integer)
        if node is not constant.literal and node.evaluated_value == constant.value
    ]
    if any(scope is not kernel.module for scope in scopes) and repeated:
        others = "" if not _is_other_constant(repeated, sites) else None
        if others is not None:
            return f"the number {constant.value} is written out a second time beside {constant.name}"
    if _grid_follows(constant, sites) or _loop_follows(constant.parameter, kernel):
        return None
    return f"neither the grid nor a loop follows {constant.name}: with another size the tiles would not cover the data"
