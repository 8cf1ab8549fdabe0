"""From a series of sampled counters to one value per metric: trimming, proofs, reduction."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.executors.pm_sampling.samples import (
    MAX_INTERVAL_NS,
    MAX_SAMPLES,
    Series,
    fitting_interval,
    longer_interval,
    mean,
    objection,
    trim,
    values_per_metric,
)
from kdiag.rules.load_pm_sampling import SampledMetric, Window
from pm_stand_ins import WINDOW, idle, series, working

finite = st.floats(0, 1e9)


def metric(name, reduce, canonical="dram_pct"):
    return SampledMetric(name, canonical, reduce)


@given(st.integers(0, 30), st.integers(3, 60), st.integers(0, 30))
def test_idle_ends_are_dropped_and_nothing_between_them(before, inside, after):
    found = trim(series([idle()] * before + [working()] * inside + [idle()] * after), WINDOW)
    assert (len(found.whole), len(found.inner)) == (inside, inside - 2)
    assert found.busy_pct == pytest.approx(100)
    assert found.active_pct == pytest.approx(80)


@given(st.lists(st.sampled_from([0.0, 3.0]), min_size=1, max_size=40))
def test_a_card_that_did_nothing_has_no_window(busy):
    rows = [idle() | {"busy": value} for value in busy]
    assert trim(series(rows), WINDOW) is None
    assert "another GPU" in objection(None, WINDOW, 1, 1)


def test_idle_time_inside_the_window_counts():
    found = trim(series([working()] * 20 + [idle()] * 20 + [working()] * 20), WINDOW)
    assert found.busy_pct == pytest.approx(100 * 38 / 58)
    reason = objection(found, WINDOW, 40, 10)
    assert "busy for 66 %" in reason


@given(st.lists(finite, min_size=23, max_size=60), st.integers(0, 5), st.integers(0, 5))
def test_totals_keep_every_working_sample_and_ignore_the_idle_ones(bytes_moved, before, after):
    rows = [idle(bytes=0)] * before + [working(bytes=b) for b in bytes_moved] + [idle(bytes=0)] * after
    found = trim(series(rows), WINDOW)
    values = values_per_metric(found, [metric("bytes", "launch", "dram_read_bytes")], launches=7)
    assert values["dram_read_bytes"][1] == pytest.approx(sum(bytes_moved) / 7)


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(1, 10**6)), min_size=3, max_size=30))
def test_a_mean_is_weighted_by_the_length_of_the_samples(samples):
    ends, clock = [], 1
    for _, length in samples:
        clock += length
        ends.append(clock)
    starts = (1, *ends[:-1])
    recorded = Series(("x",), starts, tuple(ends), tuple((value,) for value, _ in samples))
    expected = sum(value * length for value, length in samples) / sum(length for _, length in samples)
    assert mean(recorded, "x") == pytest.approx(expected)


@given(st.floats(0, 100), st.floats(1, 100))
def test_over_active_time_a_value_is_that_of_the_sms_with_work(pct, active):
    found = trim(series([working(x=pct * active / 100) | {"active": active}] * 30), WINDOW)
    assert values_per_metric(found, [metric("x", "active")], 1)["dram_pct"][1] == pytest.approx(pct)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("reduce", ["mean", "active", "launch"])
def test_a_sample_without_a_number_makes_the_metric_unavailable(value, reduce):
    rows = [working(x=1)] * 15 + [working(x=value)] + [working(x=1)] * 15
    found = trim(series(rows), WINDOW)
    assert values_per_metric(found, [metric("x", reduce)], 1) == {}


def test_of_several_entries_for_a_metric_the_largest_counts():
    found = trim(series([working(a=10, b=30, c=20)] * 30), WINDOW)
    entries = [metric(name, "mean", "l2_pct") for name in ("a", "b", "c")]
    assert values_per_metric(found, entries, 1)["l2_pct"] == (entries[1], pytest.approx(30))


@given(st.integers(1, 50), st.integers(1, 10**6), st.sampled_from([1, 2, 4, 8, 16]))
def test_the_blocks_of_the_launches_prove_the_window(launches, blocks, ctas):
    found = trim(series([working(blocks=launches * blocks * ctas / 40)] * 40), WINDOW)
    assert objection(found, WINDOW, launches, blocks) is None


def test_blocks_that_no_launch_explains_are_another_kernel():
    found = trim(series([working()] * 40), WINDOW)
    reason = objection(found, WINDOW, launches=10, blocks=30)
    assert "another kernel" in reason
    assert objection(found, Window("busy", "active"), launches=10, blocks=30) is None


def test_a_window_of_few_samples_is_refused():
    found = trim(series([working()] * 12), WINDOW)
    assert "holds 10 samples" in objection(found, WINDOW, 12, 10)


@given(st.integers(1, MAX_INTERVAL_NS))
def test_the_interval_doubles_until_none_is_left(interval):
    steps, now = 0, longer_interval(interval)
    while now is not None:
        assert now <= MAX_INTERVAL_NS
        steps, now = steps + 1, longer_interval(now)
    assert steps <= math.log2(MAX_INTERVAL_NS)


@given(st.floats(0.01, 1e5))
def test_the_samples_of_a_long_window_fit(window_ms):
    interval = fitting_interval(20_000, window_ms)
    assert window_ms * 1e6 / interval <= MAX_SAMPLES
    assert interval == 20_000 or window_ms * 1e6 / (interval / 2) > MAX_SAMPLES


def test_a_first_sample_without_a_start_is_left_out():
    recorded = series([working()] * 30)
    torn = Series(recorded.names, (0, *recorded.starts_ns[1:]), recorded.ends_ns, recorded.values)
    found = trim(torn, WINDOW)
    assert len(found.whole) == 29
