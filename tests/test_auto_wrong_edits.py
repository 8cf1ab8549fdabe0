"""Wrong edits never survive: every planted one is reverted, on the GPU and in the recorded run."""

from pathlib import Path

import pytest

pytest.importorskip("cuda.tile")

from auto_runs import RECORDINGS, finished, project
from kdiag.executors.device_bench import probe_gpu
from kdiag.loop.strategy import Strategy
from kdiag.records import Proposal, Variant

RECORDING = RECORDINGS / "planted.jsonl.xz"
STORE = "ct.scatter(y, (row, columns), ct.astype(result, y.dtype), check_bounds=True)"
WRONG = {
    "drops-tail": (
        STORE,
        "ct.scatter(y, (row, columns), ct.astype(result, y.dtype), mask=columns < y.shape[1] // TILE * TILE)",
    ),
    "writes-zeros": (STORE, STORE.replace("result,", "result * 0.0,")),
    "skips-half": (STORE, STORE.replace("(row, columns)", "(row // 2, columns)")),
    "pads-with-zero": ('padding_value=-float("inf")', "padding_value=0.0"),
    "wrong-scale": ("ct.exp(values - largest)", "ct.exp2(values - largest)"),
    "wrong-row": ("(row, columns), check_bounds=True, padding", "(row ^ 1, columns), check_bounds=True, padding"),
}


def propose(subject, _file):
    """The wrong edits as proposals of H, in the form of `kdiag.executors.edits.registry.propose`."""
    made = {name: subject.source.replace(*change) for name, change in WRONG.items() if change[0] in subject.source}
    return tuple(
        Proposal(Variant("H", name), f"planted: {name}", "changes-rounding", source, None, None)
        for name, source in made.items()
    )


def check_that_all_are_reverted(made, summary):
    rows = {row["variant"]: row for row in summary["iterations"] if row["n"] > 0}
    assert set(rows) == set(WRONG)
    assert {row["verdict"] for row in rows.values()} == {"revert"}
    assert {row["correctness"] for row in rows.values()} == {"FAIL"}
    assert made.git("rev-parse", "HEAD") == made.git("rev-parse", str(summary["branch"]))
    worktree = made.run_dir / "worktree" / "softmax.py"
    assert worktree.read_bytes() == (made.root / "softmax.py").read_bytes()


def eager(monkeypatch):
    """Propose only the planted edits, and try them whatever the plan expects of them."""
    monkeypatch.setattr("kdiag.loop.candidates.propose", propose)
    monkeypatch.setattr(Strategy, "_worth", lambda *_: True)


@pytest.mark.compiler
def test_planted_edits_are_reverted_in_the_recorded_run(tmp_path, capsys, monkeypatch):
    eager(monkeypatch)
    made = project(tmp_path, "softmax")
    check_that_all_are_reverted(made, finished(made, capsys, "--replay", str(RECORDING)))


@pytest.mark.gpu
def test_planted_edits_are_reverted_on_the_gpu(tmp_path, capsys, monkeypatch, request):
    assert probe_gpu() is not None, "this test needs a CUDA GPU"
    eager(monkeypatch)
    made = project(tmp_path, "softmax")
    record = request.config.getoption("--record-runs")
    options = ("--record", str(Path(record) / RECORDING.name)) if record else ()
    check_that_all_are_reverted(made, finished(made, capsys, *options))
