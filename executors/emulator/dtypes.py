"""How the emulator stores each cuTile dtype in NumPy, and how stored values become numbers to compute with.

The narrow float types live in `ml_dtypes`, whose own casts and arithmetic are slow; they are only storage here.
Values are widened to float32, which holds every one of them, and come back through `rounding`.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import cuda.tile as ct
import ml_dtypes
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = ct.DType
RoundingMode: TypeAlias = ct.RoundingMode

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

_STORAGE: dict[Any, np.dtype[Any]] = {
    ct.bool_: np.dtype(np.bool_),
    ct.uint8: np.dtype(np.uint8),
    ct.uint16: np.dtype(np.uint16),
    ct.uint32: np.dtype(np.uint32),
    ct.uint64: np.dtype(np.uint64),
    ct.int8: np.dtype(np.int8),
    ct.int16: np.dtype(np.int16),
    ct.int32: np.dtype(np.int32),
    ct.int64: np.dtype(np.int64),
    ct.float64: np.dtype(np.float64),
    ct.float32: np.dtype(np.float32),
    ct.tfloat32: np.dtype(np.float32),
    ct.float16: np.dtype(np.float16),
    ct.bfloat16: BFLOAT16,
    ct.float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
    ct.float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
    ct.float8_e8m0fnu: np.dtype(ml_dtypes.float8_e8m0fnu),
    ct.float4_e2m1fn: np.dtype(ml_dtypes.float4_e2m1fn),
}


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format: the finite values are `integer * 2**exponent` with at most `precision` bits.

    `smallest_exponent` is the exponent of the smallest subnormal, `largest` the largest finite value.
    """

    precision: int
    smallest_exponent: int
    largest: float


# IEEE 754-2019 for float64, float32 and float16; OCP OFP8 and MX v1.0 for the 8 and 4 bit types.
_FORMATS: dict[Any, FloatFormat] = {
    ct.float64: FloatFormat(53, -1074, float(np.finfo(np.float64).max)),
    ct.float32: FloatFormat(24, -149, float(np.finfo(np.float32).max)),
    ct.tfloat32: FloatFormat(11, -136, (2 - 2.0**-10) * 2.0**127),
    ct.bfloat16: FloatFormat(8, -133, (2 - 2.0**-7) * 2.0**127),
    ct.float16: FloatFormat(11, -24, 65504.0),
    ct.float8_e4m3fn: FloatFormat(4, -9, 448.0),
    ct.float8_e5m2: FloatFormat(3, -16, 57344.0),
    ct.float8_e8m0fnu: FloatFormat(1, -127, 2.0**127),
    ct.float4_e2m1fn: FloatFormat(2, -1, 6.0),
}


def is_stored(dtype: DType) -> bool:
    """Whether the emulator has values of `dtype`."""
    return dtype in _STORAGE


def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype that stores values of `dtype`; tfloat32 is float32 whose values are already rounded.

    Raises ValueError for a dtype the emulator does not store: pointers, and float8_e5m3fnu, which ml_dtypes lacks.
    """
    storage = _STORAGE.get(dtype)
    if storage is None:
        raise ValueError(f"the emulator has no storage for the dtype {dtype}")
    return storage


def float_format(dtype: DType) -> FloatFormat:
    """The format of a float dtype. Raises ValueError for any other dtype."""
    found = _FORMATS.get(dtype)
    if found is None:
        raise ValueError(f"{dtype} is not a float dtype of the emulator")
    return found


def is_float(dtype: DType) -> bool:
    """Whether `dtype` is one of the float dtypes the emulator stores."""
    return dtype in _FORMATS


def is_narrow_float(dtype: DType) -> bool:
    """Whether `dtype` is a float that ml_dtypes stores, so that NumPy has no fast arithmetic for it."""
    return dtype in _FORMATS and numpy_dtype(dtype).kind not in "f"


def widen(x: Array) -> Array:
    """The same values, exactly, in float32 (float64 for float64). Takes any stored float array; may return `x`."""
    if x.dtype in (np.float32, np.float64):
        return x
    if x.dtype == BFLOAT16:
        return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if x.dtype.itemsize == 1:
        return _values_of_bytes(x.dtype)[x.view(np.uint8)]
    return x.astype(np.float32)


@lru_cache
def _values_of_bytes(storage: np.dtype[Any]) -> Array:
    """float32 (256,): the value of each byte of an 8 or 4 bit float."""
    stored = np.arange(256, dtype=np.uint8)
    if storage == np.dtype(ml_dtypes.float4_e2m1fn):
        stored &= 0xF  # ml_dtypes keeps one 4 bit value a byte, in the low half
    return stored.view(storage).astype(np.float32)
