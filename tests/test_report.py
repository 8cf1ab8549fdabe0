"""Reading Nsight Compute reports: what is refused and how, what is taken from real ones, and what that leads to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kdiag.diagnose.limits import limits_of
from kdiag.diagnose.metrics import number
from kdiag.diagnose.profile import profile_report
from kdiag.diagnose.report import python_name, read_launches
from kdiag.diagnose.roofline import roofline_of
from kdiag.errors import ReportError, UsageError
from kdiag.records import Evidence, Roofline

DATA = Path(__file__).parents[2] / "shared" / "data"
LEAN = DATA / "h200" / "give-lean.ncu-rep"
needs_data = pytest.mark.skipif(not LEAN.exists(), reason="the recorded reports are not on this machine")
PUBLIC = sorted(DATA.glob("public/*rep")) + sorted(DATA.glob("public/*report"))

pytest.importorskip("ncu_report")


@pytest.mark.parametrize("content", [b"", b"NV", b"kernel,time\n", b"\x97\x00\x00\x00\x08\x00"])
def test_what_is_no_report(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some.ncu-rep"
    path.write_bytes(content)
    with pytest.raises(ReportError, match="not an Nsight Compute report"):
        read_launches(path)


def test_magic_and_nothing_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "empty.ncu-rep"
    path.write_bytes(b"NVR\0" + bytes(range(256)) * 8)
    with pytest.raises(ReportError, match="no profiled launch"):
        read_launches(path)


@pytest.mark.parametrize("name", [".", "missing.ncu-rep"])
def test_what_cannot_be_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(ReportError, match="cannot be read"):
        read_launches(tmp_path / name)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("softmax_k_Kt1_A2bf16_1v8l0_2t1_3i16_p16_I4096", "softmax_k"),
        ("_static_persistent_bmm_kernel_Kt1_A3f16", "_static_persistent_bmm_kernel"),
        ("my_Kernel_Kt1_A1f32", "my_Kernel"),
        ("sgemm_Kernel", "sgemm_Kernel"),
        ("void cutlass::Kernel_K<float>(int)", "void cutlass::Kernel_K<float>(int)"),
    ],
)
def test_python_name(symbol: str, name: str) -> None:
    assert python_name(symbol) == name


@needs_data
def test_a_report_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(LEAN.read_bytes()[:1_000_000])
    with pytest.raises(ReportError, match="cut off: the last of its 2 launches"):
        read_launches(path)
    assert [launch.name for launch in read_launches(path, "softmax_k")] == ["softmax_k"]


@needs_data
def test_choosing_a_kernel() -> None:
    assert [launch.index for launch in read_launches(LEAN, "^silu_k$")] == [12, 13]
    with pytest.raises(ReportError, match="matches 'gemm'; it holds: softmax_k, mm_k, silu_k, vadd_g"):
        read_launches(LEAN, "gemm")
    with pytest.raises(UsageError, match="not a regular expression"):
        read_launches(LEAN, "(")


@needs_data
def test_causes_of_known_launches() -> None:
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
def test_figures_of_a_matrix_product() -> None:
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
    assert (profile.gpu.name, profile.gpu.compute_capability, profile.gpu.sm_count) == (
        "NVIDIA H200",
        "9.0",
        132,
    )


@needs_data
def test_a_launch_that_was_never_measured() -> None:
    (launch,) = profile_report(DATA / "tilegym-h200" / "tg_bmm.ncu-rep").kernels
    assert (launch.diagnosis.bottleneck, launch.diagnosis.causes[0].id) == ("unknown", "unknown")
    assert launch.diagnosis.causes[0].evidence == ()
    assert launch.duration_us is None
    assert launch.sol.compute_pct is None
    assert launch.roofline == Roofline()


@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.name[:40])
def test_other_peoples_reports(path: Path, tmp_path: Path) -> None:
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


def observe(**values: float) -> dict[str, Evidence]:
    return {name: Evidence("metric", name, value) for name, value in values.items()}


def test_limits_are_unknown_without_peaks() -> None:
    assert limits_of(observe(dram_peak=0.0, dram_pct=50)).source == "unknown"
    assert limits_of(observe(dram_peak=2e12)).dram_gbs == pytest.approx(2000)


def test_roofline_needs_every_operation_that_ran() -> None:
    counted = observe(
        fp32_ops=1e9, fp64_ops=0, dram_bytes=1e9, dram_peak=1e12, fp32_peak=1e13, duration_us=2000
    )
    assert roofline_of(counted) == Roofline()  # nothing says that the tensor cores were idle
    complete = {**counted, **observe(tensor_pct=0)}
    assert roofline_of(complete) == Roofline(
        1.0, pytest.approx(10), "memory", pytest.approx(1000), pytest.approx(50)
    )
    assert roofline_of({**complete, **observe(tensor_ops_bf16=1e12)}) == Roofline(1001.0)
    assert number(complete, "tensor_pct") == 0
