"""IEEE 754 float arithmetic in float64, float32, float16 and bfloat16, in every rounding mode of cuTile.

Round-to-nearest takes NumPy's own operations: for float16 and bfloat16 in float32, whose 24 bits are the twice-and-two of
their 11 and 8 that make the second rounding innocuous (Figueroa 1995). The directed modes take `exact_operations`.
"""

from collections.abc import Callable
from typing import Any

import cuda.tile as ct
import numpy as np

from . import exact_operations as exact
from .cache_blocks import in_blocks
from .dtypes import Array, DType, RoundingMode, float_format, is_narrow_float, numpy_dtype, widen
from .rounding import Mode, effective_mode, flush_subnormals, round_exact, round_to

_NEAREST: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "c_mod": np.fmod,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
}
_EXACT: dict[str, Callable[..., exact.Exact]] = {
    "add": exact.exact_sum,
    "sub": lambda x, y: exact.exact_sum(x, -y),
    "mul": exact.exact_product,
    "truediv": exact.exact_quotient,
    "sqrt": exact.exact_root,
}


def arithmetic(
    fn: str, operands: tuple[Array, ...], dtype: DType, mode: RoundingMode, flush_to_zero: bool = False
) -> Array:
    """add, sub, mul, truediv, c_mod, sqrt, floor or ceil of float arrays of `dtype`, rounded in `mode`.

    `flush_to_zero` takes subnormal float32 operands and results as zeros of their sign.
    """
    if mode is not Mode.RN and fn in _EXACT:
        operation = _directed(fn, dtype, mode)
    elif is_narrow_float(dtype):
        operation = _in_float32(_NEAREST[fn], dtype)
    elif flush_to_zero:
        operation = _NEAREST[fn]
    else:
        with np.errstate(all="ignore"):
            return np.asarray(_NEAREST[fn](*operands))
    return in_blocks(_flushed(operation) if flush_to_zero else operation, operands, numpy_dtype(dtype))


def _in_float32(function: Callable[..., Any], dtype: DType) -> Callable[..., Array]:
    return lambda *blocks: round_to(function(*map(widen, blocks)), dtype)


def _flushed(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *blocks: flush_subnormals(function(*map(flush_subnormals, blocks)))


def _directed(fn: str, dtype: DType, mode: RoundingMode) -> Callable[..., Array]:
    def operation(*blocks: Array) -> Array:
        wide = [widen(block).astype(np.float64) for block in blocks]
        value, left_out, exponent = _EXACT[fn](*wide)
        if mode is Mode.RM and fn in {"add", "sub"}:
            addend = wide[1] if fn == "add" else -wide[1]
            value = _zero_sum_downward(value, wide[0], addend)
        return round_to(round_exact(value, left_out, float_format(dtype), mode, exponent), dtype)

    return operation


def _zero_sum_downward(value: Array, x: Array, y: Array) -> Array:
    """A sum of zero is -0 in RM unless both summands are +0 (IEEE 754-2019, 6.3)."""
    return np.where((value == 0) & (np.signbit(x) | np.signbit(y)), -0.0, value)


def fma(
    x: Array, y: Array, z: Array, dtype: DType, *, rounding: RoundingMode | None = None, flush_to_zero: bool = False
) -> Array:
    """The number x * y + z rounded once to the float `dtype`; arguments as for `arithmetic.binary`."""
    mode = effective_mode(rounding)
    if dtype == ct.float64 or mode is not Mode.RN:
        operation = _exact_fma(dtype, mode)
    elif dtype == ct.float32:
        operation = _float32_fma
    else:
        operation = _narrow_fma(dtype)
    operands = (np.asarray(x), np.asarray(y), np.asarray(z))
    return in_blocks(_flushed(operation) if flush_to_zero else operation, operands, numpy_dtype(dtype))


def _exact_fma(dtype: DType, mode: RoundingMode) -> Callable[..., Array]:
    def operation(*blocks: Array) -> Array:
        x, y, z = (widen(block).astype(np.float64) for block in blocks)
        value, left_out, exponent = exact.exact_product_sum(x, y, z)
        if mode is Mode.RM:
            negative_product = np.where(np.signbit(x) != np.signbit(y), -1.0, 1.0)
            value = _zero_sum_downward(value, negative_product, z)
        return round_to(round_exact(value, left_out, float_format(dtype), mode, exponent), dtype)

    return operation


def _narrow_fma(dtype: DType) -> Callable[..., Array]:
    """The product is exact in float64; the sum is rounded to odd there, which leaves one rounding to `dtype`."""

    def operation(*blocks: Array) -> Array:
        x, y, z = (widen(block).astype(np.float64) for block in blocks)
        return round_to(exact.to_odd(*exact.two_sum(x * y, z)), dtype)

    return operation


def _float32_fma(x: Array, y: Array, z: Array) -> Array:
    """As `_narrow_fma`, but the sum is taken apart only where its rounding can be seen a second time.

    That is where the float64 sum lies halfway between two float32: its low 29 bits are 1000..., or the result is subnormal.
    """
    product = x.astype(np.float64)
    product *= y
    total = product + z
    halfway = (total.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
    halfway |= np.abs(total) < 2.0**-125
    if halfway.any():
        total[halfway] = exact.to_odd(*exact.two_sum(product[halfway], z[halfway].astype(np.float64)))
    return total.astype(np.float32)


def extremum(fn: str, x: Array, y: Array, dtype: DType, *, flush_to_zero: bool, propagate_nan: bool) -> Array:
    """The min or max of float arrays of `dtype`, with -0 below +0.

    A NaN operand is ignored (IEEE 754-2019 minimumNumber, maximumNumber) or, with `propagate_nan`, the result (Ops.td,
    `minf` and `maxf`).
    """
    choose: Any = {
        ("min", False): np.fmin,
        ("min", True): np.minimum,
        ("max", False): np.fmax,
        ("max", True): np.maximum,
    }[fn, propagate_nan]
    of_equals: Any = np.bitwise_or if fn == "min" else np.bitwise_and

    def operation(x: Array, y: Array) -> Array:
        x, y = widen(x), widen(y)
        chosen: Array = choose(x, y)
        if not propagate_nan:  # NumPy's fmin and fmax keep a signalling NaN in the last elements of an array.
            nan = np.isnan(chosen)
            if nan.any():
                chosen[nan] = np.where(np.isnan(x[nan]), y[nan], x[nan])
        if not chosen.all():  # Of equal numbers only zeros differ in their bits, and NumPy takes either.
            bits = np.dtype(f"u{chosen.dtype.itemsize}")
            np.copyto(chosen.view(bits), of_equals(x.view(bits), y.view(bits)), where=x == y)
        return round_to(chosen, dtype) if is_narrow_float(dtype) else chosen

    return in_blocks(_flushed(operation) if flush_to_zero else operation, (x, y), numpy_dtype(dtype))
