"""Rounding of exact rational numbers with integers only: what the emulator's results are compared with."""

import math
from fractions import Fraction

import numpy as np
from cuda.tile import RoundingMode as Mode

from kdiag.executors.emulator.dtypes import float_format, numpy_dtype, widen

MODES = (Mode.RN, Mode.RZ, Mode.RM, Mode.RP)


def rounded(value, target, mode, *, saturate=False):
    """`value`, not 0, in `target`."""
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent  # now 2**exponent <= size < 2**(exponent + 1)
    quantum = Fraction(2) ** max(exponent - target.precision + 1, target.smallest_exponent)
    whole, rest = divmod(size, quantum)
    away = {
        Mode.RN: 2 * rest > quantum or (2 * rest == quantum and whole % 2 == 1),
        Mode.RA: 2 * rest >= quantum,
        Mode.RZ: False,
        Mode.RM: rest > 0 and value < 0,
        Mode.RP: rest > 0 and value > 0,
    }[mode]
    result = (whole + away) * quantum
    if result > Fraction(target.largest):
        outward = {Mode.RN: True, Mode.RA: True, Mode.RZ: False, Mode.RM: value < 0, Mode.RP: value > 0}[mode]
        result = math.inf if outward and not saturate else Fraction(target.largest)
    return math.copysign(float(result), -1 if value < 0 else 1)


def operands(dtype, count, seed):
    """Random bit patterns, numbers near one another, and every kind of special value of a float dtype."""
    storage = numpy_dtype(dtype)
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 256, count * storage.itemsize, dtype=np.uint8).view(storage)
    near = random.normal(size=count).astype(storage)
    form = float_format(dtype)
    tiny = 2.0**form.smallest_exponent
    normal = 2.0 ** (form.smallest_exponent + form.precision - 1)
    numbers = [0.0, tiny, 3 * tiny, normal - tiny, normal, 1.0, 1.5, 2.0]
    special = [*numbers, form.largest, form.largest / 2, np.inf, np.nan]
    specials = np.array([*special, *(-value for value in special)]).astype(storage)
    small = (random.integers(-40, 40, count // 2) * tiny).astype(storage)
    return np.concatenate([patterns, near, small, random.choice(specials, count), specials])


def check(got, cases, expected, what):
    """Compares each result with `expected(*case)`: as a number, by sign of zero, and NaN with NaN."""
    for result, case in zip(widen(got).tolist(), cases, strict=True):
        wanted = expected(*case)
        same = result == wanted and math.copysign(1, result) == math.copysign(1, wanted)
        assert same or (math.isnan(result) and math.isnan(wanted)), f"{what} {case}: {result!r} is not {wanted!r}"


def pairs(dtype, count, seed):
    """Operands and partners: unrelated, equal up to sign, and neighbours, which cancel."""
    x = operands(dtype, count, seed)
    random = np.random.default_rng(seed)
    y = random.permutation(x)
    bits = f"u{x.dtype.itemsize}"
    near = (x.view(bits) + random.integers(0, 3, x.size).astype(bits)) ^ (
        random.integers(0, 2, x.size).astype(bits) << (8 * x.dtype.itemsize - 1)
    )
    return np.concatenate([x, x]), np.concatenate([y, near.view(x.dtype)])
