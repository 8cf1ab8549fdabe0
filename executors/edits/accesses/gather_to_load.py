"""A gather of a contiguous range as `ct.load`, a scatter to one as `ct.store`.

The loaded tile keeps the array's rank, so it is reshaped to the one dimension that the gather gave, and nothing after it
changes. `latency` is carried over, and `check_bounds` where it is False; a load that checks reads the same.
"""

import libcst as cst

from kdiag.records import Launch

from ..syntax.bindings import names_in
from ..syntax.kernel_source import argument, keyword, named, positional, remove_keyword, set_keyword, unpacks
from ..syntax.kernel_view import KernelView, code, keyword_text
from .conversion import Conversion, Refusal, Tile
from .masks import is_unchecked, mask_of
from .padding_modes import mode_of_value, number
from .range_access import NO_RANGE, TileAccess, tile_access
from .tile_shapes import surrounding_reshape, tile_shape

CARRIED = ("check_bounds", "latency")


def gather_to_load(
    kernel: KernelView, launches: tuple[Launch, ...], call: cst.Call, *, allow_tma: bool
) -> Conversion | Refusal:
    access = _access(kernel, launches, call, values=2)
    if isinstance(access, str):
        return Refusal(call, access, minor=access.endswith(NO_RANGE))
    unchecked, padding = is_unchecked(call), keyword(call, "padding_value")
    mode = mode_of_value(None if padding is None else kernel.constant(padding.value, call))
    if mode is None and not unchecked:
        shown = "" if padding is None else code(padding.value)
        return Refusal(call, f"padding_value={shown} is none of the values that a tile load can pad with")
    # tileiras 13.4 compiles no load that has both a padding mode and check_bounds=False, which may be a name's value
    bounds = {"check_bounds": "False"} if unchecked else {"padding_mode": f"{kernel.tile}.PaddingMode.{mode}"}
    keywords = {
        "shape": _tuple(access.shape),
        **bounds,
        **_carried(call, "latency"),
        **({} if allow_tma else {"allow_tma": "False"}),
    }
    outer = surrounding_reshape(kernel, call, access.shape)

    def rewrite(updated: cst.Call) -> cst.BaseExpression:
        if outer is not None:  # the gather's result is given the tile's own shape, which the load has already
            updated = cst.ensure_type(updated.args[0].value, cst.Call)
        load = _with_keywords(_with_index(updated, access), keywords)
        load = load.with_changes(func=cst.parse_expression(f"{kernel.tile}.load"))
        plain = outer is not None or access.shape == access.result
        return load if plain else _shaped(kernel, "reshape", load, access.result)

    tile = Tile(code(call.args[0].value), access.shape, access.last_is_range and access.part is None)
    tma = allow_tma and mode == "ZERO" and not unchecked and tile.along_last_axis
    return Conversion(outer or call, rewrite, tile, tma, _names(call))


def scatter_to_store(
    kernel: KernelView, launches: tuple[Launch, ...], call: cst.Call, *, allow_tma: bool
) -> Conversion | Refusal:
    access = _access(kernel, launches, call, values=3)
    if isinstance(access, str):
        return Refusal(call, access, minor=access.endswith(NO_RANGE))
    stored = call.args[2].value
    value, _ = kernel.resolve(stored, call)
    if number(value) is not None or kernel.is_call(value, "bid", "num_blocks", "cdiv", "num_tiles"):
        return Refusal(call, f"`{code(stored)}` is one number and not a tile of ({', '.join(access.result)})")
    keywords = {**_carried(call, *CARRIED), **({} if allow_tma else {"allow_tma": "False"})}
    full = tile_shape(kernel, stored, call) == access.result
    flattened = kernel.is_call(stored, "reshape") and _is_shaped(kernel, stored, call, access.shape)

    def rewrite(updated: cst.Call) -> cst.BaseExpression:
        tile = updated.args[2]
        if flattened:  # of the very shape that the store needs
            tile = tile.with_changes(value=argument(cst.ensure_type(tile.value, cst.Call), 0, "x"))
        elif not full:  # a scatter spreads one element over its range, a store would write it alone
            tile = tile.with_changes(value=_shaped(kernel, "broadcast_to", tile.value, access.result))
        if not flattened and access.shape != access.result:
            tile = tile.with_changes(value=_shaped(kernel, "reshape", tile.value, access.shape))
        args = [*updated.args[:2], named(tile, "tile"), *updated.args[3:]]
        store = _with_keywords(_with_index(updated.with_changes(args=args), access), keywords)
        return store.with_changes(func=cst.parse_expression(f"{kernel.tile}.store"))

    tile = Tile(code(call.args[0].value), access.shape, access.last_is_range and access.part is None)
    return Conversion(call, rewrite, tile, allow_tma and tile.along_last_axis, _names(call))


def _access(kernel: KernelView, launches: tuple[Launch, ...], call: cst.Call, values: int) -> TileAccess | str:
    """The tile access behind a gather or scatter with that many positional arguments, or why there is none."""
    if len(positional(call)) != values or unpacks(call):
        return f"it has not exactly {values} plain positional arguments"
    return tile_access(kernel, launches, call)


def _is_shaped(kernel: KernelView, reshaped: cst.BaseExpression, place: cst.CSTNode, shape: tuple[str, ...]) -> bool:
    """Whether what a `ct.reshape` flattens certainly has that shape."""
    tile = argument(cst.ensure_type(reshaped, cst.Call), 0, "x")
    return tile is not None and tile_shape(kernel, tile, place) == shape


def _names(call: cst.Call) -> frozenset[str]:
    mask = mask_of(call)
    return frozenset(names_in(call.args[1].value) | (set() if mask is None else names_in(mask)))


def _carried(call: cst.Call, *names: str) -> dict[str, str]:
    """Those of the keywords that the call has; the bounds check that is left of a mask is the default."""
    texts = {name: text for name in names if (text := keyword_text(call, name)) is not None}
    default = mask_of(call) is not None or texts.get("check_bounds") == "True"
    return {name: text for name, text in texts.items() if name != "check_bounds" or not default}


def _with_index(call: cst.Call, access: TileAccess) -> cst.Call:
    index = call.args[1].with_changes(value=cst.parse_expression(_tuple(access.index)))
    array = call.args[0]
    if access.part is not None:
        bounds = f"axis={access.part.axis}, start={access.part.start}, stop={access.part.stop}"
        array = array.with_changes(value=cst.parse_expression(f"{code(array.value)}.slice({bounds})"))
    return call.with_changes(args=[array, named(index, "index"), *call.args[2:]])


def _with_keywords(call: cst.Call, keywords: dict[str, str]) -> cst.Call:
    """The call with these keywords behind its first arguments, in this order, and without those of a gather."""
    for name in ("mask", "padding_value", *CARRIED):
        call = remove_keyword(call, name)
    for name, text in keywords.items():
        call = set_keyword(call, name, text)
    return call


def _shaped(kernel: KernelView, operation: str, tile: cst.BaseExpression, shape: tuple[str, ...]) -> cst.Call:
    text = f"{kernel.tile}.{operation}(tile, {_tuple(shape)})"
    call = cst.ensure_type(cst.parse_expression(text), cst.Call)
    return call.with_changes(args=[call.args[0].with_changes(value=tile), call.args[1]])


def _tuple(parts: tuple[str, ...]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
