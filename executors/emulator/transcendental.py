"""exp, log, trigonometry and powers: computed in float64, and rounded once to the narrower formats.

So float32 and narrower results are correctly rounded but for the rare number that float64 cannot tell from a tie. The
device is less exact: it may differ by the few units in the last place that the CUDA C++ Programming Guide allows it.
"""

from collections.abc import Callable

import numpy as np

from .cache_blocks import in_blocks
from .dtypes import Array, DType, numpy_dtype, widen
from .rounding import flush_subnormals, round_to


def _reciprocal_root(x: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(x))


UNARY: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "log": np.log,
    "log2": np.log2,
    "rsqrt": _reciprocal_root,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {"pow": np.power, "atan2": np.arctan2}


def transcendental(
    function: Callable[..., Array], operands: tuple[Array, ...], dtype: DType, flush_to_zero: bool = False
) -> Array:
    """`function` of float64 of the operands, arrays of the float dtypes they are stored in, rounded to `dtype`.

    `flush_to_zero` takes subnormal float32 operands and results as zeros of their sign.
    """

    def rounded(*blocks: Array) -> Array:
        if flush_to_zero:
            blocks = tuple(map(flush_subnormals, blocks))
        result = round_to(function(*(widen(block).astype(np.float64) for block in blocks)), dtype)
        return flush_subnormals(result) if flush_to_zero else result

    return in_blocks(rounded, operands, numpy_dtype(dtype))


def power_of_integer(base: Array, exponent: Array, dtype: DType) -> Array:
    """`base` of the float `dtype` to an integer power (the IR's `RawFPowIOperation`), in `dtype`."""

    def rounded(base: Array, exponent: Array) -> Array:
        return round_to(np.power(widen(base).astype(np.float64), exponent.astype(np.float64)), dtype)

    return in_blocks(rounded, (np.asarray(base), np.asarray(exponent)), numpy_dtype(dtype))
