"""Reading Nsight Compute reports: which launches, what is taken of them, and what that leads to."""

import json
import shutil

import pytest

from kdiag.diagnose.profile import profile_report
from kdiag.diagnose.report.read import read_launches
from kdiag.diagnose.report.symbol import function_name
from kdiag.errors import ReportError, UsageError
from kdiag.records import Roofline
from recorded_reports import DATA, LEAN, needs_data

PUBLIC = sorted(DATA.glob("public/*rep")) + sorted(DATA.glob("public/*report"))

pytest.importorskip("ncu_report")


@needs_data
def test_choosing_a_kernel():
    assert [launch.index for launch in read_launches(LEAN, "^silu_k$")] == [12, 13]
    with pytest.raises(ReportError, match="matches 'gemm'; it holds: softmax_k, mm_k, silu_k, vadd_g"):
        read_launches(LEAN, "gemm")
    with pytest.raises(UsageError, match="not a regular expression"):
        read_launches(LEAN, "(")


@needs_data
def test_choosing_a_launch():
    (launch,) = read_launches(LEAN, launch_index=13)
    assert (launch.index, launch.name) == (13, "silu_k")
    assert launch.share_pct == pytest.approx(5.35, abs=0.01)
    assert read_launches(LEAN, "silu_k", 13) == (launch,)
    for index in (17, -1):
        with pytest.raises(UsageError, match="is 16"):
            read_launches(LEAN, launch_index=index)
    with pytest.raises(UsageError, match="launch of silu_k, which --kernel leaves out"):
        read_launches(LEAN, "mm_k", 13)


@needs_data
def test_identity_of_a_cutile_launch():
    launch = read_launches(LEAN, "^mm_k$")[1]
    assert launch.symbol.startswith("mm_k_Kt1_A2bf16_")
    assert [(c.position, c.value) for c in launch.constants][:3] == [(3, 128), (4, 256), (5, 64)]
    assert launch.role == "kernel"
    everything = read_launches(LEAN)
    assert sum(each.share_pct or 0 for each in everything) == pytest.approx(100)


@needs_data
def test_names_and_nvtx_ranges_of_other_launches():
    fill, target = read_launches(DATA / "public" / "AlpriElse+cs599k__silu_triton_silu-2025-04-18-v7.ncu-rep")
    assert (fill.name, fill.role) == ("distribution_elementwise_grid_stride_kernel", "fill")
    assert (target.name, target.role, target.nvtx) == ("silu_kernel_non_strided", "kernel", ())
    assert [round(launch.share_pct or 0) for launch in (fill, target)] == [49, 51]
    launches = read_launches(DATA / "public" / "NVIDIA+nsight-training__manual_nvtx.ncu-rep")
    assert launches[0].nvtx == ("run_test", "init_data")


@needs_data
def test_the_bare_name_of_every_recorded_function():
    for path in PUBLIC:
        if "window-512" not in path.name:
            for launch in read_launches(path):
                assert function_name(launch.symbol) == launch.name


@needs_data
def test_causes_of_known_launches():
    truth = json.loads((DATA / "h200" / "launches.json").read_text())
    profile = profile_report(LEAN)
    assert len(profile.kernels) == len(truth) == 17
    wrong = [
        (launch.index, launch.diagnosis.bottleneck, launch.diagnosis.causes[0].id)
        for launch, right in zip(profile.kernels, truth, strict=True)
        if launch.diagnosis.causes[0].id not in right["root_cause_any_of"]
        or launch.diagnosis.bottleneck not in right["bottleneck_any_of"]
    ]
    assert wrong == []


@needs_data
def test_figures_of_a_matrix_product():
    profile = profile_report(LEAN, "^mm_k$")
    launch = profile.kernels[0]
    assert (launch.index, launch.grid, launch.block) == (6, (1024, 1, 1), (256, 1, 1))
    assert launch.duration_us == pytest.approx(205.536)
    roofline = launch.roofline
    assert roofline.intensity_flop_per_byte == pytest.approx(2 * 4096**3 / (301885696 + 32737536), rel=1e-3)
    assert roofline.limited_by == "compute"
    # 41.3 % of the sparse peak that the counter of the operand type reports is 82.7 % of the dense one.
    assert roofline.pct_of_limit == pytest.approx(82.7, abs=0.2)
    assert profile.gpu.limits.dram_gbs == pytest.approx(4812, abs=5)
    assert (profile.gpu.name, profile.gpu.compute_capability, profile.gpu.sm_count) == ("NVIDIA H200", "9.0", 132)


@needs_data
def test_a_launch_that_was_never_measured():
    (launch,) = profile_report(DATA / "tilegym-h200" / "tg_bmm.ncu-rep").kernels
    assert (launch.diagnosis.bottleneck, launch.diagnosis.causes[0].id) == ("unknown", "unknown")
    assert launch.diagnosis.causes[0].evidence == ()
    assert launch.duration_us is None
    assert launch.sol.compute_pct is None
    assert launch.roofline == Roofline()


@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.name[:40])
def test_other_peoples_reports(path, tmp_path):
    copy = tmp_path / "report.ncu-rep"
    shutil.copy(path, copy)
    try:
        profile = profile_report(copy)
    except ReportError:
        assert "window-512" in path.name
        return
    for launch in profile.kernels:
        assert launch.diagnosis.causes
        if profile.gpu.limits.source == "unknown":
            assert launch.roofline.pct_of_limit is None
        if launch.duration_us is None or launch.sol.memory_pct is None:
            assert launch.diagnosis.bottleneck == "unknown"
