"""Wrong edits never survive: every planted one is reverted, on the GPU and in the recorded run."""

from pathlib import Path

import pytest

pytest.importorskip("cuda.tile")

import planted
from auto_runs import RECORDINGS, auto, project
from kdiag.executors.device_bench import probe_gpu

RECORDING = RECORDINGS / "planted.jsonl.xz"


def check_that_all_are_reverted(made, answer):
    code, summary = answer
    assert code == 0, summary
    rows = {row["variant"]: row for row in summary["iterations"] if row["n"] > 0}
    assert set(rows) == set(planted.WRONG)
    assert {row["verdict"] for row in rows.values()} == {"revert"}
    assert {row["correctness"] for row in rows.values()} == {"FAIL"}
    assert made.git("rev-parse", "HEAD") == made.git("rev-parse", str(summary["branch"]))
    worktree = made.run_dir / "worktree" / "softmax.py"
    assert worktree.read_bytes() == (made.root / "softmax.py").read_bytes()


def eager(monkeypatch):
    """Propose only the planted edits, and try them whatever the plan expects of them."""
    monkeypatch.setattr("kdiag.loop.candidates.propose", planted.propose)
    monkeypatch.setattr("kdiag.loop.strategy.WORTH_TRYING", 0.0)


@pytest.mark.compiler
def test_planted_edits_are_reverted_in_the_recorded_run(tmp_path, capsys, monkeypatch):
    eager(monkeypatch)
    made = project(tmp_path, "softmax")
    check_that_all_are_reverted(made, auto(made, capsys, "--replay", str(RECORDING), "--budget", "9999"))


@pytest.mark.gpu
def test_planted_edits_are_reverted_on_the_gpu(tmp_path, capsys, monkeypatch, request):
    assert probe_gpu() is not None, "this test needs a CUDA GPU"
    eager(monkeypatch)
    made = project(tmp_path, "softmax")
    record = request.config.getoption("--record-runs")
    options = ("--record", str(Path(record) / RECORDING.name)) if record else ()
    check_that_all_are_reverted(made, auto(made, capsys, "--budget", "9999", *options))
