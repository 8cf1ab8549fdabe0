"""The hierarchical roofline: levels, pipes, the limit they make, and what the kernel cannot do without."""

import pytest

from kdiag.diagnose.limits import limits_of
from kdiag.diagnose.report.read import read_launches
from kdiag.diagnose.roofline import headroom_of, roofline_of
from kdiag.records import Limits, Roofline
from observing import observe
from recorded_reports import LEAN, needs_data

LIMITS = Limits(
    dram_gbs=1000,
    l2_gbs=4000,
    l1_gbs=20_000,
    fp32_tflops=10,
    fp64_tflops=5,
    tensor_tflops={"bf16": 100, "tf32": 50},
    source="report",
)


# 1 GB through DRAM at 1 TB/s takes 1000 us, 5 GFLOP of fp32 at 10 TFLOP/s 500 us.
COUNTED = observe(fp32_ops=5e9, fp64_ops=0, tensor_pct=0, dram_bytes=1e9, duration_us=2000)


def test_nothing_is_known_of_nothing():
    assert roofline_of({}) == Roofline()
    assert roofline_of({}, LIMITS) == Roofline()
    assert roofline_of(observe(dram_bytes=0, duration_us=3)) == Roofline()


def test_dram_against_fp32():
    roofline = roofline_of(COUNTED, LIMITS)
    assert roofline.intensity_flop_per_byte == pytest.approx(5)
    assert roofline.ridge == pytest.approx(10)
    assert (roofline.limited_by, roofline.intensity_class) == ("memory", "memory")
    assert (roofline.limit_us, roofline.pct_of_limit) == pytest.approx((1000, 50))
    (dram,), (fp32,) = roofline.levels, roofline.pipes
    assert (dram.level, dram.limit_us, dram.pct_of_limit, dram.ridge) == pytest.approx(("dram", 1000, 50, 10))
    assert (fp32.pipe, fp32.limit_us, fp32.pct_of_limit) == pytest.approx(("fp32", 500, 25))


def test_a_cache_can_be_what_limits():
    known = {**COUNTED, **observe(l2_bytes=6e9, l1_bytes=8e9)}
    roofline = roofline_of(known, LIMITS)
    assert [each.level for each in roofline.levels] == ["dram", "l2", "l1"]
    assert [each.limit_us for each in roofline.levels] == pytest.approx([1000, 1500, 400])
    assert [each.ridge for each in roofline.levels] == pytest.approx([10, 2.5, 0.5])
    assert [each.intensity_flop_per_byte for each in roofline.levels] == pytest.approx([5, 5 / 6, 5 / 8])
    assert (roofline.limited_by, roofline.limit_us) == ("memory", pytest.approx(1500))
    assert headroom_of(roofline) == pytest.approx(2)  # by DRAM: tiles decide what goes through L2
    assert [headroom_of(roofline, pct) for pct in (10, 80, 104)] == pytest.approx([4, 1.25, 1])  # fp32: 25 %


def test_a_level_without_a_bandwidth_is_shown_without_a_percentage():
    roofline = roofline_of({**COUNTED, **observe(l2_bytes=6e9)}, Limits(dram_gbs=1000, fp32_tflops=10))
    assert roofline.levels[1].bytes == 6e9
    assert (roofline.levels[1].gbs, roofline.levels[1].pct_of_limit) == (None, None)
    assert roofline.pct_of_limit == pytest.approx(50)


def test_pipes_work_at_once_but_operand_types_share_the_tensor_cores():
    known = {**COUNTED, **observe(tensor_pct=60, tensor_ops_bf16=1e11, tensor_ops_tf32=2.5e10)}
    roofline = roofline_of(known, LIMITS)
    assert [(each.pipe, each.limit_us) for each in roofline.pipes] == [
        ("fp32", pytest.approx(500)),
        ("tensor bf16", pytest.approx(1000)),
        ("tensor tf32", pytest.approx(500)),
    ]
    assert (roofline.limited_by, roofline.limit_us) == ("compute", pytest.approx(1500))
    assert roofline.ridge == pytest.approx(1.3e11 / 1500e-6 / 1e12)
    assert headroom_of(roofline) == pytest.approx(2000 / 1500)


