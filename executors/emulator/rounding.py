"""Rounds numbers to the float formats of cuTile, in every rounding mode, once.

Two ways lead there. The fast one serves round-to-nearest: NumPy's casts where they are right, integer arithmetic for
bfloat16 and tfloat32. The general one, `round_exact`, takes an exact number as a float64 and the sign of what the float64
left out, and serves every mode and format.
"""

from typing import Any

import cuda.tile as ct
import ml_dtypes
import numpy as np

from .dtypes import Array, DType, FloatFormat, RoundingMode, float_format, numpy_dtype

Mode = ct.RoundingMode  # for its members

# What a number beyond the range of an 8 or 4 bit float becomes. PTX `cvt` to e4m3, e5m2 and e2m1 exists with `.satfinite`
# only ("Only SATFINITE saturation mode is supported", says tileiras 13.4), so infinity becomes the largest finite value.
# False: NaN for e4m3fn, infinity for e5m2.
NARROW_OVERFLOW_SATURATES = True

_SATURATING = (ct.float8_e4m3fn, ct.float8_e5m2, ct.float4_e2m1fn)
_DIRECTED = (Mode.RZ, Mode.RM, Mode.RP, Mode.RA)
_SMALLEST_NORMAL_FLOAT32 = np.float32(2.0**-126)


def effective_mode(rounding: RoundingMode | None) -> RoundingMode:
    """The mode that is computed: None, FULL and APPROX are all round-to-nearest-even here."""
    return rounding if rounding in _DIRECTED else Mode.RN


def flush_subnormals(x: Array) -> Array:
    """Float32 `x` with subnormals replaced by zeros of their sign (PTX `.ftz`)."""
    return np.where(np.abs(x) < _SMALLEST_NORMAL_FLOAT32, np.copysign(np.float32(0), x), x)


def round_to(x: Array, dtype: DType, mode: RoundingMode = Mode.RN) -> Array:
    """Rounds float32 or float64 `x` to `dtype`, as an array in its storage dtype.

    `mode` is RN, RZ, RM, RP or RA. A result beyond the range is infinity or the largest finite value, by the direction;
    for the 8 and 4 bit formats see `NARROW_OVERFLOW_SATURATES`. NaN stays NaN where the format has one.
    """
    storage = numpy_dtype(dtype)
    if dtype == ct.float8_e8m0fnu:
        return _round_to_scale(x, mode)
    if dtype in _SATURATING:
        return _round_to_saturating(x, dtype, mode)
    if mode in _DIRECTED:
        nothing_left = np.zeros(1, np.int8)
        return _store(round_exact(x.astype(np.float64), nothing_left, float_format(dtype), mode), storage)
    if dtype == ct.bfloat16:
        return (_drop_bits(_to_odd_float32(x), 16) >> 16).astype(np.uint16).view(storage)
    if dtype == ct.tfloat32:
        return _drop_bits(_to_odd_float32(x), 13).view(np.float32)
    return x.astype(storage)


def round_exact(x: Array, left_out: Array, target: FloatFormat, mode: RoundingMode, exponent: Array | int = 0) -> Array:
    """Rounds the number `(x + a little of the sign of left_out) * 2**exponent` to `target`, as float64.

    `x` is float64 and the little is below half a unit in the last place of `x`; NaN in `left_out` counts as nothing left.
    Infinities and NaN of `x` come back unchanged.
    """
    fraction, own_exponent = np.frexp(np.abs(x))
    outward, inward = _directions(x, left_out)
    # Just below a power of two the spacing is that of the binade below.
    own_exponent = own_exponent + exponent - ((fraction == 0.5) & inward)
    fraction = np.where((fraction == 0.5) & inward, 1.0, fraction)
    quantum = np.maximum(own_exponent - target.precision, target.smallest_exponent)
    # Below the smallest subnormal only the sticky part matters; the clamp keeps the scaled fraction itself normal.
    scaled = np.ldexp(fraction, np.maximum(own_exponent - quantum, -900))
    whole = np.floor(scaled)
    rest = scaled - whole
    just_below = (rest == 0) & inward
    whole, rest = whole - just_below, np.where(just_below, 1.0, rest)
    inexact = (rest > 0) | outward
    match mode:
        case Mode.RN:
            odd = np.fmod(whole, 2) == 1
            up = (rest > 0.5) | ((rest == 0.5) & ~inward & (outward | odd))
        case Mode.RA:
            up = (rest > 0.5) | ((rest == 0.5) & ~inward)
        case Mode.RZ:
            up = np.zeros_like(inexact)
        case _:
            up = inexact & (np.signbit(x) == (mode is Mode.RM))
    rounded = np.ldexp(whole + up, quantum)
    rounded = np.where(rounded > target.largest, _beyond(x, target, mode), rounded)
    return np.where(np.isfinite(x), np.copysign(rounded, x), x)


