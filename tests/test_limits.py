"""Limits: the report first, the table for what it does not hold, and nothing for a card that is not in the table."""

import pytest

from kdiag.diagnose.limits import UNKNOWN, limits_of, limits_of_card
from kdiag.diagnose.roofline import roofline_of
from observing import observe

H200 = "NVIDIA H200"


def test_without_peaks_and_without_a_name_there_are_none():
    assert limits_of(observe(dram_peak=0.0, dram_pct=50)) == UNKNOWN
    assert limits_of({}, "NVIDIA H20") == UNKNOWN
    assert limits_of_card([], "NVIDIA H20") == UNKNOWN


def test_all_figures_of_a_report():
    peaks = observe(dram_peak=4.8e12, l2_peak=1e13, l1_peak=3e13, fp32_peak=6e13, fp64_peak=3e13, tensor_peak_bf16=9e14)
    found = limits_of(peaks)
    assert (found.dram_gbs, found.l2_gbs, found.l1_gbs) == pytest.approx((4800, 10_000, 30_000))
    assert (found.fp32_tflops, found.fp64_tflops) == pytest.approx((60, 30))
    assert found.tensor_tflops == pytest.approx({"bf16": 900})
    assert found.source == "report"


def test_a_report_without_peaks_takes_those_of_the_exact_card():
    found = limits_of(observe(sm_count=132), H200)
    assert (found.dram_gbs, found.fp64_tflops, found.tensor_tflops["bf16"]) == (4800, 34, 989)
    assert (found.l2_gbs, found.l1_gbs) == (None, None)
    assert found.source == "device table"


def test_a_report_with_some_peaks_is_filled_in_and_says_so():
    found = limits_of(observe(dram_peak=4.7e12, tensor_peak_bf16=8e14, sm_count=132), H200)
    assert found.dram_gbs == pytest.approx(4700)
    assert found.tensor_tflops["bf16"] == pytest.approx(800)
    assert (found.fp32_tflops, found.tensor_tflops["fp8"]) == (67, 1979)
    assert found.source == "report, device table"


def test_a_slice_of_a_card_has_no_limits_and_no_percentage():
    counted = observe(sm_count=16, fp32_ops=1e9, fp64_ops=0, tensor_pct=0, dram_bytes=1e9, duration_us=500)
    assert limits_of(counted, H200) == UNKNOWN
    roofline = roofline_of(counted, limits_of(counted, H200))
    assert roofline.pct_of_limit is None
    assert [each.pct_of_limit for each in (*roofline.levels, *roofline.pipes)] == [None, None]


def test_a_card_is_read_at_the_clocks_of_its_longest_launch_with_peaks():
    short = observe(duration_us=2.4, dram_peak=5.2e12)
    longer = observe(duration_us=200, dram_peak=4.8e12)
    longest = observe(duration_us=900)
    assert limits_of_card([short, longest, longer]).dram_gbs == pytest.approx(4800)
    filled = limits_of_card([short, longest, longer], H200)
    assert (filled.dram_gbs, filled.fp32_tflops, filled.source) == (pytest.approx(4800), 67, "report, device table")
    assert limits_of_card([longest], H200).source == "device table"