@pytest.mark.parametrize("lost", ["fp32_ops", "fp64_ops", "tensor_pct"])
def test_no_limit_when_a_pipe_may_have_worked_uncounted(lost):
    roofline = roofline_of({name: value for name, value in COUNTED.items() if name != lost}, LIMITS)
    assert (roofline.limit_us, roofline.ridge, roofline.limited_by, roofline.pipes) == (None, None, None, ())
    assert (headroom_of(roofline), headroom_of(roofline, 80)) == (None, 1.25)
    assert roofline.levels[0].pct_of_limit == pytest.approx(50)


def test_no_limit_when_a_pipe_that_worked_has_no_peak():
    roofline = roofline_of({**COUNTED, **observe(tensor_ops_fp8=1e12)}, LIMITS)
    assert roofline.intensity_flop_per_byte == pytest.approx(1005)
    assert (roofline.pct_of_limit, roofline.ridge) == (None, None)


def test_peaks_of_the_observations_are_the_default():
    known = {**COUNTED, **observe(dram_peak=1e12, fp32_peak=1e13)}
    assert roofline_of(known) == roofline_of(known, limits_of(known))
    assert roofline_of(known).pct_of_limit == pytest.approx(50)


def test_what_the_kernel_cannot_do_without():
    roofline = roofline_of({**COUNTED, **observe(work__bytes=5e8, work__flops=8e9)}, LIMITS)
    assert roofline.excess_traffic == pytest.approx(2)
    assert roofline.minimum_us == pytest.approx(800)  # 8 GFLOP on fp32, the pipe in use; the bytes need 500
    assert roofline.intensity_class == "balanced"  # 16 FLOP per byte, though the counters say 5


def test_the_minimum_before_anything_was_counted_is_by_the_fastest_pipe():
    roofline = roofline_of(observe(work__bytes=1e8, work__flops=1e11), LIMITS)
    assert roofline.minimum_us == pytest.approx(1000)
    assert (roofline.excess_traffic, roofline.intensity_class) == (None, "compute")
    assert roofline_of(observe(work__bytes=1e8), LIMITS).minimum_us == pytest.approx(100)
    assert roofline_of(observe(work__bytes=1e8, work__flops=1e11), Limits(dram_gbs=1000)).minimum_us is None


@pytest.mark.parametrize(
    ("flops", "expected"), [(9.9e9, "memory"), (1e10, "balanced"), (5e10, "balanced"), (5.1e10, "compute")]
)
def test_classes_by_intensity(flops, expected):
    assert roofline_of(observe(work__bytes=1e9, work__flops=flops)).intensity_class == expected


@needs_data
def test_recorded_matrix_products():
    pytest.importorskip("ncu_report")
    launches = {each.index: each.observations for each in read_launches(LEAN, "^mm_k$")}
    fast, spilling = roofline_of(launches[6]), roofline_of(launches[7])
    assert (fast.limited_by, fast.pct_of_limit) == ("compute", pytest.approx(82.7, abs=0.2))
    assert [each.level for each in fast.levels] == ["dram", "l2", "l1"]
    assert max(fast.pipes, key=lambda pipe: pipe.operations).operations == pytest.approx(2 * 4096**3)
    assert fast.levels[0].bytes < fast.levels[1].bytes
    needed = observe(work__bytes=3 * 2 * 4096**2, work__flops=2 * 4096**3)
    excess = roofline_of({**launches[7], **needed}).excess_traffic
    assert excess > 20  # spilled registers go through DRAM
    assert spilling.pct_of_limit < 50
    for roofline in (fast, spilling):
        assert all(each.pct_of_limit is not None and each.pct_of_limit < 100 for each in roofline.levels)
