"""Float operations as exact numbers: error-free transformations in float64.

Each gives `(x, left_out, exponent)`: the result is exactly `(x + left_out) * 2**exponent`, or for quotients and roots
`left_out` has the sign of what `x` left out; `rounding.round_exact` rounds it in any mode.
Knuth's TwoSum, Dekker's and Veltkamp's product; Boldo and Melquiond (2008) for the sum of a product and a number.
Factors are split into fraction and exponent first, so that nothing overflows or underflows on the way.
"""

import numpy as np

from .dtypes import Array

Exact = tuple[Array, Array, Array | int]

_SPLITTER = 2.0**27 + 1
# Exponent of a zero operand, and the distance beyond which a smaller summand is only a sign to a larger one of 106 bits.
_NO_EXPONENT, _FARTHEST = -5000, -300


def exact_sum(x: Array, y: Array) -> Exact:
    """The sum x + y. In float64 an overflowing sum counts as the largest finite value and a little more."""
    total, left_out = two_sum(x, y)
    overflowed = np.isinf(total) & np.isfinite(x) & np.isfinite(y)
    if overflowed.any():
        largest = np.copysign(np.finfo(np.float64).max, total)
        total, left_out = np.where(overflowed, largest, total), np.where(overflowed, largest, left_out)
    return total, left_out, 0


def exact_product(x: Array, y: Array) -> Exact:
    (x, x_exponent), (y, y_exponent) = np.frexp(x), np.frexp(y)
    product, left_out = two_product(x, y)
    return product, left_out, x_exponent + y_exponent


def exact_quotient(x: Array, y: Array) -> Exact:
    """The quotient x / y; the remainder of the rounded quotient tells the side the exact one lies on."""
    (x, x_exponent), (y, y_exponent) = np.frexp(x), np.frexp(y)
    quotient = x / y
    product, product_error = two_product(quotient, y)
    remainder = (x - product) - product_error
    return quotient, np.where(y < 0, -remainder, remainder), x_exponent - y_exponent


def exact_root(x: Array) -> Exact:
    x, exponent = np.frexp(x)
    odd = exponent & 1
    x, exponent = np.ldexp(x, odd), exponent - odd
    root = np.sqrt(x)
    square, square_error = two_product(root, root)
    return root, (x - square) - square_error, exponent >> 1


def exact_product_sum(x: Array, y: Array, z: Array) -> Exact:
    (x, x_exponent), (y, y_exponent), (z, z_exponent) = np.frexp(x), np.frexp(y), np.frexp(z)
    special = x * y + z  # right for zeros, and for infinities and NaN, which frexp leaves as they are
    product_exponent = np.where((x == 0) | (y == 0), _NO_EXPONENT, x_exponent + y_exponent)
    z_exponent = np.where(z == 0, _NO_EXPONENT, z_exponent)
    exponent = np.maximum(product_exponent, z_exponent)
    product, product_error = two_product(x, y)
    shift = np.maximum(product_exponent - exponent, _FARTHEST)
    product, product_error = np.ldexp(product, shift), np.ldexp(product_error, shift)
    z = np.ldexp(z, np.maximum(z_exponent - exponent, _FARTHEST))
    low, lowest = two_sum(z, product_error)
    total, total_error = two_sum(product, low)
    total, left_out = two_sum(total, to_odd(*two_sum(lowest, total_error)))
    ordinary = np.isfinite(x) & np.isfinite(y) & np.isfinite(z) & (exponent != _NO_EXPONENT)
    return np.where(ordinary, total, special), left_out, exponent


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """The sum x + y rounded to nearest, and what that left out (Knuth)."""
    total = x + y
    y_part = total - x
    return total, (x - (total - y_part)) + (y - y_part)


def two_product(x: Array, y: Array) -> tuple[Array, Array]:
    """The product x * y rounded to nearest, and what that left out (Dekker); the factors lie between 2**-400 and 2**400."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _split(x), _split(y)
    return product, x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)


def to_odd(x: Array, left_out: Array) -> Array:
    """The exact number `x + left_out` rounded to odd: toward the neighbour with an odd last bit, unless it is `x`."""
    bits = x.view(np.int64)
    needs = (left_out != 0) & (bits & 1 == 0) & np.isfinite(x)
    if not needs.any():
        return x
    outward = (left_out > 0) == (x > 0)
    return np.where(needs, bits + np.where(outward, 1, -1), bits).view(np.float64)


def _split(x: Array) -> tuple[Array, Array]:
    """Two halves of 26 bits whose sum is `x` (Veltkamp)."""
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high