def _directions(x: Array, left_out: Array) -> tuple[Array, Array]:
    """Where the exact number lies farther from zero than `x`, and where nearer."""
    negative = np.signbit(x)
    above, below = left_out > 0, left_out < 0
    return np.where(negative, below, above), np.where(negative, above, below)


def _beyond(x: Array, target: FloatFormat, mode: RoundingMode) -> Array | float:
    """The magnitude of a result that rounds beyond the largest finite value (IEEE 754-2019, 7.4)."""
    match mode:
        case Mode.RN | Mode.RA:
            return np.inf
        case Mode.RZ:
            return target.largest
        case _:
            return np.where(np.signbit(x) == (mode is Mode.RM), np.inf, target.largest)


def _store(x: Array, storage: np.dtype[Any]) -> Array:
    """Float64 values that `storage` holds exactly, in `storage`."""
    if storage == np.dtype(ml_dtypes.bfloat16):
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(storage)
    return x.astype(storage)


def _to_odd_float32(x: Array) -> Array:
    """The bits (uint32) of `x` as float32; a float64 is rounded to odd, so that a second rounding is the only one seen.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd" (2008).
    """
    if x.dtype == np.float32:
        return x.view(np.uint32)
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    bits = near.view(np.uint32)
    truncated = bits - (np.abs(back) > np.abs(x))
    return np.where((back != x) & ~np.isnan(x), truncated | np.uint32(1), bits)


def _drop_bits(bits: Array, count: int) -> Array:
    """Float32 `bits` rounded to nearest even at bit `count`, the bits below cleared; NaN becomes a quiet NaN."""
    half = np.uint32((1 << (count - 1)) - 1)
    rounded = bits >> np.uint32(count)
    rounded &= np.uint32(1)
    rounded += half
    rounded += bits
    rounded &= np.uint32(0xFFFFFFFF << count & 0xFFFFFFFF)
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    if nan.any():
        rounded[nan] = (bits[nan] & np.uint32(0x80000000)) | np.uint32(0x7FC00000)
    return rounded


def _round_to_saturating(x: Array, dtype: DType, mode: RoundingMode) -> Array:
    """To e4m3fn, e5m2 or e2m1fn. float4_e2m1fn has no NaN: it becomes +6 (PTX `cvt...e2m1x2`, and cuda_fp4.h)."""
    target, storage = float_format(dtype), numpy_dtype(dtype)
    if NARROW_OVERFLOW_SATURATES or dtype == ct.float4_e2m1fn:
        x = np.clip(x, -target.largest, target.largest)
    if dtype == ct.float4_e2m1fn:
        x = np.where(np.isnan(x), np.asarray(target.largest, x.dtype), x)
    if mode in _DIRECTED:
        x = round_exact(x.astype(np.float64), np.zeros(1, np.int8), target, mode)
    return _to_odd_float32(x).view(np.float32).astype(storage)  # ml_dtypes would round a float64 twice


def _round_to_scale(x: Array, mode: RoundingMode) -> Array:
    """To e8m0: powers of two without sign or zero, as the host code of cuda_fp8.hpp does, saturating at both ends."""
    magnitude = np.clip(np.abs(x).astype(np.float64), 2.0**-127, 2.0**127)
    unbounded = FloatFormat(1, -200, 2.0**127)
    rounded = round_exact(magnitude, np.zeros(1, np.int8), unbounded, mode)
    return rounded.astype(ml_dtypes.float8_e8m0fnu)
