"""The inverse: `ct.load` and `ct.store` as `ct.gather` and `ct.scatter` of the elements of the tile.

Padding is carried over exactly; where a load leaves it undetermined the gather pads with 0. A load's result is reshaped
to the tile's own shape, so nothing after it changes. TMA-related keywords have no counterpart and go. The ranges count
in int32.
"""

from dataclasses import dataclass

import libcst as cst

from ..syntax.kernel_source import argument, keyword, nodes, unpacks
from ..syntax.kernel_view import KernelView, code, keyword_text
from ..syntax.operands import operand
from .conversion import Conversion, Refusal, Tile
from .padding_modes import VALUE_OF_MODE
from .scalars import is_compile_time
from .tile_shapes import array_axes, shape_text, surrounding_reshape, tile_shape

ONE_ELEMENT = "its tile is one element"
UNTRANSLATABLE = ("memory_order", "memory_scope")


@dataclass(frozen=True)
class _Elements:
    """The elements of a tile: index and shape for each dimension of it, and the array's axis of each dimension."""

    index: tuple[str, ...]
    shape: tuple[str, ...]
    axes: tuple[int, ...]

    @property
    def result(self) -> tuple[str, ...]:
        """The shape that a gather of them gives: the tile's without dimensions of 1."""
        return tuple(size for size in self.shape if size != "1")

    @property
    def along_last_axis(self) -> bool:
        """Whether the tile has more than one element along the axis that is contiguous in an ordinary array."""
        return self.shape[self.axes.index(len(self.axes) - 1)] != "1"


def load_to_gather(kernel: KernelView, call: cst.Call) -> Conversion | Refusal:
    array = argument(call, 0, "array")
    elements = _elements(kernel, call, _sizes(kernel, argument(call, 2, "shape"), call))
    if isinstance(elements, str) or array is None:
        return _refusal(call, elements if isinstance(elements, str) else "it names no array")
    padding = keyword(call, "padding_mode")
    mode = "UNDETERMINED" if padding is None else _mode(kernel, kernel.constant(padding.value, call))
    if mode not in VALUE_OF_MODE:
        return Refusal(call, "its padding_mode is not written out as a member of PaddingMode")
    keywords = {"padding_value": VALUE_OF_MODE[mode], **_carried(call)}
    gather = _call(kernel, "gather", [code(array), _indices(kernel, elements)], keywords)
    outer = surrounding_reshape(kernel, call, elements.result)
    plain = outer is not None or elements.result == elements.shape
    result = gather if plain else f"{kernel.tile}.reshape({gather}, ({', '.join(elements.shape)}))"
    used_tma = mode in ("UNDETERMINED", "ZERO") and elements.along_last_axis and _allows_tma(call)
    tile = Tile(code(array), elements.shape, elements.along_last_axis)
    return Conversion(outer or call, lambda _: cst.parse_expression(result), tile, used_tma)


def store_to_scatter(kernel: KernelView, call: cst.Call) -> Conversion | Refusal:
    """The conversion of one `ct.store`, whose tile's shape follows from what computes it."""
    array, tile = argument(call, 0, "array"), argument(call, 2, "tile")
    if array is None or tile is None:
        return Refusal(call, "it names no array or no tile")
    shape = tile_shape(kernel, tile, call)
    if shape is None:
        return Refusal(call, f"the shape of `{code(tile)}` does not follow from the source")
    elements = _elements(kernel, call, shape)
    if isinstance(elements, str):
        return _refusal(call, elements)
    written = [code(array), _indices(kernel, elements), "tile"]
    scatter = cst.ensure_type(cst.parse_expression(_call(kernel, "scatter", written, _carried(call))), cst.Call)

    inner = argument(tile, 0, "x") if isinstance(tile, cst.Call) and kernel.is_call(tile, "reshape") else None
    reshaped = inner is not None and elements.result != elements.shape
    flat_before = inner is not None and tile_shape(kernel, inner, call) == elements.result

    def rewrite(updated: cst.Call) -> cst.BaseExpression:
        value = argument(updated, 2, "tile") or tile
        flat = _flat(kernel, value, elements, reshaped=reshaped, flat=flat_before)
        args = [*scatter.args[:2], scatter.args[2].with_changes(value=flat), *scatter.args[3:]]
        return scatter.with_changes(args=args)

    last = elements.along_last_axis
    return Conversion(call, rewrite, Tile(code(array), elements.shape, last), last and _allows_tma(call))


