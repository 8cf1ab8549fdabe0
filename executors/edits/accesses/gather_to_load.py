"""A gather of a contiguous range as `ct.load`, a scatter to one as `ct.store`.

The loaded tile keeps the array's rank, so it is reshaped to the one dimension that the gather gave, and nothing after it
changes. `latency` is carried over, and `check_bounds` where it is not the default that loads have as well.
"""

from __future__ import annotations

import libcst as cst

from kdiag.executors.edits.accesses.conversion import Conversion, Refusal
from kdiag.executors.edits.accesses.padding_modes import mode_of_value, number
from kdiag.executors.edits.accesses.range_access import TileAccess, tile_access
from kdiag.executors.edits.accesses.tile_shapes import is_full
from kdiag.executors.edits.syntax.bindings import names_in
from kdiag.executors.edits.syntax.kernel_source import keyword, positional, remove_keyword, set_keyword
from kdiag.executors.edits.syntax.kernel_view import KernelView, code

CARRIED = ("check_bounds", "latency")


def gather_to_load(kernel: KernelView, call: cst.Call, *, allow_tma: bool) -> Conversion | Refusal:
    """The conversion of one `ct.gather`."""
    access = _access(kernel, call, values=2)
    if isinstance(access, str):
        return Refusal(call, access)
    padding = keyword(call, "padding_value")
    mode = mode_of_value(None if padding is None else kernel.constant(padding.value, call))
    if mode is None:
        shown = "" if padding is None else code(padding.value)
        return Refusal(call, f"padding_value={shown} is none of the values that a tile load can pad with")
    keywords = {
        "shape": _tuple(access.shape),
        "padding_mode": f"{kernel.tile}.PaddingMode.{mode}",
        **_carried(call),
        **({} if allow_tma else {"allow_tma": "False"}),
    }

    def rewrite(updated: cst.Call) -> cst.BaseExpression:
        load = _with_keywords(_with_index(updated, access), keywords)
        load = load.with_changes(func=cst.parse_expression(f"{kernel.tile}.load"))
        return load if len(access.shape) == 1 else _shaped(kernel, "reshape", load, (access.size,))

    return Conversion(call, rewrite, _tma(access, allow_tma) and mode == "ZERO", _names(call))


def scatter_to_store(kernel: KernelView, call: cst.Call, *, allow_tma: bool) -> Conversion | Refusal:
    """The conversion of one `ct.scatter`."""
    access = _access(kernel, call, values=3)
    if isinstance(access, str):
        return Refusal(call, access)
    value, _ = kernel.resolve(call.args[2].value, call)
    if number(value) is not None or kernel.is_call(value, "bid", "num_blocks", "cdiv", "num_tiles"):
        return Refusal(
            call, f"`{code(call.args[2].value)}` is one number and not a tile of {access.size} elements"
        )
    keywords = {**_carried(call), **({} if allow_tma else {"allow_tma": "False"})}
    full = is_full(kernel, call.args[2].value, call, access.size)

    def rewrite(updated: cst.Call) -> cst.BaseExpression:
        tile = updated.args[2]
        if not full:  # a scatter spreads one element over its range, a store would write it alone
            tile = tile.with_changes(value=_shaped(kernel, "broadcast_to", tile.value, (access.size,)))
        if len(access.shape) > 1:
            tile = tile.with_changes(value=_shaped(kernel, "reshape", tile.value, access.shape))
        args = [*updated.args[:2], _named(tile, "tile"), *updated.args[3:]]
        store = _with_keywords(_with_index(updated.with_changes(args=args), access), keywords)
        return store.with_changes(func=cst.parse_expression(f"{kernel.tile}.store"))

    return Conversion(call, rewrite, _tma(access, allow_tma), _names(call))


def _access(kernel: KernelView, call: cst.Call, values: int) -> TileAccess | str:
    """The tile access behind a gather or scatter with that many positional arguments, or why there is none."""
    if len(positional(call)) != values:
        return f"it has not exactly {values} plain positional arguments"
    mask = keyword(call, "mask")
    if mask is not None and code(mask.value) != "None":
        return f"a tile access cannot carry the mask `{code(mask.value)}`"
    return tile_access(kernel, call.args[1].value)


def _tma(access: TileAccess, allow_tma: bool) -> bool:
    return allow_tma and access.along_last_axis


def _names(call: cst.Call) -> frozenset[str]:
    return frozenset(names_in(call.args[1].value))


def _carried(call: cst.Call) -> dict[str, str]:
    given = {name: keyword(call, name) for name in CARRIED}
    texts = {name: code(found.value) for name, found in given.items() if found is not None}
    return {name: text for name, text in texts.items() if (name, text) != ("check_bounds", "True")}


def _with_index(call: cst.Call, access: TileAccess) -> cst.Call:
    index = call.args[1].with_changes(value=cst.parse_expression(_tuple(access.index)))
    return call.with_changes(args=[call.args[0], _named(index, "index"), *call.args[2:]])


def _with_keywords(call: cst.Call, keywords: dict[str, str]) -> cst.Call:
    """The call with these keywords behind its first arguments, in this order, and without those of a gather."""
    for name in ("mask", "padding_value", *CARRIED):
        call = remove_keyword(call, name)
    for name, text in keywords.items():
        call = set_keyword(call, name, text)
    return call


def _named(argument: cst.Arg, name: str) -> cst.Arg:
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return argument.with_changes(keyword=cst.Name(name), equal=tight)


def _shaped(kernel: KernelView, operation: str, tile: cst.BaseExpression, shape: tuple[str, ...]) -> cst.Call:
    text = f"{kernel.tile}.{operation}(tile, {_tuple(shape)})"
    call = cst.ensure_type(cst.parse_expression(text), cst.Call)
    return call.with_changes(args=[call.args[0].with_changes(value=tile), call.args[1]])


def _tuple(parts: tuple[str, ...]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
