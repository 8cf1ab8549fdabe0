"""The element-wise operations of cuTile's IR on NumPy arrays: the entrance to integer, float and transcendental ones.

Operations are named as the IR names them (cuda/tile/_ir/arithmetic_ops.py); the semantics are those of the Tile IR
operations they are lowered to (Ops.td of NVIDIA/cuda-tile). Operands broadcast as in NumPy and are never written to;
results are in the storage dtype of their dtype, and NumPy warns of nothing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .cache_blocks import in_blocks
from .dtypes import BFLOAT16, Array, DType, RoundingMode, is_float, is_narrow_float, numpy_dtype, widen
from .float_arithmetic import arithmetic, extremum, fma
from .integer_arithmetic import bitwise, integer_binary, integer_unary, shift
from .rounding import effective_mode
from .transcendental import BINARY, UNARY, power_of_integer, transcendental

__all__ = ["binary", "bitwise", "compare", "fma", "power_of_integer", "shift", "unary"]

_COMPARISONS: dict[str, Callable[[Array, Array], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
}


def binary(  # noqa: PLR0913 - one keyword for each attribute of the IR's operation
    fn: str,
    x: Array,
    y: Array,
    dtype: DType,
    *,
    rounding: RoundingMode | None = None,
    flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Array:
    """`fn` of two arrays of `dtype`: the IR's `RawBinaryArithmeticOperation`.

    `fn` is add, sub, mul, floordiv, truediv, pow, atan2, min, max or c_mod; cdiv of integers. `rounding` holds for add,
    sub, mul and truediv of floats (RN, RZ, RM, RP; FULL and APPROX are computed as RN), `flush_to_zero` for float32,
    `propagate_nan` for min and max of floats. Raises KeyError for another `fn`.
    """
    x, y = np.asarray(x), np.asarray(y)
    if not is_float(dtype):
        return integer_binary(fn, x, y)
    if fn in {"min", "max"}:
        return extremum(fn, x, y, dtype, flush_to_zero=flush_to_zero, propagate_nan=propagate_nan)
    if fn in BINARY:
        return transcendental(BINARY[fn], (x, y), dtype)
    mode = effective_mode(rounding)
    if fn == "floordiv":  # divf, then floor, as the lowering does
        return arithmetic("floor", (arithmetic("truediv", (x, y), dtype, mode, flush_to_zero),), dtype, mode)
    return arithmetic(fn, (x, y), dtype, mode, flush_to_zero)


def unary(
    fn: str, x: Array, dtype: DType, *, rounding: RoundingMode | None = None, flush_to_zero: bool = False
) -> Array:
    """`fn` of an array of `dtype`: the IR's `Unary`.

    `fn` is abs or neg; invert or bitwise_not of integers and bools; of floats exp, exp2, sin, cos, sinh, cosh, tan, tanh,
    log, log2, sqrt, rsqrt, floor or ceil. `rounding` holds for sqrt; `flush_to_zero` for float32 sqrt, rsqrt and exp2.
    """
    x = np.asarray(x)
    if not is_float(dtype):
        with np.errstate(all="ignore"):
            return integer_unary(fn, x)
    if fn in {"abs", "neg"}:
        return _change_sign(fn, x)
    if fn not in UNARY:
        return arithmetic(fn, (x,), dtype, effective_mode(rounding), flush_to_zero)
    return transcendental(UNARY[fn], (x,), dtype, flush_to_zero)


def _change_sign(fn: str, x: Array) -> Array:
    if x.dtype != BFLOAT16:
        return np.asarray(np.abs(x) if fn == "abs" else np.negative(x))
    bits = x.view(np.uint16)
    changed = bits & np.uint16(0x7FFF) if fn == "abs" else bits ^ np.uint16(0x8000)
    return np.asarray(changed).view(BFLOAT16)


def compare(fn: str, x: Array, y: Array, dtype: DType) -> Array:
    """eq, ne, ge, gt, le or lt of two arrays of `dtype`, as bools; with a NaN only `ne` is true (encode_comparison)."""
    x, y = np.asarray(x), np.asarray(y)
    function = _COMPARISONS[fn]
    if is_narrow_float(dtype):
        return in_blocks(lambda x, y: np.asarray(function(widen(x), widen(y))), (x, y), np.dtype(np.bool_))
    numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        return np.asarray(function(x, y))
