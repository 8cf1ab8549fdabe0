"""Matrix multiply-accumulate against exact rational sums, and independent of how matrices are stacked."""

from fractions import Fraction

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.compiler

from exact_rounding import rounded
from kdiag.executors.emulator.casts import convert
from kdiag.executors.emulator.dtypes import float_format, numpy_dtype, widen
from kdiag.executors.emulator.matrix import mma, mma_scaled

PAIRS = [
    (ct.float8_e4m3fn, ct.float16),
    (ct.float8_e5m2, ct.float32),
    (ct.float16, ct.float16),
    (ct.float16, ct.float32),
    (ct.bfloat16, ct.float32),
    (ct.tfloat32, ct.float32),
]


def random_tile(dtype, shape, seed):
    return convert(np.random.default_rng(seed).normal(size=shape).astype(np.float32), ct.float32, dtype)


def exact_dot(x, y, acc):
    terms = (Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y, strict=True))
    return sum(terms, Fraction(float(acc)))


@pytest.mark.parametrize(("operand", "result"), PAIRS, ids=str)
def test_each_element_is_the_exact_sum_rounded_once(operand, result):
    x, y = random_tile(operand, (4, 32), 1), random_tile(operand, (32, 5), 2)
    acc = random_tile(result, (4, 5), 3)
    got = mma(x, y, acc, operand, operand, result)
    assert got.dtype == numpy_dtype(result)
    for i in range(4):
        for j in range(5):
            exact = exact_dot(widen(x)[i], widen(y)[:, j], acc[i, j])
            assert float(got[i, j]) == rounded(exact, float_format(result), ct.RoundingMode.RN)


@pytest.mark.parametrize(("operand", "result"), [*PAIRS, (ct.float32, ct.float32), (ct.float64, ct.float64)], ids=str)
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 32), (16, 1, 48), (1, 128, 64)])
def test_a_stack_of_matrices_gives_the_bits_of_each_alone(operand, result, m, n, k):
    count = 300 if operand != ct.float64 else 7
    x, y = random_tile(operand, (count, m, k), 4), random_tile(operand, (count, k, n), 5)
    acc = random_tile(result, (count, m, n), 6)
    together = mma(x, y, acc, operand, operand, result)
    for index in (0, 1, count // 2, count - 1):
        alone = mma(x[index], y[index], acc[index], operand, operand, result)
        stacked = mma(x[index : index + 1], y[index : index + 1], acc[index : index + 1], operand, operand, result)
        np.testing.assert_array_equal(together[index], alone)
        np.testing.assert_array_equal(stacked[0], alone)
    shared = mma(x, y[:1], acc[:1], operand, operand, result)
    np.testing.assert_array_equal(shared[count - 1], mma(x[count - 1], y[0], acc[0], operand, operand, result))


@pytest.mark.parametrize("signs", [(ct.int8, ct.int8), (ct.uint8, ct.uint8), (ct.int8, ct.uint8)], ids=str)
def test_integers_are_exact_and_wrap(signs):
    random = np.random.default_rng(7)
    x, y = (
        random.integers(np.iinfo(storage).min, np.iinfo(storage).max + 1, shape).astype(storage)
        for storage, shape in zip(map(numpy_dtype, signs), ((2, 3, 400), (2, 400, 4)), strict=True)
    )
    acc = np.full((2, 3, 4), np.iinfo(np.int32).max, np.int32)
    exact = np.matmul(x.astype(np.int64), y.astype(np.int64)) + acc
    got = mma(x, y, acc, *signs, ct.int32)
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, exact.astype(np.int32))
    assert (exact != got).any(), "nothing wrapped"


@pytest.mark.parametrize(
    ("dtype", "scale", "block"),
    [
        (ct.float8_e4m3fn, ct.float8_e8m0fnu, 32),
        (ct.float8_e5m2, ct.float8_e8m0fnu, 32),
        (ct.float4_e2m1fn, ct.float8_e4m3fn, 16),
    ],
    ids=str,
)
def test_scales_hold_for_their_block_along_k(dtype, scale, block):
    x, y = random_tile(dtype, (2, 3, 64), 8), random_tile(dtype, (2, 64, 4), 9)
    x_scale = np.exp2(np.random.default_rng(10).integers(-3, 4, (2, 3, 64 // block))).astype(numpy_dtype(scale))
    y_scale = np.exp2(np.random.default_rng(11).integers(-3, 4, (2, 64 // block, 4))).astype(numpy_dtype(scale))
    acc = random_tile(ct.float32, (2, 3, 4), 12)
    got = mma_scaled(x, x_scale, y, y_scale, acc)
    for b, i, j in np.ndindex(2, 3, 4):
        left = [
            Fraction(float(widen(x)[b, i, k])) * Fraction(float(widen(x_scale)[b, i, k // block])) for k in range(64)
        ]
        right = [
            Fraction(float(widen(y)[b, k, j])) * Fraction(float(widen(y_scale)[b, k // block, j])) for k in range(64)
        ]
        exact = sum((a * c for a, c in zip(left, right, strict=True)), Fraction(float(acc[b, i, j])))
        assert float(got[b, i, j]) == rounded(exact, float_format(ct.float32), ct.RoundingMode.RN)


def test_infinities_pass_without_a_warning():
    big = np.float16([[60000.0]])
    assert np.isinf(mma(big, big, np.float16([[0]]), ct.float16, ct.float16, ct.float16))
