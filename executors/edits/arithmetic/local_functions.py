"""The functions of a file that its kernels call, and a kernel's file with some of them rewritten.

A function that only this kernel calls, and whose name begins with an underscore, is rewritten where it stands. Of any
other the kernel gets a copy of its own, so that other kernels and other files keep what they have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import libcst as cst
import libcst.matchers as m

from kdiag.executors.edits.syntax.kernel_source import KernelSource, dotted, nodes

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
    return (dotted(decorator.decorator) or "").rpartition(".")[2] == "function"


def _is_variadic(parameters: cst.Parameters) -> bool:
    return isinstance(parameters.star_arg, cst.Param) or parameters.star_kwarg is not None


def with_functions(
    kernel: KernelSource, edited: Mapping[cst.FunctionDef, cst.FunctionDef], calls: Calls
) -> str:
    """The file's text with the kernel and functions exchanged for what they become, shared functions being copied.

    `calls` are the calls of functions of the file that the kernel leads to; the nodes of `edited` are of the parsed file.
    """
    changed = _with_callers(kernel, dict(edited), calls)
    shared = _shared(kernel, set(changed) - {kernel.function}, calls)
    taken = {name.value for name in nodes(kernel.module, cst.Name)}
    renamed = {function.name.value: _fresh(function.name.value, taken) for function in shared}
    replaced = {}
    for function, new in changed.items():
        called = cst.ensure_type(new.visit(_Renamed(renamed)), cst.FunctionDef)
        replaced[function] = [called] if function not in shared else [function, _copy(called, renamed)]
    return cst.ensure_type(kernel.module.visit(_Exchange(replaced)), cst.Module).code


def _with_callers(
    kernel: KernelSource, edited: dict[cst.FunctionDef, cst.FunctionDef], calls: Calls
) -> dict[cst.FunctionDef, cst.FunctionDef]:
    """Beside the edited functions, those between them and the kernel, which may have to call a copy."""
    waiting = list(edited)
    while waiting:
        for caller in _callers(kernel, waiting.pop(), calls):
            if caller not in edited:
                edited[caller] = caller
                waiting.append(caller)
    return edited


def _shared(kernel: KernelSource, functions: set[cst.FunctionDef], calls: Calls) -> set[cst.FunctionDef]:
    """Those that others may call: also what a shared one calls, which stays as it is beside its copy."""
    shared = {function for function in functions if not _is_owned(kernel, function, calls)}
    while more := {f for f in functions - shared if _callers(kernel, f, calls) & shared}:
        shared |= more
    return shared


def _callers(kernel: KernelSource, function: cst.FunctionDef, calls: Calls) -> set[cst.FunctionDef]:
    return {_around(kernel, call) for call, called in calls.items() if called is function}


def _around(kernel: KernelSource, node: cst.CSTNode) -> cst.FunctionDef:
    while not isinstance(node, cst.FunctionDef):
        node = kernel.parents[node]
    return node


def _is_owned(kernel: KernelSource, function: cst.FunctionDef, calls: Calls) -> bool:
    """Whether a private function is mentioned nowhere but in calls that the kernel leads to."""
    name = function.name.value
    called = {call.func for call, target in calls.items() if target is function}
    mentioned = {node for node in nodes(kernel.module, cst.Name) if node.value == name} - {function.name}
    return name.startswith("_") and mentioned <= called


def _fresh(name: str, taken: set[str]) -> str:
    fresh, number = name + SUFFIX, 2
    while fresh in taken:
        fresh, number = f"{name}{SUFFIX}_{number}", number + 1
    taken.add(fresh)
    return fresh


def _copy(function: cst.FunctionDef, renamed: Mapping[str, str]) -> cst.FunctionDef:
    name = function.name.with_changes(value=renamed[function.name.value])
    return function.with_changes(name=name, leading_lines=[cst.EmptyLine(indent=False)] * 2)


class _Renamed(m.MatcherDecoratableTransformer):
    """Calls the copies."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._names = names

    @m.leave(m.Call(func=m.Name()))
    def call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """A call of a function that was copied."""
        function = updated_node.func
        if not isinstance(function, cst.Name) or function.value not in self._names:
            return updated_node
        return updated_node.with_changes(func=function.with_changes(value=self._names[function.value]))


class _Exchange(cst.CSTTransformer):
    def __init__(self, replaced: Mapping[cst.FunctionDef, list[cst.FunctionDef]]) -> None:
        super().__init__()
        self._replaced = replaced

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        """A function and its copy, or what it became."""
        if not isinstance(original_node, cst.FunctionDef) or original_node not in self._replaced:
            return updated_node
        return cst.FlattenSentinel(cast("list[cst.CSTNodeT]", self._replaced[original_node]))
