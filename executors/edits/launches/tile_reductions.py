"""Whether a tile size decides what is reduced: then it can only change where the kernel combines its tiles."""

from collections.abc import Iterator

import libcst as cst

from ..syntax.attribute_calls import is_unread
from ..syntax.bindings import names_in
from ..syntax.kernel_source import KernelSource, argument, integer, method, nodes
from .blocks import called_functions
from .tile_loops import counted_in_kernel
from .tile_shapes import shapes

MEMBERS = ("sum", "max", "min", "prod", "cumsum", "cumprod", "argmax", "argmin", "reduce", "scan")
BUILT_IN = ("range", "float", "int", "len", "min", "max", "tuple")


def reduces(read: KernelSource) -> bool:
    """Whether the kernel, or a function of the file that it calls, reduces a tile."""
    return any(True for _ in _reductions(read))


def calls_unseen(read: KernelSource) -> bool:
    """Whether the kernel calls a function that is neither cuda.tile's nor in this file: it may reduce."""
    own = {function.name.value for function in (read.function, *called_functions(read))}
    return any(
        is_unread(read, call)
        or (
            isinstance(call.func, cst.Name)
            and read.names.resolve(call.func) is None
            and call.func.value not in own
            and call.func.value not in BUILT_IN
        )
        for function in (read.function, *called_functions(read))
        for call in nodes(function, cst.Call)
    )


def reduced_uncombined(read: KernelSource, parameter: str) -> bool:
    """Whether the kernel may reduce along the dimension that the parameter sizes, and never combines its tiles.

    They are combined where the kernel itself counts them: in a loop, or in what a loop has accumulated.
    """
    if counted_in_kernel(read, parameter):
        return any(not _combined(read, call) for call in _reductions(read))
    axes = [integer(argument(call, 1, "axis")) for call in _reductions(read)]
    return any(axis is None or _sizes_axis(read, parameter, axis) for axis in axes)


def _reductions(read: KernelSource) -> Iterator[cst.Call]:
    """The calls that reduce: members of cuda.tile, and methods of a tile."""
    for function in (read.function, *called_functions(read)):
        for call in nodes(function, cst.Call):
            if (read.names.resolve(call.func) or method(call)) in MEMBERS:
                yield call


def _combined(read: KernelSource, call: cst.Call) -> bool:
    """Whether a reduction stands in a loop, or is of something that a loop accumulates."""
    if read.around(call, cst.For, cst.While, cst.FunctionDef) is not read.function:
        return True  # also in a function that the kernel calls, where it does so in a loop
    accumulated = {name for loop in nodes(read.function, cst.For) for name in _accumulated(loop)}
    return bool(accumulated & names_in(call))


def _accumulated(loop: cst.For) -> Iterator[str]:
    """The names that a loop adds to: `x += ...` and `x = f(x)`."""
    for changed in nodes(loop, cst.AugAssign):
        yield from names_in(changed.target)
    for statement in nodes(loop, cst.Assign):
        for target in statement.targets:
            yield from names_in(target.target) & names_in(statement.value)


def _sizes_axis(read: KernelSource, parameter: str, axis: int) -> bool:
    """Whether a tile has the parameter as its size along an axis; a shape that is no tuple may."""
    for shape in shapes(read):
        if parameter not in names_in(shape):
            continue
        if not isinstance(shape, cst.Tuple | cst.List):
            return True
        if axis < len(shape.elements) and parameter in names_in(shape.elements[axis].value):
            return True
    return False
