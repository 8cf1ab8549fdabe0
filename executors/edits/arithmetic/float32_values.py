"""Which expressions of a kernel are certainly float32 tiles, from the source alone.

A forward pass over the kernel's statements that knows the kind of every name at every line; branches are joined and
loops run until nothing changes. What cannot be told is `None`, and is left alone by the edits. Promotion follows
cuda-tile 1.7: a float32 tile stays float32 beside numbers, integers and narrower floats, and not beside float64.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from ..syntax.bindings import bound_names, names_bound
from ..syntax.kernel_source import KernelSource
from .float32_flow import Environment, Flow, joined
from .float32_kinds import Kind
from .local_functions import local_functions

Kinds = Mapping[cst.CSTNode, Kind | None]


@dataclass(frozen=True, eq=False)
class Values:
    """The kind of each expression of the kernel and of the functions of the file that it calls, whichever call it is.

    `calls` are the calls of such functions, by what is called; a node that is absent from `kinds` was not understood.
    """

    kinds: Kinds
    calls: Mapping[cst.Call, cst.FunctionDef]


def float32_values(kernel: KernelSource) -> Values:
    """What is known of the kernel's expressions. Its parameters count as numbers: arrays take part in no arithmetic."""
    constants = _constants(kernel)
    flow = Flow(kernel.names, local_functions(kernel.module), constants)
    parameters: Environment = {parameter.name.value: Kind.NUMBER for parameter in kernel.function.params.params}
    flow.block(kernel.function.body, constants | parameters)
    return _gathered(flow)


def values_for_any_caller(kernel: KernelSource, function: cst.FunctionDef) -> Values:
    """What is known of a function of the file whoever calls it, with tiles of any dtype."""
    constants = _constants(kernel)
    flow = Flow(kernel.names, local_functions(kernel.module), constants, (function.name.value,))
    parameters: Environment = {
        parameter.name.value: Kind.NUMBER if _is_number(parameter, kernel) else Kind.ANY
        for parameter in function.params.params
    }
    flow.block(function.body, constants | parameters)
    return _gathered(flow)


def _is_number(parameter: cst.Param, kernel: KernelSource) -> bool:
    """Whether the annotation says so: int, float, bool, a Constant, or a name that the file gives to one of these."""
    annotation = None if parameter.annotation is None else parameter.annotation.annotation
    lines = [line for line in kernel.module.body if isinstance(line, cst.SimpleStatementLine)]
    for assign in (small for line in lines for small in line.body if isinstance(small, cst.Assign)):
        if isinstance(annotation, cst.Name) and annotation.value in names_bound(assign):
            annotation = assign.value
    if isinstance(annotation, cst.Subscript):
        return kernel.names.resolve(annotation.value) == "Constant"
    return isinstance(annotation, cst.Name) and annotation.value in {"int", "float", "bool"}


def _gathered(flow: Flow) -> Values:
    """What holds of every expression in all flows that went through it."""
    kinds: dict[cst.CSTNode, Kind | None] = {}
    calls: dict[cst.Call, cst.FunctionDef] = {}
    for each in flow.all():
        for node, kind in each.kinds.items():
            kinds[node] = joined(kinds[node], kind) if node in kinds else kind
        calls |= {call: function for call, (function, _) in each.called.items()}
    return Values(kinds, calls)


def _constants(kernel: KernelSource) -> Environment:
    """The kinds of the module-level names that are bound once in the file."""
    bound = [name.value for name in bound_names(kernel.module)]
    constants: Environment = {}
    flow = Flow(kernel.names, {}, {})
    for line in kernel.module.body:
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            flow.small(small, constants)
    return {name: kind for name, kind in constants.items() if bound.count(name) == 1}
