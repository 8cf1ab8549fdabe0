"""Finds the kernels of a file, however they are made, and the hints that are given to them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import libcst as cst
from libcst.helpers import get_full_name_for_node

from kdiag.records import Place

from .facts import Hints, KernelFacts
from .flow import Flow
from .module import Function, Module, Program
from .names import Names, parameters
from .record import Recorder
from .values import STATIC, UNDECIDED, Value


class _Placed(Protocol):
    @property
    def where(self) -> Place: ...


@dataclass
class KernelMaking:
    """How one function becomes a kernel: the calls that give it hints, the first being its decorator where it has one."""

    function: cst.FunctionDef
    hints: list[cst.BaseExpression] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)


KernelMakings = dict[cst.FunctionDef, KernelMaking]


def kernels_of(module: Module, makings: KernelMakings, program: Program) -> tuple[KernelFacts, ...]:
    """The facts of every kernel of the file, in the order of the text."""
    order = sorted(makings, key=lambda node: (module.place(node).line, module.place(node).column))
    return tuple(_facts(makings[node], module, program) for node in order)


def kernel_makings(module: Module) -> KernelMakings:
    """The functions of the file that are made kernels by a decorator, a call of `ct.kernel` or a name for either."""
    names, nodes = module.names, [node for node, _ in module.nodes]
    makers = _makers(nodes, names)
    found: dict[cst.FunctionDef, KernelMaking] = {}
    for node in nodes:
        if isinstance(node, cst.FunctionDef):
            for decorator in (entry.decorator for entry in node.decorators):
                if _is_maker(decorator, names, makers):
                    found.setdefault(node, KernelMaking(node)).hints.append(makers.get(_name(decorator), decorator))
                    break
    bound = {node.name.value: node for node in found}
    for call, target in _calls(module):
        function = _made(call, names, makers, bound)
        if function is None:
            continue
        making = found.setdefault(function, KernelMaking(function))
        making.hints.extend(_hint_calls(call, makers))
        bound.setdefault(function.name.value, function)
        if target is not None:
            making.names[target] = None
            bound[target] = function
    return found


def _makers(nodes: list[cst.CSTNode], names: Names) -> dict[str, cst.BaseExpression]:
    """Variables that hold a decorator: `fast = ct.kernel(occupancy=2)`, `fast = partial(ct.kernel, occupancy=2)`."""
    makers: dict[str, cst.BaseExpression] = {}
    for node in nodes:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                if _is_maker(value, names, makers):
                    makers[name] = value
    return makers


def _is_maker(expression: cst.BaseExpression, names: Names, makers: Mapping[str, cst.BaseExpression]) -> bool:
    """Whether the expression, given a function, makes it a kernel."""
    if names.tile_name(expression) == "kernel" or _name(expression) in makers:
        return True
    if not isinstance(expression, cst.Call):
        return False
    positional = [arg.value for arg in expression.args if arg.keyword is None and not arg.star]
    if names.tile_name(expression.func) == "kernel":
        return not positional
    origin = names.origin(expression.func)
    partial = origin is not None and origin[1] == "partial"
    return partial and len(positional) == 1 and names.tile_name(positional[0]) == "kernel"


def _calls(module: Module) -> Iterator[tuple[cst.Call, str | None]]:
    """Every call, with the name at the top of the file that its result is bound to."""
    targets: dict[cst.CSTNode, str] = {}
    for node, scope in module.nodes:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Call() as call):
                if not scope:
                    targets[call] = name
            case cst.Call():
                yield node, targets.get(node)


def _made(
    call: cst.Call, names: Names, makers: Mapping[str, cst.BaseExpression], bound: Mapping[str, cst.FunctionDef]
) -> cst.FunctionDef | None:
    """The function that a call makes a kernel, or whose kernel it gives other hints."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "replace_hints":
        return bound.get(_name(call.func.value))
    makes = _is_maker(call.func, names, makers) and not _is_maker(call, names, makers)
    if not makes or not call.args or call.args[0].star:
        return None
    name = _name(call.args[0].value)
    return names.functions.get(name)


def _hint_calls(call: cst.Call, makers: Mapping[str, cst.BaseExpression]) -> Iterator[cst.BaseExpression]:
    """The call that holds the hints: of `ct.kernel(occupancy=2)(f)` the inner one."""
    if isinstance(call.func, cst.Call):
        yield call.func
    else:
        yield makers.get(_name(call.func), call)


def _name(node: cst.CSTNode) -> str:
    return (get_full_name_for_node(node) or "") if isinstance(node, cst.Name | cst.Attribute) else ""


def _facts(making: KernelMaking, module: Module, program: Program) -> KernelFacts:
    recorder = Recorder()
    function = Function(making.function, module)
    Flow(program, recorder).run(function, _arguments(function), ())
    span = range(module.place(making.function).line, module.positions[making.function].end.line + 1)

    def placed(fact: _Placed) -> tuple[bool, str, int, int]:
        """The kernel's own places first, then those of other functions, in the order of the text."""
        where = fact.where
        return (where.file != module.file or where.line not in span, where.file, where.line, where.column)

    first, *others = making.hints
    return KernelFacts(
        name=making.function.name.value,
        where=module.place(making.function),
        hints=_values(first, module),
        constants=tuple(name for name, constant in _constants(function).items() if constant),
        accesses=tuple(sorted(recorder.accesses.values(), key=placed)),
        math=tuple(sorted(recorder.math.values(), key=placed)),
        mma=tuple(sorted(recorder.mma.values(), key=placed)),
        loops=tuple(sorted(recorder.loops.values(), key=placed)),
        parameters=tuple(_constants(function)),
        atomics=tuple(sorted(recorder.atomics.values(), key=placed)),
        swizzles=tuple(recorder.swizzles.values()),
        helpers=tuple(recorder.helpers.values()),
        hints_by_target=_by_target(first, module),
        replaced_hints=tuple(Hints(_values(other, module), module.place(other)) for other in others),
        names=tuple(name for name in making.names if name != making.function.name.value),
    )


def _constants(function: Function) -> dict[str, bool]:
    """The parameters in order, and whether they are compile-time constants."""
    is_constant = function.module.names.is_constant
    return {
        param.name.value: param.annotation is not None and is_constant(param.annotation.annotation)
        for param in parameters(function.node)
    }


def _arguments(function: Function) -> dict[str, Value]:
    """What a kernel knows of its parameters: constants are static, of an array the type is named after it."""
    values = {}
    for param in parameters(function.node):
        name = param.name.value
        annotation = function.module.of(param.annotation.annotation) if param.annotation is not None else ""
        if _constants(function)[name]:
            values[name] = STATIC
        else:
            values[name] = UNDECIDED if annotation in ("int", "float", "bool") else Value(dtype=f"{name}.dtype")
    return dict(sorted(values.items()))


def _values(expression: cst.BaseExpression, module: Module) -> dict[str, str]:
    return module.keywords(expression) if isinstance(expression, cst.Call) else {}


def _by_target(expression: cst.BaseExpression, module: Module) -> dict[str, dict[str, str]]:
    """The hints that differ by architecture."""
    if not isinstance(expression, cst.Call):
        return {}
    return {
        arg.keyword.value: module.keywords(arg.value)
        for arg in expression.args
        if arg.keyword is not None
        and isinstance(arg.value, cst.Call)
        and module.names.tile_name(arg.value.func) == "ByTarget"
    }
