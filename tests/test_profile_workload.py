"""`kdiag profile` of workloads, kernels and programs where there is no GPU: whole command lines."""

import json
import shutil
import sys

import pytest

from bundled import EXAMPLES
from command_lines import as_json, refusal
from kdiag import cli, isolate
from kdiag.executors.bench import Baseline, ConfigurationBaseline
from kdiag.executors.ncu.collect import NoCounters
from kdiag.isolate import Died
from kdiag.loop import profile_workload
from kdiag.records import ConfigurationCheck, Gpu
from ncu_machine import FILL, SOFTMAX, machine

__all__ = ["machine"]


@pytest.mark.compiler
@pytest.mark.parametrize("what", ["matmul_fp32", "matmul_fp32/matmul.py", "matmul_fp32/workload.py"])
def test_the_compiler_alone_names_the_line(what, capsys):
    (kernel,) = as_json(capsys, "profile", str(EXAMPLES / what), "--target", "sm_100")["kernels"]
    cause = kernel["causes"][0]
    assert cause["id"] == "mma-off-tensor-cores"
    assert cause["evidence"][0]["where"] == {"file": "matmul.py", "line": 18, "column": 22}
    assert kernel["duration_us"] is None
    assert kernel["compiled"]["occupancy_limited_by"] == "registers"


WRONG = ConfigurationCheck("rows=1", False, 1.0, 0.1, "off by 1")


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("answer", "near", "note"),
    [
        (0.0625, True, "rows=2: 96% of the measured copy bandwidth (3,840 of 4,000 GB/s)"),
        (0.12, False, "rows=2: 50% of the measured copy bandwidth (2,000 of 4,000 GB/s)"),
        (Baseline((WRONG,), ()), False, "wrong in rows=1, so its time says nothing: off by 1"),
        (Died("crash", "no card"), False, "not set beside the card's measured rates: no card"),
    ],
)
def test_without_counters_the_time_is_set_beside_a_copys(answer, near, note, capsys, monkeypatch):
    pytest.importorskip("cuda.tile")
    if isinstance(answer, float):
        rows = (("rows=1", 9.0), ("rows=2", answer))
        made = [ConfigurationBaseline(name, ms, 0.0, limit_ms=0.06, limited_by="copy bandwidth") for name, ms in rows]
        answer = Baseline((), tuple(made), 4000.0)
    run = isolate.run
    monkeypatch.setattr(
        isolate,
        "run",
        lambda job, *asked, **options: answer if job is profile_workload._baseline else run(job, *asked, **options),
    )
    monkeypatch.setattr(profile_workload, "probe_gpu", lambda: Gpu("a card", "9.0", 132))
    monkeypatch.setattr(profile_workload, "sample", lambda _: NoCounters("refused"))
    monkeypatch.setattr(profile_workload, "time_runs", lambda _: Died("error", "no card"))
    found = as_json(capsys, "profile", str(EXAMPLES / "softmax"), "--configuration", "1")
    (kernel,) = found["kernels"]
    assert (kernel["causes"][0]["id"] == "dram-bandwidth") is near
    assert note in found["notes"]


@pytest.mark.compiler
def test_a_report_with_its_workload(capsys):
    folder = EXAMPLES / "softmax"
    (kernel,) = as_json(capsys, "profile", str(folder / "softmax.ncu-repz"), "--workload", str(folder))["kernels"]
    assert kernel["causes"][0]["id"] == "special-functions-and-division"
    assert kernel["roofline"]["excess_traffic"] == pytest.approx(1.0, abs=0.1)
    assert kernel["compiled"]["registers"] == 80
    assert not any("work." in line or "compile." in line for line in kernel["not_evaluated"])


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "Name one thing to profile"),
        ([__file__, "--", "true"], 2, "Name one thing to profile"),
        ([str(EXAMPLES / "softmax"), "--target", "sm_1"], 2, "There is no target 'sm_1'"),
        ([str(EXAMPLES), "--target", "sm_90"], 2, "There is no workload"),
        ([str(EXAMPLES / "softmax" / "softmax.ncu-repz"), "--launch-index", "7"], 2, "is 0."),
        (
            [str(EXAMPLES / "softmax" / "softmax.ncu-repz"), "--workload", str(EXAMPLES / "matmul_bf16")],
            2,
            "holds no launch of a kernel of",
        ),
    ],
)
def test_what_cannot_be_profiled(arguments, code, sentence, capsys):
    refusal(capsys, ["profile", *arguments], code, sentence)


def test_a_kernel_without_a_workload(tmp_path, capsys):
    shutil.copy(EXAMPLES / "softmax" / "softmax.py", tmp_path)
    assert cli.run(["profile", str(tmp_path / "softmax.py"), "--target", "sm_90"]) == 1
    assert "name a workload with --workload" in capsys.readouterr().err


def test_a_program_under_the_profiler(machine, capsys):
    machine.plays("good", FILL, SOFTMAX)
    assert cli.run(["profile", "--json", "--", sys.executable, "-c", "print('its own words')"]) == 0
    said = capsys.readouterr()
    profile = json.loads(said.out)
    assert [kernel["name"] for kernel in profile["kernels"]] == ["softmax_kernel"]
    assert "passes" in said.err
    assert "its own words" in said.err
