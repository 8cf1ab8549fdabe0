"""Finds what starts or tunes kernels, and what is registered as the implementation of an operator."""

import libcst as cst

from kdiag.diagnose.source.facts import LaunchKind, LaunchSite, Registration, SearchSpace
from kdiag.diagnose.source.kernel_names import KernelNames
from kdiag.diagnose.source.kernels import KernelMakings
from kdiag.diagnose.source.module import Module
from kdiag.diagnose.source.names import argument, nodes_under

# Where a call takes its kernel and grid if not by keyword. `autotune_launch` is older than cuda-tile 1.7; before it
# there were autotuner objects, called with the same keywords.
_KERNEL: dict[LaunchKind, int] = {"launch": 2, "autotune_launch": 2, "exhaustive_search": 3}
_GRID: dict[LaunchKind, tuple[int, str]] = {
    "launch": (1, "grid"),
    "autotune_launch": (1, "grid_fn"),
    "exhaustive_search": (2, "grid_fn"),
}
_OLD_TUNER = {"grid_fn", "kernel", "args_fn"}


def launches_of(module: Module, makings: KernelMakings) -> tuple[LaunchSite, ...]:
    """Every launch and every tuning of the file, in the order of the text."""
    kernels = KernelNames(module, makings)
    found = (_launch(node, scope, kernels, module) for node, scope in module.nodes if isinstance(node, cst.Call))
    return tuple(site for site in found if site is not None)


def registrations_of(module: Module) -> tuple[Registration, ...]:
    """Every `register_impl`, as a decorator or called with the function."""
    found = []
    for node, _ in module.nodes:
        match node:
            case cst.FunctionDef():
                calls = [(entry.decorator, node.name.value) for entry in node.decorators]
            case cst.Call(func=cst.Call() as inner, args=[cst.Arg(value=function), *_]):
                calls = [(inner, module.of(function))]
            case _:
                continue
        for call, name in calls:
            if isinstance(call, cst.Call) and module.of(call.func).rpartition(".")[2] == "register_impl":
                operator, backend = _text(argument(call, 0, "name")), _text(argument(call, 1, "backend"))
                found.append(Registration(operator, backend, name, module.place(node)))
    return tuple(found)


def _text(node: cst.BaseExpression | None) -> str | None:
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else None
    return value if isinstance(value, str) else None


def _launch(call: cst.Call, scope: str, kernels: KernelNames, module: Module) -> LaunchSite | None:
    how = _launch_kind(call, module)
    kernel = argument(call, _KERNEL[how], "kernel") if how is not None else None
    if how is None or kernel is None:
        return None
    grid = argument(call, *_GRID[how])
    return LaunchSite(
        kernel=module.of(kernel),
        function=scope,
        where=module.place(call),
        how=how,
        grid=module.of(grid) if grid is not None else None,
        kernels=kernels.behind(kernel, scope),
        search_space=_search_space(call, how, module),
    )


def _launch_kind(call: cst.Call, module: Module) -> LaunchKind | None:
    name = module.names.tile_name(call.func)
    known = next((how for how in _KERNEL if how == name), None)
    if known is None and {arg.keyword.value for arg in call.args if arg.keyword} >= _OLD_TUNER:
        return "autotune_launch"
    return known


def _search_space(call: cst.Call, how: LaunchKind, module: Module) -> SearchSpace | None:
    node = argument(call, 0 if how == "exhaustive_search" else 99, "search_space") if how != "launch" else None
    if node is None:
        return None
    names = [n.value for n in (node, *nodes_under(node)) if isinstance(n, cst.Name)]
    functions, values = module.names.functions, module.names.values
    defined = [functions.get(name) or values.get(name) for name in names]
    definition = next((entry for entry in defined if entry is not None), None)
    return SearchSpace(
        module.of(node), module.place(node), module.place(definition) if definition is not None else None
    )
