"""Conversions between the dtypes of cuTile: what the IR's `TileAsType` computes.

The lowering is `_get_type_conversion_encoder` in cuda/tile/_ir2bytecode.py; what Tile IR leaves undefined (a float out of
the range of the integer) follows PTX `cvt`, in `_float_to_integer` and `_nan_as_integer` and nowhere else.
"""

from typing import Any

import cuda.tile as ct
import numpy as np

from .cache_blocks import in_blocks
from .dtypes import Array, DType, RoundingMode, is_float, numpy_dtype, widen
from .rounding import effective_mode, round_to


def convert(x: Array, source: DType, target: DType, rounding: RoundingMode | None = None) -> Array:
    """Array `x` of dtype `source` as dtype `target`, in its storage dtype. Returns `x` itself where nothing changes.

    Float to float rounds once, in mode `rounding` (RN by default; RZ, RM, RP, RA). Float to integer truncates; out of
    range see `_float_to_integer`. Integer to float rounds to nearest even. To bool is `x != 0`, so NaN is true. Integers
    are truncated or extended by the sign of `source`; a bool extends as 0 or 1.
    Raises ValueError for a dtype that the emulator does not store.
    """
    numpy_dtype(source)
    storage = numpy_dtype(target)
    x = np.asarray(x)
    if source == target:
        return x
    if target == ct.bool_:
        return in_blocks(lambda block: widen(block) != 0, (x,), storage) if is_float(source) else np.asarray(x != 0)
    if is_float(source):
        return _from_float(x, source, target, rounding)
    if is_float(target):
        return _integer_to_float(x, target)
    return x.astype(storage)


def _from_float(x: Array, source: DType, target: DType, rounding: RoundingMode | None) -> Array:
    storage = numpy_dtype(target)
    if not is_float(target):
        return in_blocks(lambda block: _float_to_integer(widen(block), source, storage), (x,), storage)
    mode = effective_mode(rounding)
    if source == ct.tfloat32 and target == ct.float32:
        return x
    return in_blocks(lambda block: round_to(widen(block), target, mode), (x,), storage)


def _integer_to_float(x: Array, target: DType) -> Array:
    """RN, once: float64 holds every integer of 53 bits; larger ones go there with the dropped bits jammed into the last.

    float32 and float64 come straight from the processor's conversion, which rounds once.
    """
    storage = numpy_dtype(target)
    if target in (ct.float32, ct.float64):
        return x.astype(storage)
    return in_blocks(lambda block: round_to(_jammed(block).astype(np.float64), target), (x,), storage)


def _jammed(x: Array) -> Array:
    """`x` with 11 low bits folded into bit 11 where it has more than 32, so that float64 holds it and it rounds alike."""
    if x.dtype.itemsize < 8:
        return x
    low = x & x.dtype.type(0x7FF)
    sticky = (low != 0).astype(x.dtype) << x.dtype.type(11)
    top = x >> x.dtype.type(32)
    large = (top != 0) & (top != -1)
    return np.where(large, (x - low) | sticky, x)


def _float_to_integer(x: Array, source: DType, storage: np.dtype[Any]) -> Array:
    """Truncates `x`; out of range it saturates and NaN is `_nan_as_integer`, as PTX `cvt.rzi` does.

    Tile IR calls both undefined (Ops.td, `ftoi`); this is what an H200 gives: it converts to 8 bits through 16.
    """
    if storage.itemsize == 1:
        return _float_to_integer(x, source, np.dtype(f"{storage.kind}2")).astype(storage)
    limits = np.iinfo(storage)
    past_largest = x.dtype.type(2.0 ** (limits.bits - (storage.kind == "i")))
    inside = np.clip(x, x.dtype.type(limits.min), np.nextafter(past_largest, x.dtype.type(0)))
    result = inside.astype(storage)
    result[x >= past_largest] = limits.max
    nan = np.isnan(x)
    if nan.any():
        result[nan] = _nan_as_integer(source, storage)
    return result


def _nan_as_integer(source: DType, storage: np.dtype[Any]) -> Any:
    """PTX ISA, `cvt`: 0 if neither side has 64 bits, otherwise the integer with only its top bit set."""
    if source != ct.float64 and storage.itemsize < 8:
        return storage.type(0)
    return np.iinfo(storage).min if storage.kind == "i" else storage.type(1 << (8 * storage.itemsize - 1))
