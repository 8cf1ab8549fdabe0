"""Conversions between dtypes: every pattern of the 16 bit floats, and rounding against exact rational arithmetic."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = [pytest.mark.compiler, pytest.mark.filterwarnings("error")]

from cuda.tile._ir.ops_utils import FTOF_ROUNDING_REGISTRY

from exact_rounding import check, operands, rounded
from kdiag.executors.emulator.casts import convert
from kdiag.executors.emulator.dtypes import float_format, numpy_dtype, widen

Mode = ct.RoundingMode
SOURCES = (ct.float64, ct.float32, ct.float16, ct.bfloat16)
TARGETS = (*SOURCES, ct.tfloat32, ct.float8_e4m3fn, ct.float8_e5m2, ct.float4_e2m1fn)
NARROW = (ct.float8_e4m3fn, ct.float8_e5m2, ct.float4_e2m1fn)
INTEGERS = (ct.int8, ct.uint8, ct.int16, ct.uint16, ct.int32, ct.uint32, ct.int64, ct.uint64)


def all_patterns(dtype):
    storage = numpy_dtype(dtype)
    return np.arange(1 << 8 * storage.itemsize, dtype=f"u{storage.itemsize}").view(storage)


def ties(dtype, target):
    """Numbers of `dtype` on, and just beside, the boundary between two neighbours in `target`."""
    form = float_format(target)
    count = np.arange(1, 1 << min(form.precision, 6), 2) / 2
    scales = [form.smallest_exponent, form.smallest_exponent + 3, 0, -form.precision + 1]
    on = np.concatenate([[form.largest * (1 + 2.0**-form.precision)], *(count * 2.0**scale for scale in scales)])
    with np.errstate(over="ignore"):
        on = on[np.isfinite(on)].astype(numpy_dtype(dtype))
    on = on[np.isfinite(on)]
    beside = [on, np.nextafter(on, numpy_dtype(dtype).type(0)), np.nextafter(on, numpy_dtype(dtype).type(np.inf))]
    return np.concatenate([*beside, *(-array for array in beside)])


def modes(source, target):
    return [mode for mode in FTOF_ROUNDING_REGISTRY[source, target] if mode is not Mode.RN] + [None]


def expected_float(target, mode):
    def expected(value):
        if np.isnan(value):
            return 6.0 if target == ct.float4_e2m1fn else np.nan
        if np.isinf(value) and target in NARROW:
            return np.copysign(float_format(target).largest, value)
        if value == 0 or np.isinf(value):
            return value
        return rounded(Fraction(value), float_format(target), mode or Mode.RN, saturate=target in NARROW)

    return expected


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_float_to_float_rounds_once_in_every_mode_that_cutile_allows(source, target):
    if source == target:
        pytest.skip("nothing is converted")
    x = operands(source, 300, seed=1)
    if source in (ct.float64, ct.float32):
        x = np.concatenate([x, ties(source, target)])
    for mode in modes(source, target):
        got = convert(x, source, target, mode)
        assert got.dtype == numpy_dtype(target)
        check(got, [(value,) for value in widen(x).tolist()], expected_float(target, mode), f"{source} {mode}")


@pytest.mark.parametrize("dtype", [ct.float16, ct.bfloat16, *NARROW, ct.float8_e8m0fnu], ids=str)
def test_every_pattern_survives_the_way_to_float32_and_back(dtype):
    x = all_patterns(dtype)
    if dtype == ct.float4_e2m1fn:
        x = x[:16]
    wide = convert(x, dtype, ct.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ml_dtypes warns of signalling NaNs
        np.testing.assert_array_equal(wide, x.astype(np.float32))
    numbers = np.isfinite(wide)  # infinity saturates in e5m2, NaN patterns become quiet
    back = convert(wide, ct.float32, dtype, Mode.RZ if dtype == ct.float8_e8m0fnu else None)
    bits = f"u{x.dtype.itemsize}"
    np.testing.assert_array_equal(back.view(bits)[numbers], x.view(bits)[numbers])
    assert np.isnan(widen(back)[np.isnan(wide)]).all()


def test_scales_are_powers_of_two_that_saturate_at_both_ends():
    x = np.float32([0.0, 2.0**-149, 2.0**-127, 2.0**-126 * 1.25, 1.0, 1.5, -3.0, 2.0**127 * 1.5, np.inf, np.nan])
    down = convert(x, ct.float32, ct.float8_e8m0fnu, Mode.RZ)
    up = convert(x, ct.float32, ct.float8_e8m0fnu, Mode.RP)
    assert down.view(np.uint8).tolist() == [0, 0, 0, 1, 127, 127, 128, 254, 254, 255]
    assert up.view(np.uint8).tolist() == [0, 0, 0, 2, 127, 128, 129, 254, 254, 255]


@pytest.mark.parametrize("target", [ct.float64, ct.float32, ct.tfloat32, ct.float16, ct.bfloat16], ids=str)
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_integer_to_float_rounds_once(source, target):
    limits = np.iinfo(numpy_dtype(source))
    random = np.random.default_rng(2)
    values = [limits.min, limits.max, 0, 1]
    for bits in range(1, limits.bits):
        top = 1 << bits
        part = top >> 8
        beside = (0, 1, -1, part, part + 1, (top >> 9) + 1, 3 * part, int(random.integers(top)))
        values += [value for step in beside for value in (top + step, -top - step) if limits.min <= value <= limits.max]
    x = np.array(values, numpy_dtype(source))
    check(
        convert(x, source, target),
        [(value,) for value in values],
        lambda value: rounded(Fraction(value), float_format(target), Mode.RN) if value else 0.0,
        f"{source} to {target}",
    )


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_float_to_integer_truncates_and_saturates(source, target):
    limits = np.iinfo(numpy_dtype(target))
    near = [
        sign * (2.0**bits + step)
        for bits in (7, 8, 15, 16, 31, 32, 63, 64)
        for step in (-1, 0, 0.5)
        for sign in (1, -1)
    ]
    with np.errstate(over="ignore"):
        x = np.concatenate([operands(source, 300, seed=3), np.array(near).astype(numpy_dtype(source))])
    got = convert(x, source, target)
    assert got.dtype == numpy_dtype(target)
    for result, value in zip(got.tolist(), widen(x).tolist(), strict=True):
        assert result == as_integer(value, source, limits), value


def as_integer(value, source, limits):
    """To 8 bits through 16, as an H200 does."""
    if limits.bits == 8:
        wide = as_integer(value, source, np.iinfo("i2" if limits.min else "u2"))
        return int(np.int64(wide).astype(limits.dtype))
    if np.isnan(value):
        if source != ct.float64 and limits.bits < 64:
            return 0
        return limits.min if limits.min else 1 << (limits.bits - 1)
    if np.isinf(value):
        return limits.max if value > 0 else limits.min
    return min(max(int(value), limits.min), limits.max)


def test_bool_is_any_number_but_zero_and_extends_as_one():
    x = np.float32([0.0, -0.0, 0.25, -3.0, np.inf, np.nan])
    for dtype in SOURCES:
        stored = convert(x, ct.float32, dtype)
        assert convert(stored, dtype, ct.bool_).tolist() == [False, False, True, True, True, True]
    assert convert(np.array([0, 256, -1]), ct.int64, ct.bool_).tolist() == [False, True, True]
    flags = np.array([False, True])
    for dtype in INTEGERS + TARGETS:
        assert convert(flags, ct.bool_, dtype).astype(float).tolist() == [0, 1]


def test_shapes_of_no_and_of_many_dimensions_are_kept():
    assert convert(np.float32(1.5), ct.float32, ct.bfloat16).shape == ()
    x = np.random.default_rng(4).normal(size=(3, 5, 7000)).astype(np.float32)[:, ::2, ::-1]
    got = convert(x, ct.float32, ct.bfloat16)
    np.testing.assert_array_equal(got, x.astype(ml_dtypes.bfloat16))
    assert convert(x[:0], ct.float32, ct.int32).shape == (0, 3, 7000)


def test_a_dtype_without_storage_is_named():
    with pytest.raises(ValueError, match="float8_e5m3fnu"):
        numpy_dtype(ct.float8_e5m3fnu)