def _refusal(call: cst.Call, reason: str) -> Refusal:
    return Refusal(call, reason, minor=reason == ONE_ELEMENT)


def _elements(kernel: KernelView, call: cst.Call, shape: tuple[str, ...] | None) -> _Elements | str:
    """The tile's index and shape when both are written out and it is more than one element."""
    index = _sizes(kernel, argument(call, 1, "index"), call)
    if index is None or shape is None or len(index) != len(shape):
        return "its index and shape are not written out as tuples of one length"
    obstacle = _untranslatable(kernel, call)
    if obstacle is not None:
        return obstacle
    axes = array_axes(call, len(shape))
    if axes is None:
        return "its order is not written out"
    wide = [size for size in shape if size != "1"]
    if not wide:
        return ONE_ELEMENT
    unknown = next((size for size in wide if not is_compile_time(kernel, cst.parse_expression(size))), None)
    if unknown is not None:
        return f"the size `{unknown}` is neither a number nor a name that is bound once"
    return _Elements(index, shape, axes)


def _sizes(kernel: KernelView, expression: cst.BaseExpression | None, call: cst.Call) -> tuple[str, ...] | None:
    """The entries of an index or shape, under a name as well; a number or call alone is that of a vector."""
    if expression is None:
        return None
    written, place = kernel.resolve(expression, call)
    if isinstance(written, cst.Tuple):
        return shape_text(written) if kernel.bindings.same(written, place, call) else None
    return (code(expression),) if isinstance(expression, cst.Integer) or kernel.is_call(written, "bid") else None


def _untranslatable(kernel: KernelView, call: cst.Call) -> str | None:
    """What the call asks for that a gather or scatter cannot do."""
    if unpacks(call):
        return "its arguments are unpacked"
    if any(
        "IndexedWithInt64" in code(given.annotation) for given in nodes(kernel.source.function.params, cst.Annotation)
    ):
        return "the kernel indexes with 64 bits, and the ranges of a gather count with 32"
    unknown = [name for name in UNTRANSLATABLE if keyword(call, name) is not None]
    return f"{unknown[0]} has no counterpart in gather and scatter" if unknown else None


def _indices(kernel: KernelView, elements: _Elements) -> str:
    """The indices of the elements, axis by axis of the array, as a gather takes them."""
    rank, wide, parts = len(elements.result), 0, [""] * len(elements.shape)
    for index, size, axis in zip(elements.index, elements.shape, elements.axes, strict=True):
        parts[axis] = index
        if size != "1":
            steps = f"{kernel.tile}.arange({size}, dtype={kernel.tile}.int32)"
            around = [":" if position == wide else "None" for position in range(rank)]
            steps = steps if rank == 1 else f"{steps}[{', '.join(around)}]"
            parts[axis] = steps if index == "0" else f"{operand(index)} * {size} + {steps}"
            wide += 1
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _flat(
    kernel: KernelView, value: cst.BaseExpression, elements: _Elements, *, reshaped: bool, flat: bool
) -> cst.BaseExpression:
    """The stored tile as a scatter takes it; a reshape of it to the tile's shape is taken off again."""
    if elements.result == elements.shape:
        return value
    if reshaped and isinstance(value, cst.Call):
        value = argument(value, 0, "x") or value
    if flat:
        return value
    shape = ", ".join(elements.result) + ("," if len(elements.result) == 1 else "")
    call = cst.ensure_type(cst.parse_expression(f"{kernel.tile}.reshape(tile, ({shape}))"), cst.Call)
    return call.with_changes(args=[call.args[0].with_changes(value=value), call.args[1]])


def _mode(kernel: KernelView, expression: cst.BaseExpression) -> str:
    return (kernel.source.names.resolve(expression) or "").removeprefix("PaddingMode.")


def _allows_tma(call: cst.Call) -> bool:
    return keyword_text(call, "allow_tma") != "False"


def _carried(call: cst.Call) -> dict[str, str | None]:
    return {name: keyword_text(call, name) for name in ("check_bounds", "latency")}


def _call(kernel: KernelView, member: str, values: list[str], keywords: dict[str, str | None]) -> str:
    named = [f"{name}={text}" for name, text in keywords.items() if text is not None]
    return f"{kernel.tile}.{member}({', '.join([*values, *named])})"
