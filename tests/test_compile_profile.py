"""The profile of kernels that nothing ran: what compiler and source say, without a GPU."""

import shutil

import pytest

from bundled import EXAMPLES
from kdiag import workload as workloads
from kdiag.diagnose import profile_compiled as module
from kdiag.diagnose.profile_compiled import profile_compiled
from kdiag.errors import KdiagError, ToolMissing, UsageError, WorkloadError
from kdiag.isolate import Died
from kdiag.records import CompileEvidence, CompileFailure, Launch, Place, Remark, ScalarArgument

GATHER = 'ct.gather(x, (row, columns), check_bounds=True, padding_value=-float("inf"))'
LOAD = "ct.reshape(ct.load(x, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.NEG_INF), (TILE,))"
REJECTED = Remark(
    "RemarkMemoryTmaLoadFailed", False, Place("softmax.py", 12, 24), "k", text="TMA only supports zero padding"
)


def evidence(kernel="softmax_kernel"):
    launch = Launch(kernel, (64, 1, 1), (ScalarArgument("TILE", 4096, constant=True),))
    return CompileEvidence(
        kernel, "sm_90", launch, 80, 0, 1040, 4096, "hash", (REJECTED,), 0.2, 128, 37.5, 6, "registers"
    )


def compiled(monkeypatch, answer, kernel=None, work=None):
    """The profile of softmax where the compiler gives this answer."""
    monkeypatch.setattr(module, "compile_workload", lambda *_, **__: (answer,))
    monkeypatch.setattr(module.isolate, "run", lambda *_, **__: work or Died("error", "ZeroDivisionError: 1/0"))
    return profile_compiled(workloads.read(EXAMPLES / "softmax"), "sm_90", kernel)


def test_what_was_not_run_has_no_times_and_says_so(monkeypatch):
    profile = compiled(monkeypatch, (evidence(),))
    (launch,) = profile.kernels
    assert (launch.grid, launch.block, launch.constants) == ((64, 1, 1), (128, 1, 1), {"TILE": 4096})
    assert (launch.duration_us, launch.sol.compute_pct, launch.roofline.limit_us) == (None, None, None)
    assert (profile.gpu.compute_capability, profile.gpu.sm_count) == ("9.0", None)
    assert profile.gpu.limits.source == "unknown"
    assert "nothing was run" in profile.notes[0]
    assert any("ZeroDivisionError" in note for note in profile.notes)
    assert launch.compiled == evidence()


def test_the_load_that_cannot_use_tma_is_named_with_its_place_and_the_reason(monkeypatch):
    diagnosis = compiled(monkeypatch, (evidence(),)).kernels[0].diagnosis
    cause = diagnosis.causes[0]
    assert cause.id == "tma-load-rejected"
    assert [(each.where, each.text) for each in cause.evidence][-1] == (REJECTED.where, REJECTED.text)


@pytest.mark.parametrize("launches", [1, 2])
def test_the_least_work_counts_only_where_one_launch_does_it_all(monkeypatch, launches):
    profile = compiled(monkeypatch, (evidence(),) * launches, work=(module.Work(1e9, 5e9),))
    classes = {launch.roofline.intensity_class for launch in profile.kernels}
    assert classes == ({"memory"} if launches == 1 else {None})


def test_kernels_are_chosen_by_a_regular_expression(monkeypatch):
    answer = (evidence(), evidence("other_kernel"))
    profile = compiled(monkeypatch, answer, "^other")
    assert [launch.name for launch in profile.kernels] == ["other_kernel"]
    assert any("does not define other_kernel" in note for note in profile.notes)
    with pytest.raises(UsageError, match=r"matches 'third'.*softmax_kernel, other_kernel"):
        compiled(monkeypatch, answer, "third")
    with pytest.raises(UsageError, match="not a regular expression"):
        compiled(monkeypatch, answer, "(")


@pytest.mark.parametrize(
    ("failure", "kind", "message"),
    [
        (CompileFailure("unavailable", "tileiras is not installed."), ToolMissing, "tileiras is not installed"),
        (CompileFailure("not-launched", "it launches nothing."), WorkloadError, "it launches nothing"),
        (CompileFailure("error", "bad rank (k.py:3)", "k"), KdiagError, "k does not compile for sm_90: bad rank"),
        (CompileFailure("crash", "signal 11", "k"), KdiagError, "k killed the compiler for sm_90: signal 11"),
        (
            CompileFailure("timeout", "no answer within 3 s"),
            WorkloadError,
            "failed while its launches were captured and compiled for sm_90: no answer",
        ),
    ],
    ids=["unavailable", "not launched", "error", "crash", "timeout"],
)
def test_each_way_not_to_compile_is_a_sentence_of_its_own(monkeypatch, failure, kind, message):
    with pytest.raises(kind) as caught:
        compiled(monkeypatch, failure)
    assert type(caught.value) is kind
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_90", "sm_100", "sm_120"])
def test_a_load_with_infinite_padding_is_the_cause_on_every_card_with_tma(tmp_path, target):
    folder = shutil.copytree(EXAMPLES / "softmax", tmp_path / "softmax")
    text = (folder / "softmax.py").read_text().replace(GATHER, LOAD)
    (folder / "softmax.py").write_text(text)
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "NEG_INF" in each)
    for launch in profile_compiled(workloads.read(folder), target, None).kernels:
        cause = launch.diagnosis.causes[0]
        assert cause.id == "tma-load-rejected"
        named = [each for each in cause.evidence if "zero padding" in each.text]
        assert [(each.where.file, each.where.line) for each in named if each.where] == [("softmax.py", line)]
        assert launch.block == (launch.compiled.threads, 1, 1)
        assert launch.roofline.intensity_class == "memory"


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_a_float32_product_is_off_the_tensor_cores_at_its_line(target):
    (launch,) = profile_compiled(workloads.read(EXAMPLES / "matmul_fp32"), target, "matmul").kernels
    source = (EXAMPLES / "matmul_fp32" / "matmul.py").read_text().splitlines()
    cause = launch.diagnosis.causes[0]
    assert cause.id == "mma-off-tensor-cores"
    assert all("ct.mma" in source[each.where.line - 1] for each in cause.evidence)
    assert launch.compiled.instructions["fp32"] > 1000
    assert "tensor" not in launch.compiled.instructions
    assert launch.constants == {"TM": 64, "TN": 64, "TK": 32}
