"""Whether a result agrees with the recorded one, by the case's tolerance.

Of what is only compared for equality a digest is enough, and takes a tenth of the room.
"""

import hashlib
from typing import Any

import numpy as np
from bits import FLOATS, storage, width
from case import Case, Data, Tolerance

SHOWN = 4
DIGEST_BYTES = 4  # another result has the same one in 4 billion times


def digest(data: Data, output: bytes) -> bytes:
    """What stands for an array that is compared for equality; any NaN counts as any other."""
    bits = np.frombuffer(output, storage(data.dtype)).copy()
    if data.dtype in FLOATS:
        bits[is_nan(data.dtype, bits)] = ~bits.dtype.type(0)
    return hashlib.sha256(bits.tobytes()).digest()[:DIGEST_BYTES]


def disagreements(case: Case, expected: tuple[bytes, ...], got: list[bytes]) -> list[str]:
    """A line for each output that differs by more than the tolerance; none if all agree."""
    lines = []
    for data, want, have in zip(case.outputs(), expected, got, strict=True):
        lines += compare(data, want, have, case.tolerance)
    return lines


def compare(data: Data, want: bytes, have: bytes, tolerance: Tolerance) -> list[str]:
    """At most one line, naming the first elements that differ; `want` may be the digest of a longer array."""
    if tolerance.kind != "ulps" and len(want) == DIGEST_BYTES < len(have):
        same = digest(data, have) == want
        return [] if same else [f"{data.dtype}{list(data.shape)}: not what was recorded, of which there is a digest"]
    if len(want) != len(have):
        return [f"{data.dtype}{list(data.shape)}: {len(have)} bytes instead of {len(want)}"]
    a, b = (np.frombuffer(part, storage(data.dtype)) for part in (want, have))
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
