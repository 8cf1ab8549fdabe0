"""Float arithmetic rounds the exact result once: against rational arithmetic, in every format and rounding mode."""

import math
from fractions import Fraction

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytest.importorskip("ml_dtypes")
pytestmark = [pytest.mark.compiler, pytest.mark.filterwarnings("error")]

from exact_rounding import MODES, check, operands, pairs, rounded
from kdiag.executors.emulator import arithmetic
from kdiag.executors.emulator.dtypes import float_format, numpy_dtype, widen

Mode = ct.RoundingMode
FLOATS = (ct.float64, ct.float32, ct.float16, ct.bfloat16)


def quiet(function, *args):
    """A float64 result for operands that are special, where IEEE 754 leaves nothing to round."""
    with np.errstate(all="ignore"):
        return float(function(*map(np.float64, args)))


def zero_sum(mode, *summands):
    """The sign of a sum that is exactly zero."""
    if all(math.copysign(1, value) > 0 for value in summands if value == 0) and all(value == 0 for value in summands):
        return 0.0
    if all(value == 0 and math.copysign(1, value) < 0 for value in summands):
        return -0.0
    return -0.0 if mode is Mode.RM else 0.0


def expected_binary(fn, dtype, mode):
    numpy_function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide}[fn]

    def expected(x, y):
        if not (math.isfinite(x) and math.isfinite(y)) or (fn == "truediv" and y == 0):
            return quiet(numpy_function, x, y)
        a, b = Fraction(x), Fraction(y)
        exact = {"add": a + b, "sub": a - b, "mul": a * b, "truediv": a / b if b else None}[fn]
        if exact:
            return rounded(exact, float_format(dtype), mode)
        if fn in {"mul", "truediv"}:
            return quiet(numpy_function, x, y)
        return zero_sum(mode, x, y if fn == "add" else -y)

    return expected


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("fn", ["add", "sub", "mul", "truediv"])
def test_results_are_the_exact_ones_rounded_once(fn, dtype, mode):
    x, y = pairs(dtype, 250, seed=5)
    got = arithmetic.binary(fn, x, y, dtype, rounding=mode)
    assert got.dtype == numpy_dtype(dtype)
    cases = list(zip(widen(x).tolist(), widen(y).tolist(), strict=True))
    check(got, cases, expected_binary(fn, dtype, mode), f"{fn} {dtype} {mode}")
    if mode is Mode.RN:
        for same in (None, Mode.FULL, Mode.APPROX):
            again = arithmetic.binary(fn, x, y, dtype, rounding=same)
            np.testing.assert_array_equal(widen(again), widen(got))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_square_roots(dtype, mode):
    x = operands(dtype, 300, seed=6)
    shift = 1400

    def expected(value):
        if not value > 0 or math.isinf(value):
            return quiet(np.sqrt, value)
        exact = Fraction(value) * 4**shift
        root = math.isqrt(exact.numerator // exact.denominator)
        sticky = root * root != exact
        return rounded(Fraction(2 * root + sticky, 2 ** (shift + 1)), float_format(dtype), mode)

    got = arithmetic.unary("sqrt", x, dtype, rounding=mode)
    check(got, [(value,) for value in widen(x).tolist()], expected, f"sqrt {dtype} {mode}")


def triples(dtype, seed):
    """Factors, and summands that are unrelated, nearly cancel the product, or leave it halfway between two numbers."""
    x, y = pairs(dtype, 120, seed)
    random = np.random.default_rng(seed)
    storage = numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        product = (-(widen(x).astype(np.float64) * widen(y))).astype(storage)
        lone = np.concatenate([random.permutation(x), product])
        half = (random.choice([1.0, -1.0], x.size) * 2.0 ** -random.integers(1, 60, x.size)).astype(storage)
        ulp = (1 + random.integers(0, 8, x.size) * 2.0 ** (1 - float_format(dtype).precision)).astype(storage)
    signed = np.array([0.0, -0.0, 1.0, -1.0], storage)
    zeros = [grid.ravel() for grid in np.meshgrid(signed, signed, signed)]
    columns = ([x, x, ulp], [y, y, half], [lone, ulp])
    return tuple(np.concatenate([*column, zero]) for column, zero in zip(columns, zeros, strict=True))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fused_multiply_add_rounds_once(dtype, mode):
    x, y, z = triples(dtype, seed=7)

    def expected(x, y, z):
        if not all(map(math.isfinite, (x, y, z))):
            finite_product = math.isfinite(x) and math.isfinite(y)
            return z if finite_product else quiet(lambda x, y, z: x * y + z, x, y, z)
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        sign = math.copysign(1, x) * math.copysign(1, y)
        product = math.copysign(0.0 if 0 in (x, y) else 1.0, sign)
        return rounded(exact, float_format(dtype), mode) if exact else zero_sum(mode, product, z)

    got = arithmetic.fma(x, y, z, dtype, rounding=mode)
    cases = list(zip(*(widen(operand).tolist() for operand in (x, y, z)), strict=True))
    check(got, cases, expected, f"fma {dtype} {mode}")


def test_float32_fma_sees_what_float64_cannot_hold():
    # (2**12 + 1) (2**24 - 2**12 + 1) = 2**36 + 1 and (2**18 - 1) (2**18 + 1) = 2**36 - 1: with the summand, the float64 sum is
    # the tie itself, and rounding that to even would be wrong both times.
    scale = np.float32(2.0**-30)
    above = arithmetic.fma(4097 * scale, 16773121 * scale, np.float32(1), ct.float32)
    below = arithmetic.fma(262143 * scale, 262145 * scale, np.float32(1 + 2.0**-23), ct.float32)
    assert above == np.float32(1 + 2.0**-23)
    assert below == np.float32(1 + 2.0**-23)
