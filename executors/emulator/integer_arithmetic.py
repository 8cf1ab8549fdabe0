"""Integer and bool arithmetic: two's complement that wraps, as Tile IR defines it (Ops.td, integer operations).

Division by zero is undefined there; here it gives 0 without a warning, and the interpreter reports it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import Array, DType


def _divide_up(x: Array, y: Array) -> Array:
    quotient = np.floor_divide(x, y)
    rounded: Array = quotient + ((quotient * y != x) & (y != 0)).astype(quotient.dtype)
    return rounded


# floor_divide and fmod give 0 for a zero divisor, and the wrapped quotient for the least integer by -1.
_BINARY: dict[str, Callable[[Array, Array], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "cdiv": _divide_up,
    "c_mod": np.fmod,
    "min": np.minimum,
    "max": np.maximum,
}
_BITWISE: dict[str, Callable[[Array, Array], Any]] = {
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}
# NumPy reads a shift amount of the width or more, and a negative one, as PTX `shl` and `shr` do: all bits are shifted out.
_SHIFTS: dict[str, Callable[[Array, Array], Any]] = {"lshift": np.left_shift, "rshift": np.right_shift}


def integer_binary(fn: str, x: Array, y: Array) -> Array:
    """add, sub, mul, floordiv (to -inf), cdiv (to +inf), c_mod (sign of `x`), min or max of two arrays of one dtype."""
    with np.errstate(all="ignore"):
        return np.asarray(_BINARY[fn](x, y))


def bitwise(fn: str, x: Array, y: Array, dtype: DType) -> Array:
    """and_, or_ or xor of two integer or bool arrays of `dtype`."""
    return np.asarray(_BITWISE[fn](x, y))


def shift(fn: str, x: Array, y: Array, dtype: DType) -> Array:
    """The shift lshift or rshift of `x` by `y`, both of the integer `dtype`; rshift repeats the sign of a signed one.

    `y` counts as unsigned (Ops.td, `shli` and `shri`), so that a negative amount shifts everything out.
    """
    return np.asarray(_SHIFTS[fn](x, y))


def integer_unary(fn: str, x: Array) -> Array:
    """abs, neg, invert or bitwise_not; of a bool the complement is logical.

    abs takes the bits as signed whatever the dtype is (Ops.td, `absi`), and of the least integer is that integer.
    """
    match fn:
        case "abs" if x.dtype.kind == "u":
            signed = np.dtype(f"i{x.dtype.itemsize}")
            return np.asarray(np.abs(x.view(signed))).view(x.dtype)
        case "abs":
            return np.asarray(np.abs(x))
        case "neg":
            return np.asarray(np.negative(x))
        case "invert" | "bitwise_not":
            return np.asarray(np.invert(x))
        case _:
            raise ValueError(f"the emulator has no integer operation {fn}")
