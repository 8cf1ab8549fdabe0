"""The inverse: `ct.load` and `ct.store` of a 1-D tile or of a row tile as `ct.gather` and `ct.scatter` of the range.

Padding is carried over exactly; where a load leaves it undetermined the gather pads with 0. A load's result is reshaped
to the tile's own shape, so nothing after it changes. TMA-related keywords have no counterpart and go. The range counts
in int32, so an axis of 2**31 elements or more is out of reach.
"""

from __future__ import annotations

import libcst as cst

from kdiag.executors.edits.accesses.conversion import Conversion, Refusal
from kdiag.executors.edits.accesses.padding_modes import VALUE_OF_MODE
from kdiag.executors.edits.accesses.range_access import TileAccess
from kdiag.executors.edits.accesses.tile_shapes import shape_text, tile_shape
from kdiag.executors.edits.syntax.kernel_source import argument, keyword
from kdiag.executors.edits.syntax.kernel_view import KernelView, code

UNTRANSLATABLE = ("memory_order", "memory_scope")


def load_to_gather(kernel: KernelView, call: cst.Call) -> Conversion | Refusal:
    """The conversion of one `ct.load`."""
    access = _access(kernel, call, shape_text(argument(call, 2, "shape")))
    array = argument(call, 0, "array")
    if isinstance(access, str) or array is None:
        return Refusal(call, access if isinstance(access, str) else "it names no array")
    padding = keyword(call, "padding_mode")
    mode = "UNDETERMINED" if padding is None else _mode(kernel, padding.value)
    if mode not in VALUE_OF_MODE:
        return Refusal(call, "its padding_mode is not written out as a member of PaddingMode")
    keywords = {"padding_value": VALUE_OF_MODE[mode], **_carried(call)}
    gather = _call(kernel, "gather", [code(array), _indices(kernel, access)], keywords)
    parent = _surrounding_reshape(kernel, call, access)
    if parent is not None or len(access.shape) == 1:
        result = gather
    else:
        result = f"{kernel.tile}.reshape({gather}, ({', '.join(access.shape)}))"
    used_tma = mode in ("UNDETERMINED", "ZERO") and access.along_last_axis and _allows_tma(call)
    return Conversion(parent or call, lambda _: cst.parse_expression(result), used_tma)


def store_to_scatter(kernel: KernelView, call: cst.Call) -> Conversion | Refusal:
    """The conversion of one `ct.store`, whose tile's shape follows from what computes it."""
    array, tile = argument(call, 0, "array"), argument(call, 2, "tile")
    if array is None or tile is None:
        return Refusal(call, "it names no array or no tile")
    shape = tile_shape(kernel, tile, call)
    if shape is None:
        return Refusal(call, f"the shape of `{code(tile)}` does not follow from the source")
    access = _access(kernel, call, shape)
    if isinstance(access, str):
        return Refusal(call, access)
    written = [code(array), _indices(kernel, access), "tile"]
    scatter = cst.ensure_type(
        cst.parse_expression(_call(kernel, "scatter", written, _carried(call))), cst.Call
    )

    def rewrite(updated: cst.Call) -> cst.BaseExpression:
        value = argument(updated, 2, "tile") or tile
        flat = _flat(kernel, value, tile, access)
        args = [*scatter.args[:2], scatter.args[2].with_changes(value=flat), *scatter.args[3:]]
        return scatter.with_changes(args=args)

    return Conversion(call, rewrite, access.along_last_axis and _allows_tma(call))


def _access(kernel: KernelView, call: cst.Call, shape: tuple[str, ...] | None) -> TileAccess | str:
    """The tile's index and shape when both are written out and exactly one dimension is more than 1."""
    index = shape_text(argument(call, 1, "index"))
    if index is None or shape is None or len(index) != len(shape):
        return "its index and shape are not written out as tuples of one length"
    obstacle = _untranslatable(call)
    if obstacle is not None:
        return obstacle
    wide = [axis for axis, size in enumerate(shape) if size != "1"]
    if len(wide) != 1:
        return f"a tile of shape ({', '.join(shape)}) is no row of elements"
    if not (shape[wide[0]].isdecimal() or _is_fixed_name(kernel, shape[wide[0]])):
        return f"the size `{shape[wide[0]]}` is neither a number nor a name that is bound once"
    return TileAccess(index, shape, wide[0])


def _untranslatable(call: cst.Call) -> str | None:
    """What the call asks for that a gather or scatter cannot do."""
    order = keyword(call, "order")
    if order is not None and code(order.value) not in ('"C"', "'C'"):
        return f"order={code(order.value)} permutes the axes"
    if any(given.star for given in call.args):
        return "its arguments are unpacked"
    unknown = [name for name in UNTRANSLATABLE if keyword(call, name) is not None]
    return f"{unknown[0]} has no counterpart in gather and scatter" if unknown else None


def _is_fixed_name(kernel: KernelView, name: str) -> bool:
    bindings = kernel.bindings
    return name.isidentifier() and (bindings.is_global(name) or bindings.is_bound_once(name))


def _indices(kernel: KernelView, access: TileAccess) -> str:
    """The element indices of the tile, as a gather takes them."""
    start = access.index[access.axis]
    steps = f"{kernel.tile}.arange({access.size}, dtype={kernel.tile}.int32)"
    if start != "0":
        product = cst.parse_expression(start)
        simple = isinstance(product, cst.Name | cst.Call | cst.Attribute | cst.Integer) or bool(product.lpar)
        steps = f"{start if simple else f'({start})'} * {access.size} + {steps}"
    if len(access.shape) == 1:
        return steps
    parts = [steps if axis == access.axis else part for axis, part in enumerate(access.index)]
    return f"({', '.join(parts)})"


def _surrounding_reshape(kernel: KernelView, call: cst.Call, access: TileAccess) -> cst.Call | None:
    """The `ct.reshape(call, (size,))` around the call, when there is one: the gather gives that shape already."""
    parents = kernel.source.parents
    outer = parents[parents[call]]
    if not (isinstance(outer, cst.Call) and kernel.is_call(outer, "reshape")):
        return None
    return outer if shape_text(argument(outer, 1, "shape")) == (access.size,) else None


def _flat(
    kernel: KernelView, value: cst.BaseExpression, original: cst.BaseExpression, access: TileAccess
) -> cst.BaseExpression:
    """The stored tile as one dimension; a reshape of such a tile to the row's shape is taken off again."""
    if len(access.shape) == 1:
        return value
    if isinstance(value, cst.Call) and kernel.is_call(original, "reshape"):
        value = argument(value, 0, "x") or value
    flat = cst.parse_expression(f"{kernel.tile}.reshape(tile, ({access.size},))")
    flat = cst.ensure_type(flat, cst.Call)
    return flat.with_changes(args=[flat.args[0].with_changes(value=value), flat.args[1]])


def _mode(kernel: KernelView, expression: cst.BaseExpression) -> str:
    return (kernel.source.names.resolve(expression) or "").removeprefix("PaddingMode.")


def _allows_tma(call: cst.Call) -> bool:
    given = keyword(call, "allow_tma")
    return given is None or code(given.value) != "False"


def _carried(call: cst.Call) -> dict[str, str | None]:
    given = {name: keyword(call, name) for name in ("check_bounds", "latency")}
    return {name: None if found is None else code(found.value) for name, found in given.items()}


def _call(kernel: KernelView, member: str, values: list[str], keywords: dict[str, str | None]) -> str:
    named = [f"{name}={text}" for name, text in keywords.items() if text is not None]
    return f"{kernel.tile}.{member}({', '.join([*values, *named])})"
