"""Element-wise operations beside rounding: what benchmarks/conformance, recorded on a GPU, does not pin down."""

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytest.importorskip("ml_dtypes")
pytestmark = [pytest.mark.compiler, pytest.mark.filterwarnings("error")]

from exact_rounding import check, pairs, rounded
from kdiag.executors.emulator import arithmetic
from kdiag.executors.emulator.casts import convert
from kdiag.executors.emulator.dtypes import float_format, widen

Mode = ct.RoundingMode
FLOATS = (ct.float64, ct.float32, ct.float16, ct.bfloat16)


@pytest.mark.parametrize("mode", [None, Mode.RZ])
def test_flush_to_zero_takes_and_gives_zeros_of_the_same_sign(mode):
    tiny, normal = np.float32(2.0**-127), np.float32(2.0**-126)
    x, y = np.float32([tiny, -tiny, normal, -normal, 1.0]), np.float32([1.0, 1.0, 0.5, 0.5, 0.0])
    product = arithmetic.binary("mul", x, y, ct.float32, rounding=mode, flush_to_zero=True)
    assert [(value, math.copysign(1, value)) for value in product.tolist()] == [
        (0, 1),
        (0, -1),
        (0, 1),
        (0, -1),
        (0, 1),
    ]
    total = arithmetic.binary("add", x, x, ct.float32, rounding=mode, flush_to_zero=True)
    np.testing.assert_array_equal(total, np.float32([0, -0.0, 2 * normal, -2 * normal, 2]))
    assert arithmetic.fma(x, y, x, ct.float32, flush_to_zero=True)[0] == 0
    assert arithmetic.binary("max", x, y * 0, ct.float32, flush_to_zero=True)[0] == 0
    assert np.isinf(arithmetic.unary("rsqrt", x, ct.float32, flush_to_zero=True)[0])
    assert arithmetic.binary("mul", x, y, ct.float32)[2] == normal / 2


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_remainder_and_floor(dtype):
    x, y = pairs(dtype, 150, seed=9)
    cases = list(zip(widen(x).tolist(), widen(y).tolist(), strict=True))

    def remainder(x, y):
        special = math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0
        return math.nan if special else math.fmod(x, y)

    check(arithmetic.binary("c_mod", x, y, dtype), cases, remainder, "c_mod")
    quotients = [(value,) for value in widen(arithmetic.binary("truediv", x, y, dtype)).tolist()]
    check(arithmetic.binary("floordiv", x, y, dtype), quotients, lambda value: float(np.floor(value)), "floordiv")


def test_the_remainder_of_integers_has_the_sign_of_the_dividend():
    x, y = np.int32([7, -7, 7, -7, -(2**31), 5]), np.int32([3, 3, -3, -3, -1, 0])
    assert arithmetic.binary("c_mod", x, y, ct.int32).tolist() == [1, -1, 1, -1, 0, 0]


@pytest.mark.parametrize("dtype", [ct.float32, ct.float16, ct.bfloat16], ids=str)
@pytest.mark.parametrize("fn", ["exp", "log"])
def test_exp_and_log_are_correctly_rounded(fn, dtype):
    form = float_format(dtype)
    random = np.random.default_rng(10)
    x = random.uniform(*{"exp": (-20, 11), "log": (1e-3, 60000)}[fn], 400).astype(np.float32)
    x = convert(x, ct.float32, dtype)
    with decimal.localcontext() as context:
        context.prec = 60

        def expected(value):
            number = decimal.Decimal(value)
            exact = Fraction(number.exp() if fn == "exp" else number.ln())
            return rounded(exact, form, Mode.RN) if exact else 0.0

        check(arithmetic.unary(fn, x, dtype), [(value,) for value in widen(x).tolist()], expected, fn)


def test_blocks_do_not_show_and_operands_are_left_alone():
    random = np.random.default_rng(12)
    x = random.normal(size=(3, 1, 70_001)).astype(np.float32)
    y = random.normal(size=(5, 1)).astype(np.float32)
    x[:, :, ::7] = 0
    x.flags.writeable = y.flags.writeable = False
    got = arithmetic.binary("max", x, y * np.float32(0), ct.float32)
    np.testing.assert_array_equal(got, np.maximum(x, y * np.float32(0)))
    product = arithmetic.binary("mul", x, y, ct.float32, rounding=Mode.RZ)
    assert product.shape == (3, 5, 70_001)
    apart = arithmetic.binary("mul", x[2, 0, 65_536:], y[3], ct.float32, rounding=Mode.RZ)
    np.testing.assert_array_equal(product[2, 3, 65_536:], apart)
    assert arithmetic.unary("exp", np.float32(0), ct.float32).shape == ()
    assert arithmetic.unary("exp", x[:0], ct.float32).shape == (0, 1, 70_001)
