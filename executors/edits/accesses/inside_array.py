"""Under what condition a memory access stays inside its array, in every block and every turn of its loops."""

import libcst as cst

from ..launches.host_guard import Fits
from ..launches.launch_values import Extent, LaunchValue
from ..launches.tile_shapes import shapes
from ..syntax.bindings import names_in
from ..syntax.kernel_source import argument, entries, holds, keyword, positional, unpacks
from ..syntax.kernel_view import KernelView, code
from .reach import array_parameter, bound
from .symbolic_shapes import Shape, tile_shape, written_shape


def fits(view: KernelView, call: cst.Call) -> tuple[Fits, ...] | str:
    """One condition for each axis of the array of a `ct.load`, `store`, `gather` or `scatter`; or why there is none."""
    array, indices = array_parameter(view, _array(call), call), argument(call, 1, "index")
    if array is None or indices is None:
        return "its array is not a parameter of the kernel"
    written, place = view.resolve(indices, call)
    parts = entries(written) if isinstance(written, cst.Tuple) else [indices]
    reason = _refusal(view, call, array, len(parts))
    if reason is not None:
        return reason
    shape = _shape(view, call, len(parts))
    if shape is None or len(shape) != len(parts):
        return "the shape of its tile is not certain"
    return _conditions(view, array, parts, shape, place if isinstance(written, cst.Tuple) else call)


def _array(call: cst.Call) -> cst.BaseExpression | None:
    values = positional(call)
    return values[0] if values else None


def _refusal(view: KernelView, call: cst.Call, array: str, rank: int) -> str | None:
    if unpacks(call):
        return "its arguments are unpacked"
    if holds(view.source.function.body, cst.FunctionDef, cst.Lambda):
        return "the kernel defines a function inside, whose parameters may hide its names"
    if _is_annotated(view, array):
        return f"the parameter {array} is annotated, its indices may have 64 bits"
    if keyword(call, "order") is not None:
        return "it has an order of axes"
    if not certain_rank(view, array, rank):
        return f"it is conditional, and where it is not made {array} may have another number of axes"
    return None


def _conditions(
    view: KernelView, array: str, parts: list[cst.BaseExpression], shape: Shape, place: cst.CSTNode
) -> tuple[Fits, ...] | str:
    positive = {name for size in shapes(view.source) for name in names_in(size)}
    found = []
    for axis, (part, size) in enumerate(zip(parts, shape, strict=True)):
        index = bound(view, part, place)
        if index is None or not (index.at_least_0 and index.steady):
            return f"how far `{code(part)}` in its index goes is not certain"
        reach = (index.most + 1) * size
        found.append(Fits(reach, Extent(array, axis), index.signed - positive, index.divisors - positive))
    return tuple(found)


def _shape(view: KernelView, call: cst.Call, rank: int) -> Shape | None:
    """The tile's shape where the index counts tiles; ones where it counts elements."""
    if view.is_call(call, "load"):
        return written_shape(view, argument(call, 2, "shape"), call)
    if view.is_call(call, "store"):
        tile = argument(call, 2, "tile")
        shape = None if tile is None else tile_shape(view, tile, call)
        return (LaunchValue.of(1),) * rank if shape == () else shape
    return (LaunchValue.of(1),) * rank


def certain_rank(view: KernelView, array: str, rank: int) -> bool:
    """Whether an access that is certainly compiled indexes the array with so many numbers."""
    return any(
        array_parameter(view, _array(each), each) == array
        and _rank(view, each) == rank
        and not _is_conditional(view, each)
        for each in view.source.calls("load", "store", "gather", "scatter")
    )


def _rank(view: KernelView, call: cst.Call) -> int | None:
    indices = argument(call, 1, "index")
    return 1 if indices is None else len(entries(view.resolve(indices, call)[0]))


def _is_conditional(view: KernelView, call: cst.Call) -> bool:
    return any(isinstance(node, cst.If | cst.IfExp | cst.BooleanOperation) for node in view.source.inside(call))


def _is_annotated(view: KernelView, array: str) -> bool:
    parameters = view.source.function.params.params
    return any(each.name.value == array and each.annotation is not None for each in parameters)
