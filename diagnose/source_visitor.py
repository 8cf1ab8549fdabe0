"""Walks the syntax tree of a file and records what `diagnose.source` promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from kdiag.diagnose.source import (
    Access,
    AccessKind,
    KernelFacts,
    LaunchKind,
    LaunchSite,
    MathCall,
    SourceFacts,
)
from kdiag.diagnose.source_flow import Call, Flow, Kind, Kinds, range_arguments
from kdiag.diagnose.source_names import Names, nodes_of, nodes_under, parameters, read_names
from kdiag.records import Place

_ACCESSES: dict[str, AccessKind] = {
    **{kind: kind for kind in get_args(AccessKind)},
    "load_advanced_indexing": "gather",
    "store_advanced_indexing": "scatter",
}
_VIEW_ACCESSES: dict[str, AccessKind] = {"load": "load", "store": "store"}
_PRODUCTS = ("mma", "mma_scaled", "matmul")
# The rounding modes that give up accuracy. Without one, cuda-tile 1.7 takes FULL for exp and tanh, RN for the others.
_INEXACT: dict[str, tuple[str, ...]] = {
    "truediv": ("APPROX", "FULL"),
    **dict.fromkeys(("exp", "exp2", "log", "sqrt", "rsqrt", "tanh"), ("APPROX",)),
}
# Where a call takes its kernel if not by keyword; `autotune_launch` is older than cuda-tile 1.7.
_KERNEL_ARGUMENT: dict[LaunchKind, int] = {"launch": 2, "autotune_launch": 2, "exhaustive_search": 3}


@dataclass(frozen=True)
class _Text:
    """The text of the file by syntax node."""

    module: cst.Module
    file: str
    positions: Mapping[cst.CSTNode, CodeRange]

    def of(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node).strip()

    def place(self, node: cst.CSTNode) -> Place:
        start = self.positions[node].start
        return Place(self.file, start.line, start.column)

    def keywords(self, call: cst.Call) -> dict[str, str]:
        return {arg.keyword.value: self.of(arg.value) for arg in call.args if arg.keyword is not None}


def visit(module: cst.Module, file: str) -> SourceFacts:
    """The facts of a parsed file."""
    positions = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    text = _Text(module, file, positions)
    names = read_names(module)
    flow = Flow(names)
    kernels = (
        _read_kernel(node, decorator, flow, text)
        for node in nodes_under(module)
        if isinstance(node, cst.FunctionDef) and (decorator := _kernel_decorator(node, names)) is not None
    )
    return SourceFacts(tuple(kernels), tuple(_launches(module, names, text)))


def _kernel_decorator(function: cst.FunctionDef, names: Names) -> cst.BaseExpression | None:
    for decorator in (d.decorator for d in function.decorators):
        called = decorator.func if isinstance(decorator, cst.Call) else decorator
        if names.tile_name(called) == "kernel":
            return decorator
    return None


def _read_kernel(
    function: cst.FunctionDef, decorator: cst.BaseExpression, flow: Flow, text: _Text
) -> KernelFacts:
    found = _Found(flow, text)
    found.read(Call(function))
    return KernelFacts(
        name=function.name.value,
        where=text.place(function),
        hints=text.keywords(decorator) if isinstance(decorator, cst.Call) else {},
        constants=tuple(
            param.name.value
            for param in parameters(function)
            if param.annotation is not None and flow.names.is_constant(param.annotation.annotation)
        ),
        accesses=tuple(found.accesses.values()),
        math=tuple(found.math.values()),
        mma=tuple(found.mma.values()),
        loops=tuple(found.loops.values()),
        persistent_loops=tuple(found.persistent.values()),
    )


@dataclass
class _Found:
    """What a kernel and the functions it calls contain, keyed by syntax node so that every place counts once."""

    flow: Flow
    text: _Text
    accesses: dict[cst.CSTNode, Access] = field(default_factory=dict)
    math: dict[cst.CSTNode, MathCall] = field(default_factory=dict)
    mma: dict[cst.CSTNode, Place] = field(default_factory=dict)
    loops: dict[cst.CSTNode, Place] = field(default_factory=dict)
    persistent: dict[cst.CSTNode, Place] = field(default_factory=dict)

    def read(self, start: Call) -> None:
        """Record the called function and, once for each way of calling it, every function it calls."""
        waiting, seen = [start], {start}
        while waiting:
            call = waiting.pop(0)
            values = self.flow.values(call)
            for node in nodes_of(call.function):
                self._record(node, values)
                inner = self.flow.local_call(node, values) if isinstance(node, cst.Call) else None
                if inner is not None and inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)

    def _record(self, node: cst.CSTNode, values: Mapping[str, Kinds]) -> None:
        match node:
            case cst.Call():
                self._record_call(node, values)
            case cst.BinaryOperation(operator=cst.Divide()) | cst.AugAssign(operator=cst.DivideAssign()):
                if Kind.TILE in self._operands(node, values):
                    self.math[node] = MathCall("/", self.text.place(node), exact=True)
            case cst.BinaryOperation(operator=cst.MatrixMultiply()):
                self.mma[node] = self.text.place(node)
            case cst.For() | cst.While():
                self.loops[node] = self.text.place(node)
                if isinstance(node, cst.For) and self._is_persistent(node, values):
                    self.persistent[node] = self.loops[node]

    def _operands(self, node: cst.BinaryOperation | cst.AugAssign, values: Mapping[str, Kinds]) -> Kinds:
        sides = (
            (node.left, node.right) if isinstance(node, cst.BinaryOperation) else (node.target, node.value)
        )
        return self.flow.kinds(sides[0], values) | self.flow.kinds(sides[1], values)

    def _record_call(self, call: cst.Call, values: Mapping[str, Kinds]) -> None:
        name = self.flow.names.tile_name(call.func)
        if name in _INEXACT:
            mode = self.text.keywords(call).get("rounding_mode", "")
            exact = not mode.endswith(_INEXACT[name])
            self.math[call] = MathCall(name, self.text.place(call), exact)
        elif name in _PRODUCTS:
            self.mma[call] = self.text.place(call)
        elif name in _ACCESSES:
            self._record_access(call, _ACCESSES[name], _argument(call, 0, "array"), 1, values)
        elif name is None and isinstance(call.func, cst.Attribute) and call.func.attr.value in _VIEW_ACCESSES:
            self._record_access(call, _VIEW_ACCESSES[call.func.attr.value], call.func.value, 0, values)

    def _record_access(
        self,
        call: cst.Call,
        kind: AccessKind,
        array: cst.BaseExpression | None,
        index_at: int,
        values: Mapping[str, Kinds],
    ) -> None:
        settings = self.text.keywords(call)
        index = _argument(call, index_at, "indices")
        indirect = (
            kind in ("gather", "scatter")
            and index is not None
            and Kind.LOADED in self.flow.kinds(index, values)
        )
        access = Access(
            kind=kind,
            array=self.text.of(array) if array is not None else "",
            where=self.text.place(call),
            padding=settings.get("padding_mode", settings.get("padding_value")),
            latency=settings.get("latency"),
            allow_tma=settings.get("allow_tma"),
            check_bounds=settings.get("check_bounds"),
            indirect=indirect,
        )
        earlier = self.accesses.get(call, access)
        self.accesses[call] = replace(access, indirect=indirect or earlier.indirect)

    def _is_persistent(self, loop: cst.For, values: Mapping[str, Kinds]) -> bool:
        """A range whose step is the number of blocks, or that starts at the block's index and ends elsewhere.

        The second form is for kernels that get the number of blocks as an argument.
        """
        arguments = range_arguments(loop)
        if arguments is None or len(arguments) != 3:
            return False
        start, stop, step = (self.flow.kinds(argument, values) for argument in arguments)
        if Kind.BLOCK_COUNT in step:
            return Kind.FROM_BLOCK in start
        return Kind.BLOCK in start and Kind.FROM_BLOCK not in stop


def _argument(call: cst.Call, position: int, keyword: str) -> cst.BaseExpression | None:
    """The argument given by position or, failing that, by keyword."""
    positional = [arg.value for arg in call.args if arg.keyword is None]
    if position < len(positional):
        return positional[position]
    return next((a.value for a in call.args if a.keyword is not None and a.keyword.value == keyword), None)


def _launches(module: cst.Module, names: Names, text: _Text) -> Iterator[LaunchSite]:
    waiting: list[tuple[cst.CSTNode, tuple[str, ...]]] = [(module, ())]
    while waiting:
        node, scope = waiting.pop()
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            scope = (*scope, node.name.value)
        elif isinstance(node, cst.Call) and (how := _launch_kind(node, names)) is not None:
            kernel = _argument(node, _KERNEL_ARGUMENT[how], "kernel")
            if kernel is not None:
                yield LaunchSite(text.of(kernel), ".".join(scope), text.place(node), how)
        waiting.extend((child, scope) for child in reversed(node.children))


def _launch_kind(call: cst.Call, names: Names) -> LaunchKind | None:
    name = names.tile_name(call.func)
    return next((how for how in _KERNEL_ARGUMENT if how == name), None)
