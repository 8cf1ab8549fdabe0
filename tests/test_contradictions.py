"""Contradictions: each rule finds a planted one, and none finds anything in what was honestly measured."""

import pytest

from kdiag.diagnose.contradictions import LARGEST_L2, RULES, Counted, contradictions
from kdiag.diagnose.limits import limits_of
from kdiag.records import Limits
from observing import observe
from recorded_reports import each_report, launches_of

H200 = Limits(dram_gbs=4800, l2_gbs=11_000, fp32_tflops=67, fp64_tflops=34, tensor_tflops={"bf16": 989, "fp8": 1979})


# A bf16 matrix product of 8192^3 in 1.5 ms, as an H200 could do it.
HONEST = observe(
    duration_us=1500,
    dram_bytes=2.2e9,
    dram_pct=30.6,
    l2_bytes=9e9,
    fp32_ops=1e9,
    fp64_ops=0,
    tensor_ops_bf16=2 * 8192**3,
    tensor_pct=74,
    sm_elapsed_cycles=2.4e6,
    sm_clock_hz=1.6e9,
    l2_size_bytes=60 * 2**20,
    work__bytes=3 * 2 * 8192**2,
    work__flops=2 * 8192**3,
)


def test_an_honest_launch():
    assert contradictions(HONEST, H200) == ()
    assert contradictions({}, H200) == ()
    assert contradictions(HONEST, Limits()) == ()


PLANTED: list[tuple[dict[str, float], str]] = [
    ({"dram_bytes": 9e9, "dram_pct": 99}, "9,000.0 MB through DRAM in 1,500.0 us is 125 % of the 4,800 GB/s"),
    ({"l2_bytes": 2e10}, "20,000.0 MB through L2 in 1,500.0 us is 121 % of the 11,000 GB/s"),
    ({"fp32_ops": 1.3e11}, "130.0 GFLOP on fp32 in 1,500.0 us is 129 % of the 67 TFLOP/s"),
    ({"fp64_ops": 1e11}, "100.0 GFLOP on fp64 in 1,500.0 us is 196 % of the 34 TFLOP/s"),
    ({"tensor_ops_bf16": 4e12}, "4,000.0 GFLOP on tensor bf16 in 1,500.0 us is 270 % of the 989 TFLOP/s"),
    ({"tensor_pct": 121}, "The tensor pipe is said to work at 121 % of its peak"),
    ({"dram_pct": 5}, "is 31 % of its peak, but its throughput is said to be 5 %"),
    ({"sm_elapsed_cycles": 2.4e5}, "240,000 cycles at 1.60 GHz are 150.0 us, but the launch took 1,500.0 us"),
    ({"work__bytes": 9e9}, "Only 2,200.0 MB went through DRAM, but the kernel must move at least 8,874.2 MB"),
    ({"work__bytes": 2e10, "dram_bytes": 1.99e10, "dram_pct": 95}, "the bytes it must move need 4,140.5 us"),
    ({"instructions": 0, "waves": 0}, "A launch that ran cannot have instructions, waves of 0"),
    ({"memory_pct": 12}, "dram_pct is 31 % and memory_pct, which includes it, 12 %"),
    ({"dram_bytes": 0}, "DRAM is 31 % busy and moved no byte"),
    ({"work__flops": 8e12}, "its 8,000.0 GFLOP need 4,042.4 us at 1,979 TFLOP/s: it did not do its work"),
]  # fmt: skip


@pytest.mark.parametrize(("planted", "said"), PLANTED)
def test_a_planted_contradiction(planted, said):
    found = contradictions({**HONEST, **observe(**planted)}, H200)
    assert any(said in sentence for sentence in found), found


def test_every_rule_is_shown_to_fire():
    launches = [Counted({**HONEST, **observe(**planted)}, H200) for planted, _ in PLANTED]
    silent = [rule.__name__ for rule in RULES if not any(list(rule(launch)) for launch in launches)]
    assert silent == []


def test_a_kernel_that_skipped_its_work_is_found_without_counters_of_operations():
    """A matrix product that writes zeros: right shape, no work, and too fast."""
    zeros = observe(duration_us=40, work__bytes=3 * 2 * 8192**2, work__flops=2 * 8192**3)
    assert len(contradictions(zeros, H200)) == 1
    assert contradictions(zeros, Limits(dram_gbs=4800, fp32_tflops=67)) == ()  # no tensor peak, nothing to say


def test_work_that_fits_into_l2_need_not_reach_dram():
    small = observe(duration_us=20, dram_bytes=0, work__bytes=100 * 2**20, l2_size_bytes=60 * 2**20)
    assert contradictions(small, H200) == ()
    unsized = observe(duration_us=20, dram_bytes=0, work__bytes=2 * LARGEST_L2)
    assert contradictions(unsized, H200) == ()


def test_a_launch_of_a_few_microseconds_gets_more_slack():
    fast = observe(duration_us=2.4, dram_bytes=2.4e-6 * 1.3 * 4.8e12, dram_pct=100)
    assert contradictions(fast, H200) == ()
    assert contradictions({**fast, **observe(duration_us=1.2)}, H200) != ()


def test_fp16_accumulation_and_sparse_operands_double_a_tensor_pipe():
    geforce = Limits(tensor_tflops={"fp16": 165.2}, fp32_tflops=82.6)
    doubled = observe(duration_us=1000, fp32_ops=1, fp64_ops=0, tensor_ops_fp16=3.2e11)
    assert contradictions(doubled, geforce) == ()


@each_report
def test_no_false_alarm_in_recorded_reports(path):
    for launch in launches_of(path):
        known = launch.observations
        for limits in (limits_of(known), limits_of(known, launch.gpu_name), limits_of({}, launch.gpu_name)):
            assert contradictions(known, limits) == ()
