"""A tile load that pads with another value than zero, and the mask of the elements inside the array."""

from dataclasses import dataclass

import libcst as cst

from ..syntax.kernel_source import argument, holds, keyword, nodes, unpacks
from ..syntax.kernel_view import KernelView, code, keyword_text
from ..syntax.operands import operand
from .padding_modes import VALUE_OF_MODE
from .tile_shapes import array_axes, shape_text

ARGUMENTS = ((0, "array"), (1, "index"), (2, "shape"))
NUMBERS = ("bid", "num_blocks", "num_tiles", "cdiv")


@dataclass(frozen=True)
class PaddedLoad:
    """`mask` is the source of the mask in the tile's shape, "" where the tile cannot cross a border; `value` pads.

    The axes of a permuted tile are not in the array's order.
    """

    mask: str
    value: str
    permuted: bool


def padded_load(view: KernelView, call: cst.Call) -> PaddedLoad | str | None:
    """What a load pads with; None where that is zero or undetermined, and a reason where no mask can be written."""
    padding = keyword(call, "padding_mode")
    if padding is None:
        return None
    mode = (view.source.names.resolve(view.constant(padding.value, call)) or "").removeprefix("PaddingMode.")
    if mode not in VALUE_OF_MODE:
        return "its padding_mode is not written out as a member of PaddingMode"
    value = VALUE_OF_MODE[mode]
    if value is None:
        return None
    obstacle = _obstacle(view, call)
    if obstacle is not None:
        return obstacle
    return PaddedLoad(_mask(view, call), value, permuted=keyword(call, "order") is not None)


def _mask(view: KernelView, call: cst.Call) -> str:
    """Where the tile is inside its array; an axis of one element is, or the load would be undefined."""
    array, index, shape = (argument(call, *at) for at in ARGUMENTS)
    starts, sizes = shape_text(index) or (), shape_text(shape) or ()
    axes = array_axes(call, len(sizes)) or ()
    name = "" if array is None else code(array)
    within = [
        _within(view, f"{name}.shape[{axis}]", (start, size), _broadcast(at, len(sizes)))
        for at, (axis, start, size) in enumerate(zip(axes, starts, sizes, strict=True))
        if size != "1"
    ]
    return " & ".join(within)


def _obstacle(view: KernelView, call: cst.Call) -> str | None:
    """Why no mask can be written for a load, or why it has none to be written for."""
    if unpacks(call):
        return "its arguments are unpacked"
    for name in ("allow_tma", "check_bounds", "memory_order", "memory_scope"):
        given = keyword_text(call, name)
        if given not in (None, "True", "None"):
            return f"{name}={given} is set"
    array, index, shape = (argument(call, *at) for at in ARGUMENTS)
    starts, sizes = shape_text(index), shape_text(shape)
    if not isinstance(array, cst.Name) or starts is None or sizes is None or len(starts) != len(sizes):
        return "its array is no name, or its index and shape are not written out as tuples of one length"
    if not _is_pure(view, index):
        return "its index is computed by a call or a binding that cannot be written twice"
    return "its order is not written out" if array_axes(call, len(sizes)) is None else None


def _is_pure(view: KernelView, index: cst.BaseExpression | None) -> bool:
    """Whether the index may be evaluated twice."""
    if index is None or holds(index, cst.NamedExpr):
        return False
    return all(view.is_call(call, *NUMBERS) for call in nodes(index, cst.Call))


def _broadcast(at: int, rank: int) -> str:
    """The subscript that puts a 1-D mask along one axis of the tile."""
    return "" if rank == 1 else f"[{', '.join(':' if axis == at else 'None' for axis in range(rank))}]"


def _within(view: KernelView, extent: str, tile: tuple[str, str], broadcast: str) -> str:
    """The mask along one axis, for the tile of a number and a size."""
    index, size = tile
    steps = f"{view.tile}.arange({size}, dtype={view.tile}.int32)"
    if index != "0":
        steps = f"{operand(index)} * {operand(size)} + {steps}"
    return f"({steps} < {extent}){broadcast}" if broadcast else f"{steps} < {extent}"
