"""The element types as raw bits, and arrays of them made from a seed: the same on every machine and NumPy version.

Only raw output of PCG64 is used, whose stream NumPy guarantees; no library function rounds. So nothing here needs
ml_dtypes or torch, and bfloat16 and the two 8-bit floats are integers until they reach a device.
"""

from typing import Any

import numpy as np

Bits = np.ndarray[Any, np.dtype[Any]]

FLOATS = {  # exponent bits, mantissa bits
    "float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52),
    "float8_e4m3fn": (4, 3), "float8_e5m2": (5, 2),
}  # fmt: skip
WIDE_FLOATS = ("float16", "bfloat16", "float32", "float64")  # those with arithmetic
SIGNED = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
UNSIGNED = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
INTEGERS = (*UNSIGNED, *SIGNED)
DTYPES = ("bool", *INTEGERS, *FLOATS)


def width(dtype: str) -> int:
    """Bits of an element in memory."""
    if dtype in FLOATS:
        return 1 + sum(FLOATS[dtype])
    return {**SIGNED, **UNSIGNED, "bool": 8}[dtype]


def storage(dtype: str) -> np.dtype[Any]:
    """The unsigned type that holds the bits."""
    return np.dtype(f"u{width(dtype) // 8}")


def raw(seed: int, count: int) -> Bits:
    """`count` random 64-bit words."""
    return np.asarray(np.random.PCG64(seed).random_raw(count), dtype=np.uint64)


def encode(dtype: str, values: Any) -> Bits:
    """Python numbers as bits, rounded to nearest even; integers wrap."""
    if dtype not in FLOATS:
        mask = (1 << width(dtype)) - 1
        return np.array([int(value) & mask for value in values], dtype=storage(dtype))
    exact = np.array(values, dtype=np.float64)
    if dtype in ("float16", "float32", "float64"):
        with np.errstate(over="ignore"):
            return exact.astype(dtype).view(storage(dtype))
    if dtype == "bfloat16":
        word = exact.astype(np.float32).view(np.uint32).astype(np.uint64)
        return ((word + 0x7FFF + ((word >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16)
    table = decode_8bit(dtype)
    finite = np.where(np.isfinite(table), table, 1e30)
    nearest = [int(np.argmin(np.abs(finite - value))) for value in exact]
    return np.array([code | (128 if np.signbit(v) else 0) for code, v in zip(nearest, exact, strict=True)], np.uint8)


def decode_8bit(dtype: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The 256 values of an 8-bit float."""
    exponent_bits, mantissa_bits = FLOATS[dtype]
    bias, codes = 2 ** (exponent_bits - 1) - 1, np.arange(256)
    exponent = (codes >> mantissa_bits) & (2**exponent_bits - 1)
    fraction = (codes & (2**mantissa_bits - 1)) / 2**mantissa_bits
    size = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    if dtype == "float8_e5m2":
        size = np.where(exponent == 31, np.where(fraction == 0, np.inf, np.nan), size)
    else:
        size = np.where(codes & 127 == 127, np.nan, size)
    return np.where(codes & 128, -size, size)


def specials(dtype: str) -> Bits:
    """The ends of the range, zeros, infinities, a NaN and subnormals of a float; the ends and small integers."""
    if dtype == "bool":
        return np.array([0, 1], np.uint8)
    if dtype not in FLOATS:
        top = (1 << (width(dtype) - (dtype in SIGNED))) - 1
        bottom = -top - 1 if dtype in SIGNED else 0
        return encode(dtype, [0, 1, -1, top, bottom, 2, 7, -7, top // 3, bottom + 1])
    exponent, mantissa = FLOATS[dtype]
    ones = (1 << exponent) - 1
    nan = (1 << (exponent + mantissa)) - 1
    largest = nan - 1 if dtype == "float8_e4m3fn" else (ones << mantissa) - 1
    infinity = [] if dtype == "float8_e4m3fn" else [ones << mantissa, ones << mantissa | sign(dtype)]
    subnormal = [1, ((1 << mantissa) - 1) | sign(dtype)]
    edges = [*infinity, nan, *subnormal, 1 << mantissa, largest, largest | sign(dtype)]
    return np.concatenate([encode(dtype, [0.0, -0.0]), np.array(edges, storage(dtype))])


def sign(dtype: str) -> int:
    """The sign bit of a float."""
    return 1 << (width(dtype) - 1)


def spread(dtype: str, seed: int, count: int, low: int, high: int, *, positive: bool = False) -> Bits:
    """Floats with exponents from `low` to `high`, random mantissa and sign; 8-bit floats stay in their range."""
    exponent, mantissa = FLOATS[dtype]
    words = raw(seed, count)
    bias = 2 ** (exponent - 1) - 1
    power = (words >> np.uint64(53)) % np.uint64(high - low + 1)
    out = (power.astype(np.int64) + low + bias).astype(np.uint64) << np.uint64(mantissa)
    out |= words & np.uint64((1 << mantissa) - 1)
    if not positive:
        out |= ((words >> np.uint64(52)) & np.uint64(1)) * np.uint64(sign(dtype))
    return out.astype(storage(dtype))
