"""Paired ratios: a real difference is seen through drift, and equal kernels are not told apart."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag.executors.paired_statistics import noise_floor, paired_ratio


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(0.8, 1.25))
def test_the_ratio_is_found_under_drift_that_exceeds_it(seed: int, factor: float) -> None:
    random = np.random.default_rng(seed)
    drift = np.linspace(1, 2, 60) * random.lognormal(0, 0.3, 60)
    parent, candidate = (
        drift * random.lognormal(0, 0.002, 60),
        drift / factor * random.lognormal(0, 0.002, 60),
    )
    ratio = paired_ratio(parent, candidate)
    assert abs(ratio.median / factor - 1) < 0.005
    assert ratio.low <= ratio.median <= ratio.high


def test_equal_kernels_differ_by_less_than_their_noise_floor_nearly_always() -> None:
    random, told_apart = np.random.default_rng(7), 0
    for _ in range(200):
        first, second, third = random.lognormal(0, 0.02, (3, 50))
        told_apart += paired_ratio(first, third).low > 1 + noise_floor(first, second)
    assert told_apart <= 2


def test_swapping_the_arms_inverts_the_ratio() -> None:
    first, second = [1.0, 2.0, 3.0, 4.0, 5.0], [1.1, 2.1, 2.9, 4.4, 5.0]
    there, back = paired_ratio(first, second), paired_ratio(second, first)
    assert np.isclose(there.median * back.median, 1)
