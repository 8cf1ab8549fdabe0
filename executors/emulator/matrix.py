"""Matrix multiply-accumulate: exact products, summed in float64, rounded once to the accumulator's dtype.

The tensor cores sum in an order and a width that NVIDIA does not document, and that differ by architecture; a result here
is nearer to the exact one than theirs, and theirs should lie within the error bound of a float32 sum around it.
"""

from typing import Any

import cuda.tile as ct
import numpy as np

from .dtypes import Array, DType, is_float, widen
from .rounding import round_to

# Elements of a group of matrices multiplied at once: their float64 copies stay within a few megabytes.
_GROUP = 1 << 19


def mma(x: Array, y: Array, acc: Array, x_dtype: DType, y_dtype: DType, acc_dtype: DType) -> Array:
    """The sum x @ y + acc for stacks (..., M, K), (..., K, N) and (..., M, N), in the storage dtype of `acc_dtype`.

    Operands as Tile IR has them (Ops.td, `mmaf` and `mmai`): floats into float16, float32 or float64; int8 and uint8 into
    int32, which wraps. Each matrix is multiplied on its own, so a result does not depend on how many there are.
    """
    x, y, acc = np.asarray(x), np.asarray(y), np.asarray(acc)
    result = np.empty(np.broadcast_shapes(acc.shape, (*x.shape[:-1], 1), (*y.shape[:-2], 1, y.shape[-1])), acc.dtype)
    with np.errstate(all="ignore"):
        for group in _groups(x, y, result):
            total = np.matmul(_float64(_part(x, group, result)), _float64(_part(y, group, result)))
            part = _part(acc, group, result)
            result[group] = _accumulated(total, part, acc_dtype)
    return result


def mma_scaled(x: Array, x_scale: Array, y: Array, y_scale: Array, acc: Array) -> Array:
    """(x * x_scale) @ (y * y_scale) + acc in float32, each scale holding for a block of K // K_s along K.

    `x` (..., M, K) with `x_scale` (..., M, K_s), `y` (..., K, N) with `y_scale` (..., K_s, N), `acc` (..., M, N) float32
    (Ops.td, `mmaf_scaled`). The scaled operands are exact in float64.
    """
    scaled_x = _float64(x) * np.repeat(_float64(x_scale), x.shape[-1] // x_scale.shape[-1], axis=-1)
    scaled_y = _float64(y) * np.repeat(_float64(y_scale), y.shape[-2] // y_scale.shape[-2], axis=-2)
    return mma(scaled_x, scaled_y, acc, ct.float64, ct.float64, ct.float32)


def _float64(x: Array) -> Array:
    """Float64 values of stored floats or integers, C-contiguous, so that BLAS takes the same path for every call."""
    return np.ascontiguousarray(x if x.dtype.kind in "iuf" else widen(x), np.float64)


def _groups(x: Array, y: Array, result: Array) -> list[Any]:
    if result.ndim == 2:
        return [...]
    length = result.shape[0]
    step = max(1, _GROUP * length // max(1, x.size + y.size + result.size))
    return [slice(start, start + step) for start in range(0, length, step)]


def _part(array: Array, group: Any, result: Array) -> Array:
    """The part of a stack that belongs to a group along the first axis of `result`, which `array` may lack or repeat."""
    if array.ndim < result.ndim or array.shape[0] == 1:
        return array
    part: Array = array[group]
    return part


def _accumulated(total: Array, acc: Array, acc_dtype: DType) -> Array:
    """Integer sums are exact: |product| <= 2**16, and K would have to pass 2**36 to leave the integers of float64."""
    if not is_float(acc_dtype):
        return (total.astype(np.int64) + acc).astype(acc.dtype)
    return round_to(total + acc, acc_dtype)
