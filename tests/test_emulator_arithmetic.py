"""Element-wise operations beside rounding: special values, elementary functions, and integers against Python's."""

import decimal
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.compiler

from exact_rounding import check, pairs, rounded
from kdiag.executors.emulator import arithmetic
from kdiag.executors.emulator.casts import convert
from kdiag.executors.emulator.dtypes import float_format, numpy_dtype, widen

Mode = ct.RoundingMode
FLOATS = (ct.float64, ct.float32, ct.float16, ct.bfloat16)
INTEGERS = (ct.int8, ct.uint8, ct.int16, ct.uint16, ct.int32, ct.uint32, ct.int64, ct.uint64)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


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
def test_float_remainder_floor_and_comparison(dtype):
    x, y = pairs(dtype, 150, seed=9)
    cases = list(zip(widen(x).tolist(), widen(y).tolist(), strict=True))

    def remainder(x, y):
        special = math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0
        return math.nan if special else math.fmod(x, y)

    check(arithmetic.binary("c_mod", x, y, dtype), cases, remainder, "c_mod")
    quotients = [(value,) for value in widen(arithmetic.binary("truediv", x, y, dtype)).tolist()]
    check(arithmetic.binary("floordiv", x, y, dtype), quotients, lambda value: float(np.floor(value)), "floordiv")
    for fn, symbol in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
        got = arithmetic.compare(fn, x, y, dtype)
        assert got.dtype == np.bool_
        assert got.tolist() == [eval(f"x {symbol} y", {"x": x, "y": y}) for x, y in cases]
    singles = [(value,) for value, _ in cases]
    check(arithmetic.unary("neg", x, dtype), singles, lambda value: -value, "neg")
    check(arithmetic.unary("abs", x, dtype), singles, abs, "abs")
    check(arithmetic.unary("ceil", x, dtype), singles, lambda value: float(np.ceil(value)), "ceil")


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


def test_other_functions_meet_their_float64_values_and_special_cases():
    x = np.float32([0.3, -1.7, 2.0, 100.0])
    for fn in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp2"):
        reference = getattr(np, fn)(x.astype(np.float64))
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(arithmetic.unary(fn, x, ct.float32), reference.astype(np.float32))
    np.testing.assert_array_equal(
        arithmetic.unary("rsqrt", np.float32([4, 0, -0.0, np.inf]), ct.float32), [0.5, np.inf, -np.inf, 0]
    )
    assert arithmetic.unary("log2", np.float64([8.0]), ct.float64) == 3
    assert arithmetic.binary("atan2", np.float32([-0.0]), np.float32([-1]), ct.float32) == np.float32(-np.pi)
    assert arithmetic.binary("pow", np.float32([2]), np.float32([-149]), ct.float32) == np.float32(2.0**-149)
    base, exponent = np.float32([3, -3, 0, np.nan]), np.int8([-1, 3, -1, 0])
    powers = arithmetic.power_of_integer(base, exponent, ct.float32)
    np.testing.assert_array_equal(powers, np.float32([1 / 3, -27, np.inf, 1]))


def wrapped(value, dtype):
    limits = np.iinfo(numpy_dtype(dtype))
    return (value - limits.min) % (1 << limits.bits) + limits.min


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_operations_wrap_and_divide_as_tile_ir_says(dtype):
    limits = np.iinfo(numpy_dtype(dtype))
    random = np.random.default_rng(11)
    some = [limits.min, limits.min + 1, limits.max, 0, 1, 2, 7, limits.max // 2]
    some += [-1, -2, -7] if limits.min else []
    some += random.integers(limits.min, limits.max, 20, dtype=numpy_dtype(dtype)).tolist()
    cases = [(x, y) for x in some for y in some]
    x, y = (np.array(column, numpy_dtype(dtype)) for column in zip(*cases, strict=True))
    exact = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "floordiv": lambda x, y: x // y if y else 0,
        "cdiv": lambda x, y: -(-x // y) if y else 0,
        "c_mod": lambda x, y: x - y * math.trunc(Fraction(x, y)) if y else 0,
        "min": min,
        "max": max,
    }
    for fn, function in exact.items():
        got = arithmetic.binary(fn, x, y, dtype)
        assert got.dtype == numpy_dtype(dtype)
        assert got.tolist() == [wrapped(function(*case), dtype) for case in cases], fn
    width = 1 << limits.bits
    for fn in ("lshift", "rshift"):
        got = arithmetic.shift(fn, x, y, dtype).tolist()
        amounts = [min(y % width, limits.bits) for _, y in cases]
        shifted = [x << n if fn == "lshift" else x >> n for (x, _), n in zip(cases, amounts, strict=True)]
        assert got == [wrapped(value, dtype) for value in shifted], fn
    assert arithmetic.unary("neg", x, dtype).tolist() == [wrapped(-value, dtype) for value, _ in cases]
    assert arithmetic.unary("invert", x, dtype).tolist() == [wrapped(~value, dtype) for value, _ in cases]
    signed = [value - width if value > width // 2 - 1 else value for value, _ in cases]
    assert arithmetic.unary("abs", x, dtype).tolist() == [wrapped(abs(value), dtype) for value in signed]


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
