"""Paired ratios: a real difference is seen through drift, and equal kernels are not told apart."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag.executors.paired_statistics import paired_ratio, until_settled


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(0.8, 1.25))
def test_the_ratio_is_found_under_drift_that_exceeds_it(seed, factor):
    random = np.random.default_rng(seed)
    drift = np.linspace(1, 2, 60) * random.lognormal(0, 0.3, 60)
    parent, candidate = (drift * random.lognormal(0, 0.002, 60), drift / factor * random.lognormal(0, 0.002, 60))
    ratio = paired_ratio(parent, candidate)
    assert abs(ratio.median / factor - 1) < 0.005
    assert ratio.low <= ratio.median <= ratio.high


def test_no_shift_is_rejected_by_rounds_that_are_too_few():
    ratio = paired_ratio([1.2, 1.1, 1.3, 1.1, 1.2], [1.0] * 5)
    assert np.allclose((ratio.low, ratio.high), (1.1, 1.3))
    assert paired_ratio([1.2, 1.1, 1.3, 1.1, 1.2, 0.9, 1.2, 1.2, 1.2, 1.2], [1.0] * 10).low > 1.0


def test_a_noisy_machine_is_measured_for_longer_whatever_the_candidate():
    def rounds(jitter, candidate):
        random = np.random.default_rng(5)
        times = until_settled((random.lognormal(0, jitter, (20, 3)) * (1, 1, candidate)).T.tolist)
        assert len({len(arm) for arm in times}) == 1
        return len(times[0])

    assert rounds(0.001, 1.0) == 20
    assert 20 < rounds(0.02, 1.0) == rounds(0.02, 0.5) < 160
    assert rounds(0.5, 1.0) == 160


def test_swapping_the_arms_inverts_the_ratio():
    first, second = [1.0, 2.0, 3.0, 4.0, 5.0], [1.1, 2.1, 2.9, 4.4, 5.0]
    there, back = paired_ratio(first, second), paired_ratio(second, first)
    assert np.isclose(there.median * back.median, 1)
