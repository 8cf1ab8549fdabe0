"""What a kernel does with its block number, and whether its blocks can run in another order or one after the other."""

from collections.abc import Iterator, Sequence

import libcst as cst

from ..base import Skipped
from ..syntax.attribute_calls import is_unread
from ..syntax.bindings import names_in
from ..syntax.kernel_source import KernelSource, argument, dotted, integer, nodes, positional
from ..syntax.kernel_view import KernelView

ATOMICS = tuple(f"atomic_{name}" for name in ("add", "max", "min", "and", "or", "xor", "xchg", "cas"))
ORDERED = ("atomic_xchg", "atomic_cas")
ACCESSES = ("load", "store", "gather", "scatter", "num_tiles", *ATOMICS)
BUILTINS = ("range", "min", "max", "len", "int", "float", "bool", "abs", "print", "isinstance", "tuple", "slice")
BLOCK, BLOCKS = "bid", "num_blocks"
MOST_CALLS = 4  # functions that call one another


def independence(read: KernelSource) -> Skipped | None:
    """Why blocks may depend on one another, or on when each of them runs."""
    for function in (read.function, *called_functions(read)):
        for call in read.calls(*ATOMICS, within=function):
            member = read.names.resolve(call.func)
            if member in ORDERED or not isinstance(read.parents[call], cst.Expr):
                return read.refused(call, f"uses the result of {dotted(call.func)}: blocks may wait for one another")
        for node, member in _members(read, function):
            if member.startswith("grid_dependency_control"):
                return read.refused(node, "waits for another kernel, once for each block")
        for inner in nodes(function.body, cst.FunctionDef):
            return read.refused(inner, "defines a function inside the kernel")
    return None


def foreign_calls(read: KernelSource, known: Sequence[cst.FunctionDef] = ()) -> Skipped | None:
    """Why a function that the kernel calls may use the block number: it does, or it is not in this file.

    `known` are those that do and may.
    """
    for function in called_functions(read):
        for node, member in _members(read, function):
            if member in (BLOCK, BLOCKS) and function not in known:
                return read.refused(node, f"uses ct.{member} in {function.name.value}, which the kernel calls")
    for function in (read.function, *called_functions(read)):
        for call in nodes(function.body, cst.Call):
            if is_unread(read, call):
                name = read.text(call.func)
                return read.refused(call, f"calls {name}, which is not read and may use the block number")
            if isinstance(call.func, cst.Name) and call.func.value not in BUILTINS:
                name = call.func.value
                if read.names.resolve(call.func) is None and not any(True for _ in _defined(read, name)):
                    return read.refused(call, f"calls {name}, which is not in this file and may use the block number")
    return None


def called_functions(read: KernelSource) -> list[cst.FunctionDef]:
    """The functions of the file that the kernel calls, directly or through others."""
    found: list[cst.FunctionDef] = []
    todo = [read.function]
    for function in todo:
        for call in nodes(function.body, cst.Call):
            for called in _defined(read, call.func.value) if isinstance(call.func, cst.Name) else ():
                if called not in todo:
                    todo.append(called)
                    found.append(called)
    return found


def axis_calls(view: KernelView, member: str) -> list[tuple[cst.Call, int]] | Skipped:
    """Every `ct.bid` (or `ct.num_blocks`) of the kernel with its axis, all of them written as a number."""
    read = view.source
    calls = read.calls(member)
    for node, named in _members(read, read.function):
        if named == member and not any(node is call.func for call in calls):
            return read.refused(node, f"uses ct.{member} without calling it")
    found = []
    for call in calls:
        axis = integer(argument(call, 0, "axis"))
        if axis not in (0, 1, 2):
            return read.refused(call, f"asks ct.{member} for an axis that is no number")
        found.append((call, axis))
    return found


def strided_loop(view: KernelView) -> cst.For | None:
    """A loop over a range that starts at the block number and has a step: a kernel that is persistent already."""
    for loop in nodes(view.source.function.body, cst.For):
        if not isinstance(loop.iter, cst.Call) or dotted(loop.iter.func) != "range" or len(loop.iter.args) != 3:
            continue
        start, _, step = (arg.value for arg in loop.iter.args)
        if view.is_call(view.resolve(start, loop)[0], BLOCK) or view.is_call(view.resolve(step, loop)[0], BLOCKS):
            return loop
    return None


def arrays(read: KernelSource) -> list[str]:
    """The kernel's parameters that certainly are arrays: they are read, written, or asked for their shape."""
    accessed = _accessed(read, read.function, ACCESSES, 0)
    asked = [a for a in nodes(read.function.body, cst.Attribute) if a.attr.value in ("shape", "ndim", "strides")]
    accessed |= {a.value.value for a in asked if isinstance(a.value, cst.Name)}
    return [name for name in read.parameters if name in accessed]


def written_arrays(read: KernelSource) -> set[str]:
    """The names of what the kernel stores to, also through functions that it calls."""
    return _accessed(read, read.function, ("store", "scatter", *ATOMICS), 0)


def _accessed(read: KernelSource, function: cst.FunctionDef, members: Sequence[str], steps: int) -> set[str]:
    """The names that these members of cuda.tile get as their array, also through functions that are called."""
    accessed: set[str] = set()
    for call in read.calls(*members, within=function):
        first = argument(call, 0, "array")
        accessed |= names_in(first) if first is not None else set()
    for call in nodes(function.body, cst.Call) if steps < MOST_CALLS else ():
        for called in _defined(read, call.func.value) if isinstance(call.func, cst.Name) else ():
            inside = _accessed(read, called, members, steps + 1)
            for parameter, value in zip(called.params.params, positional(call), strict=False):
                if parameter.name.value in inside:
                    accessed |= names_in(value)
    return accessed


def _members(read: KernelSource, function: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, str]]:
    """Every name below cuda.tile in a function's body."""
    for node in (*nodes(function.body, cst.Attribute), *nodes(function.body, cst.Name)):
        member = read.names.resolve(node)
        if member is not None:
            yield node, member


def _defined(read: KernelSource, name: str) -> Iterator[cst.FunctionDef]:
    for function in read.parents:
        if isinstance(function, cst.FunctionDef) and function.name.value == name and function is not read.function:
            yield function
