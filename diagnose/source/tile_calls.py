"""What the functions of cuda.tile, its methods and some of Python's own functions return."""

import builtins
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from .values import STATIC, UNDECIDED, Kind, Kinds, Value, add, combined, multiply, same_type, shifted, unordered

_TILE: Kinds = frozenset({Kind.TILE, Kind.WIDE})
_LOADED: Kinds = frozenset({Kind.TILE, Kind.WIDE, Kind.LOADED})
_REDUCTIONS = frozenset(["sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "reduce"])
_GIVEN = {
    "bid": Value(frozenset({Kind.BLOCK, Kind.FROM_BLOCK})),
    "num_blocks": Value(frozenset({Kind.BLOCK_COUNT})),
    "num_tiles": UNDECIDED,
    "len": STATIC,
}
_LOADS = ("load", "gather", "load_advanced_indexing", "load_offset")
# Where a maker of tiles takes its type if not as `dtype`; cuda-tile 1.7.
_MAKERS = {"full": 2, "zeros": 1, "ones": 1, "arange": 9, "astile": 9}
_TESTS = frozenset(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan"])
_MOVES = frozenset(["reshape", "permute", "transpose", "broadcast_to", "extract"])
_KEEPS = frozenset(["assume_divisible_by", "ensure_constant", "static_eval"])
# Methods of arrays, views, raw memory and tiles that an observer hears of.
METHODS = frozenset(
    ["load", "store", "load_offset", "store_offset", "atomic_cas_offset"]
    + [f"atomic_{op}_offset" for op in ("xchg", "add", "max", "min", "and", "or", "xor")]
    + [f"atomic_store_{op}" for op in ("add", "max", "min", "and", "or", "xor")]
)


def is_builtin(name: str) -> bool:
    """Whether Python itself defines the name."""
    return hasattr(builtins, name)


def tile_value(name: str, call: cst.Call, values: Sequence[Value]) -> Value:
    """The result of a function of cuda.tile, or of the built-in function of the same name."""
    first = values[0] if values else UNDECIDED
    if name in _GIVEN:
        return _GIVEN[name]
    if name in _LOADS:
        return Value(_LOADED, dtype=first.dtype)
    if name in _MAKERS:
        return _made(name, call, values)
    if name == "Slice":
        return Value(first.kinds, steps=((0, 1),))
    return _computed(name, call, values, first)


def method_value(name: str, owner: Value, call: cst.Call, values: Sequence[Value]) -> Value:
    """The result of a method of an array, a view or a tile."""
    if name == "item":
        return replace(owner, kinds=owner.kinds - _TILE, steps=())
    if name in ("load", "load_offset"):
        return Value(_LOADED, dtype=owner.dtype)
    if name == "tiled_view":
        mode = _argument(call, values, 1, "padding_mode")
        return replace(owner, mode="UNDETERMINED" if mode is None else mode.mode)
    if name in ("slice", "get_raw_memory"):
        return owner
    return UNDECIDED if name == "num_tiles" else _computed(name, call, [owner, *values], owner)


def _made(name: str, call: cst.Call, values: Sequence[Value]) -> Value:
    kind = _argument(call, values, _MAKERS[name], "dtype")
    dtype = kind.dtype if kind is not None else None
    if name != "arange":
        return Value(_TILE | (values[0].kinds if name == "astile" and values else frozenset()), dtype=dtype)
    step = _argument(call, values, 9, "step")
    start = _argument(call, values, 9, "start")
    kinds = _TILE | (start.kinds if start is not None else frozenset())
    return Value(kinds - {Kind.BLOCK}, ((0, 1 if step is None else step.number),), dtype)


def _computed(name: str, call: cst.Call, values: Sequence[Value], first: Value) -> Value:
    moved = _moved(name, call, values, first)
    if moved is not None:
        return moved
    if name in ("mma", "mma_scaled", "matmul"):
        acc = _argument(call, values, 4 if name == "mma_scaled" else 2, "acc")
        product = combined(values, acc.dtype if acc is not None else None)
        return replace(product, kinds=product.kinds | _TILE)
    if name in ("add", "sub", "mul") and len(values) >= 2:
        left, right = values[:2]
        return multiply(left, right) if name == "mul" else add(left, right, 1 if name == "add" else -1)
    if name in ("min", "minimum") and len(values) >= 2:
        clamped = combined(values, same_type(values))
        from_block = Kind.FROM_BLOCK in clamped.kinds
        return replace(clamped, kinds=clamped.kinds | {Kind.CLAMPED}) if from_block else clamped
    if name == "where":
        return combined(values, same_type(values[1:]))
    return combined(values, "bool_" if name in _TESTS else same_type(values))


def _moved(name: str, call: cst.Call, values: Sequence[Value], first: Value) -> Value | None:
    """The result of what converts, reorders, reduces or passes on its first argument, None for other functions."""
    if name in ("astype", "bitcast"):
        wanted = values[1].dtype if len(values) > 1 else None
        return replace(first, dtype=wanted, items=None) if name == "astype" else combined(values, wanted)
    if name in _REDUCTIONS and first.is_tile:
        reduced = combined(values[:1], first.dtype)
        return replace(reduced, kinds=reduced.kinds - {Kind.WIDE})
    if name == "expand_dims":
        axis = _argument(call, values, 1, "axis")
        return _expanded(first, axis.number if axis is not None else None)
    if name in _MOVES:
        moved = unordered(replace(first, items=None))
        return replace(moved, kinds=moved.kinds | {Kind.WIDE}) if name == "broadcast_to" else moved
    return first if name in _KEEPS else None


def _expanded(tile: Value, axis: int | None) -> Value:
    """A new axis in a one-dimensional index; elsewhere the steps are not followed."""
    if any(place > 0 for place, _ in tile.steps) or axis not in (-1, 0, 1):
        return unordered(tile)
    return shifted(tile, 0 if axis == 0 else 1)


def _argument(call: cst.Call, values: Sequence[Value], position: int, keyword: str) -> Value | None:
    """The value given by position or by keyword, None for an argument left out."""
    for place, (arg, value) in enumerate(zip(call.args, values[-len(call.args) :], strict=False)):
        if arg.keyword is not None and arg.keyword.value == keyword:
            return value
        if arg.keyword is None and not arg.star and place == position:
            return value
    return None
