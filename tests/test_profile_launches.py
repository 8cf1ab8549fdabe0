"""From launches that were read to a profile: which are diagnosed, what is set apart, what is not believed."""

from kdiag.diagnose.metrics import with_derived
from kdiag.diagnose.profile import launch_profile, profile_launches
from kdiag.diagnose.report.read import ReportLaunch
from kdiag.diagnose.report.symbol import Constant
from kdiag.executors.host_timing import RunTiming
from kdiag.records import number
from observing import observe

BUSY = observe(
    duration_us=100.0, compute_pct=9.0, memory_pct=90.0, dram_pct=90.0, l2_pct=90.0, issue_pct=9.0, waves=60.0
)


def launch(index, name, role="kernel", share_pct=50.0, known=BUSY):
    return ReportLaunch(index, name, name, "NVIDIA H200", known, role, share_pct)


def test_a_fill_with_most_of_the_time_is_counted_and_not_diagnosed():
    launches = [launch(0, "fill", "fill", 50.0), launch(1, "fill", "fill", 45.0), launch(2, "k", share_pct=5.0)]
    profile = profile_launches("r", launches)
    assert [(each.index, each.name) for each in profile.kernels] == [(2, "k")]
    (fill,) = profile.others
    assert (fill.name, fill.role, fill.launches, fill.duration_us, fill.share_pct) == ("fill", "fill", 2, 200.0, 95.0)


def test_a_share_that_is_partly_unknown_is_unknown():
    launches = [launch(0, "fill", "fill", 50.0), launch(1, "fill", "fill", None), launch(2, "k")]
    (fill,) = profile_launches("r", launches).others
    assert (fill.share_pct, fill.duration_us) == (None, 200.0)


def test_what_was_asked_for_is_diagnosed_whatever_it_is():
    profile = profile_launches("r", [launch(0, "fill", "fill")], everything=True)
    assert [each.role for each in profile.kernels] == ["fill"]
    assert profile.notes == ()


def test_a_report_of_fills_alone_says_so():
    profile = profile_launches("r", [launch(0, "fill", "fill"), launch(1, "copy", "copy")])
    assert len(profile.kernels) == 2
    assert "the kernel itself is missing" in profile.notes[0]


def test_counters_that_contradict_each_other_are_not_believed():
    impossible = {**BUSY, **observe(dram_read_bytes=1e9, dram_write_bytes=1e9, sm_count=132)}  # 20 TB/s
    found = launch_profile(launch(0, "k", known=impossible))
    assert found.contradictions
    assert found.diagnosis.bottleneck == "unknown"
    assert [each.text for each in found.diagnosis.causes[0].evidence] == list(found.contradictions)


def test_what_compiler_and_workload_say_is_taken_together_with_the_counters():
    traffic = {**BUSY, **observe(dram_read_bytes=3e8, dram_write_bytes=1e8)}
    read = launch(0, "k", known=traffic)
    alone, together = launch_profile(read), launch_profile(read, observe(work__bytes=2e8))
    assert alone.diagnosis.causes[0].id == "dram-bandwidth"
    assert together.diagnosis.causes[0].id == "excess-traffic"
    assert together.roofline.excess_traffic == 2.0


def test_constants_get_the_names_of_the_parameters():
    read = ReportLaunch(0, "k", "k", None, BUSY, constants=(Constant(1, 128),))
    assert launch_profile(read, parameters=("x", "TILE")).constants == {"TILE": 128}


def test_sampled_counters_are_completed_by_the_compiled_code():
    sampled = observe(dram_pct=30, l2_pct=40, l1_data_pct=20, grid_size=264, sm_count=132)
    compiled = observe(compile__blocks_per_sm=2, compile__occupancy_pct=25.0)
    known = with_derived({**sampled, **compiled})
    assert [number(known, name) for name in ("memory_pct", "waves", "max_occupancy_pct")] == [40, 1.0, 25.0]
    assert number(known, "compute_pct") is None
    assert number(with_derived({**sampled, **compiled, **observe(memory_pct=55)}), "memory_pct") == 55


def test_time_in_which_the_gpu_waits_for_the_host():
    found = RunTiming(period_us=100.0, device_us=25.0, launches=5).observations()
    figures = {name: evidence.value for name, evidence in found.items()}
    assert figures == {"timing.host_share_pct": 75.0, "timing.launches": 5, "timing.mean_launch_us": 5.0}
    assert RunTiming(10.0, 11.0, 0).observations()["timing.host_share_pct"].value == 0.0
    assert "timing.mean_launch_us" not in RunTiming(10.0, 11.0, 0).observations()
    assert set(RunTiming(10.0, None, 3).observations()) == {"timing.launches"}
