"""The functions of a file that its kernels call, and a kernel's file with some of them rewritten.

A function that nothing else in the file mentions is rewritten where it stands, if its name begins with an underscore or
what is rewritten holds for every caller. Of any other the kernel gets a copy of its own, so that other kernels keep
what they have.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import libcst as cst

from ..syntax.kernel_source import KernelSource, last_name, nodes, replace
from ..syntax.rewriting import Changed, rewrite, to

Functions = Mapping[str, cst.FunctionDef]
Calls = Mapping[cst.Call, cst.FunctionDef]
SUFFIX = "_fast"


def local_functions(module: cst.Module) -> Functions:
    """The plain functions at the top of a file, without decorators but `ct.function`, defined once."""
    defined = [node for node in module.body if isinstance(node, cst.FunctionDef)]
    names = [function.name.value for function in nodes(module, cst.FunctionDef)]
    plain = [function for function in defined if all(map(_is_function, function.decorators))]
    return {
        function.name.value: function
        for function in plain
        if names.count(function.name.value) == 1 and not _is_variadic(function.params)
    }


def _is_function(decorator: cst.Decorator) -> bool:
    return last_name(decorator.decorator) == "function"


def _is_variadic(parameters: cst.Parameters) -> bool:
    return isinstance(parameters.star_arg, cst.Param) or parameters.star_kwarg is not None


@dataclass(frozen=True)
class Rewritten:
    """A file's text, and the functions in it that other files may call and that are not what they were."""

    source: str
    public: tuple[str, ...]


def changed_for_others(rewritten: Rewritten) -> tuple[str, ...]:
    """The warning that other files may see the change, where they may."""
    names = ", ".join(rewritten.public)
    return (f"other files that call {names} get the change as well",) if names else ()


def with_functions(
    kernel: KernelSource, edited: Mapping[cst.FunctionDef, cst.FunctionDef], calls: Calls, general: set[cst.FunctionDef]
) -> Rewritten:
    """The file with the kernel and functions exchanged for what they become, shared functions being copied.

    `calls` are the calls of functions of the file that the kernel leads to; the nodes of `edited` are of the parsed file.
    What `general` functions become serves every caller.
    """
    callers = _with_callers(kernel, edited, calls)
    functions = callers - {kernel.function}
    shared = _shared(kernel, functions, calls, general | (functions - set(edited)))
    if not shared:
        callers = set(edited)
    changed = {function: edited.get(function, function) for function in callers}
    taken = {name.value for name in nodes(kernel.module, cst.Name)}
    renamed = {function.name.value: fresh(function.name.value + SUFFIX, taken) for function in shared}
    replaced: dict[cst.CSTNode, Changed] = {}
    for function, new in changed.items():
        called = _calling(new, renamed)
        replaced[function] = cst.FlattenSentinel(
            [called] if function not in shared else [function, _copy(called, renamed)]
        )
    source = replace(kernel.module, replaced)
    public = {f.name.value for f in functions - shared if not f.name.value.startswith("_")}
    return Rewritten(source, tuple(sorted(public)))


def _with_callers(kernel: KernelSource, edited: Iterable[cst.FunctionDef], calls: Calls) -> set[cst.FunctionDef]:
    """Beside the edited functions, those between them and the kernel, which may have to call a copy."""
    found, waiting = set(edited), list(edited)
    while waiting:
        more = _callers(kernel, waiting.pop(), calls) - found
        found |= more
        waiting += more
    return found


def _shared(
    kernel: KernelSource, functions: set[cst.FunctionDef], calls: Calls, general: set[cst.FunctionDef]
) -> set[cst.FunctionDef]:
    """Those that others may call: also what a shared one calls, which stays as it is beside its copy."""
    shared = {f for f in functions if not _is_owned(kernel, f, calls, general)}
    while more := {f for f in functions - shared if _callers(kernel, f, calls) & shared}:
        shared |= more
    return shared


def _callers(kernel: KernelSource, function: cst.FunctionDef, calls: Calls) -> set[cst.FunctionDef]:
    around = {kernel.around(call, cst.FunctionDef) for call, called in calls.items() if called is function}
    return {each for each in around if each is not None}


def _is_owned(kernel: KernelSource, function: cst.FunctionDef, calls: Calls, general: set[cst.FunctionDef]) -> bool:
    """Whether a function is mentioned nowhere but in calls that the kernel leads to, and others may have it changed."""
    name = function.name.value
    called = {call.func for call, target in calls.items() if target is function}
    mentioned = {node for node in nodes(kernel.module, cst.Name) if node.value == name} - {function.name}
    return (name.startswith("_") or function in general) and mentioned <= called


def fresh(name: str, taken: set[str]) -> str:
    """The name, or the name with the first number that makes it none of those taken, which it joins."""
    numbered = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    found = next(each for each in numbered if each not in taken)
    taken.add(found)
    return found


def _copy(function: cst.FunctionDef, renamed: Mapping[str, str]) -> cst.FunctionDef:
    name = function.name.with_changes(value=renamed[function.name.value])
    return function.with_changes(name=name, leading_lines=[cst.EmptyLine(indent=False)] * 2)


def _calling(function: cst.FunctionDef, names: Mapping[str, str]) -> cst.FunctionDef:
    """The function, calling what these names have become."""
    called = {call.func for call in nodes(function, cst.Call)} if names else set()
    renamed = {name: names[name.value] for name in called if isinstance(name, cst.Name) and name.value in names}
    return rewrite(function, {name: to(name.with_changes(value=new)) for name, new in renamed.items()})
