"""Whether a result agrees with the recorded one, by the case's tolerance.

Of what is compared for equality a digest is enough. Of what may be some ulps away the last bits of each element stay
too: the recorded element is the nearest to the given one that ends in them, and the digest tells if that is so.
"""

import hashlib
from typing import Any

import numpy as np
from bits import FLOATS, Bits, storage, width
from case import Case, Data, Tolerance

SHOWN = 4
DIGEST_BYTES = 3  # another result has the same one in 17 million times


def kept(data: Data, output: bytes, tolerance: Tolerance) -> bytes:
    """What the recording holds of an array, unless the array is shorter: a digest, with the last bits for ulps."""
    bits = _one_nan(data.dtype, np.frombuffer(output, storage(data.dtype)))
    if tolerance.kind != "ulps":
        return _digest(bits)
    numbers, (modulus, form) = ordinal(data.dtype, bits), _last_bits(tolerance)
    return _digest(_pattern(data.dtype, numbers)) + (numbers % modulus).astype(form).tobytes()


def restored(data: Data, part: bytes, given: bytes, tolerance: Tolerance) -> bytes | None:
    """The recorded array, from what is kept of it and one that is near to it; None if that one is not near enough."""
    bits = _one_nan(data.dtype, np.frombuffer(given, storage(data.dtype)))
    if tolerance.kind == "ulps":
        own, (modulus, form) = ordinal(data.dtype, bits), _last_bits(tolerance)
        apart = np.frombuffer(part[DIGEST_BYTES:], form).astype(object) - own
        bits = _pattern(data.dtype, own + (apart + modulus // 2) % modulus - modulus // 2)
    return bits.tobytes() if _digest(bits) == part[:DIGEST_BYTES] else None


def _last_bits(tolerance: Tolerance) -> tuple[int, str]:
    """The modulus that tells twice the allowed distance on both sides, and the type that holds what it leaves."""
    modulus: int = 1 << (4 * tolerance.ulps).bit_length()
    return modulus, "u1" if modulus <= 1 << 8 else "<u2"


def _digest(bits: Bits) -> bytes:
    return hashlib.sha256(bits.tobytes()).digest()[:DIGEST_BYTES]


def _one_nan(dtype: str, bits: Bits) -> Bits:
    """Any NaN counts as any other."""
    return np.where(is_nan(dtype, bits), ~bits.dtype.type(0), bits) if dtype in FLOATS else bits


def disagreements(case: Case, expected: tuple[bytes, ...], got: list[bytes]) -> list[str]:
    """A line for each output that differs by more than the tolerance; none if all agree."""
    lines = []
    for data, want, have in zip(case.outputs(), expected, got, strict=True):
        lines += compare(data, want, have, case.tolerance)
    return lines


def compare(data: Data, want: bytes, have: bytes, tolerance: Tolerance) -> list[str]:
    """At most one line, naming the first elements that differ; `want` may be what is kept of a longer array."""
    whole = want if len(want) >= len(have) else restored(data, want, have, tolerance)
    if whole is None:
        return [f"{data.dtype}{list(data.shape)}: far from what was recorded, of which there is a digest"]
    if len(whole) != len(have):
        return [f"{data.dtype}{list(data.shape)}: {len(have)} bytes instead of {len(whole)}"]
    a, b = (np.frombuffer(part, storage(data.dtype)) for part in (whole, have))
    wrong = np.flatnonzero(distance(data.dtype, a, b, tolerance) > tolerance.ulps)
    if not len(wrong):
        return []
    first = ", ".join(f"[{i}] {b[i]:#x} for {a[i]:#x}" for i in wrong[:SHOWN])
    return [f"{data.dtype}{list(data.shape)}: {len(wrong)} of {len(a)} elements differ: {first}"]


def distance(dtype: str, a: Any, b: Any, tolerance: Tolerance) -> Any:
    """How far two arrays of bits are: in ulps where the tolerance is in ulps, else 0 for equal ones and 1."""
    different = a != b
    if dtype not in FLOATS:
        return different.astype(np.float64)
    nan_a, nan_b = is_nan(dtype, a), is_nan(dtype, b)
    apart = np.where(different, 1.0, 0.0)
    if tolerance.kind == "ulps":
        # Exact until 2**53 ulps, beyond every tolerance.
        apart = np.abs((ordinal(dtype, a) - ordinal(dtype, b)).astype(np.float64))
    apart = np.where(nan_a & nan_b, 0.0, apart)
    return np.where(nan_a != nan_b, np.inf, apart)


def is_nan(dtype: str, bits: Any) -> Any:
    """By the pattern: e4m3fn has one NaN of each sign and no infinity."""
    exponent, mantissa = FLOATS[dtype]
    size = bits & bits.dtype.type((1 << (exponent + mantissa)) - 1)
    infinity = ((1 << exponent) - 1) << mantissa
    return size == (infinity | 7) if dtype == "float8_e4m3fn" else size > infinity


def ordinal(dtype: str, bits: Any) -> Any:
    """Integers in the order of the numbers, neighbours one apart; both zeros are 0. As objects, so none overflows."""
    sign = 1 << (width(dtype) - 1)
    values = bits.astype(object)
    return np.array([sign - value if value & sign else value for value in values], dtype=object)


def _pattern(dtype: str, numbers: Any) -> Bits:
    """The bits that have these ordinals; -0 comes back as 0."""
    sign = 1 << (width(dtype) - 1)
    return np.array([(n if n >= 0 else sign - n) % (2 * sign) for n in numbers], storage(dtype))
