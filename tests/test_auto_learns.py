"""The loop on a bench of known figures: its predictions support causes or refute them."""

import pytest

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.compiler

from auto_runs import auto, project  # noqa: E402 - after the skip
from text_bench import TextBench  # noqa: E402


def halved(text):
    return 50.0 if "exp2" in text else 100.0


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Runs the softmax on a bench until two iterations in a row gain nothing; rows and trees of its journal."""

    def on(bench):
        monkeypatch.setattr("kdiag.loop.setup._bench", lambda *_: bench)
        made = project(tmp_path, "softmax")
        code, summary = auto(made, capsys, "--policy", "tilegym", "--budget", "9999")
        assert code == 0, summary
        rows = [entry["iteration"] for entry in made.journal if entry["event"] == "iteration"]
        return rows[1:], [entry["state"] for entry in made.journal if entry["event"] == "tree"]

    return on


def test_a_cause_whose_treatment_gained_is_supported(run):
    rows, trees = run(TextBench(lambda text: 0.5 if "exp2" in text else 1.0, halved))
    assert (rows[0]["optimization"], rows[0]["verdict"]) == ("H", "keep")
    assert rows[0]["prediction"]["conclusion"] == "supported"
    assert trees[-1]["refuted"] == []


def test_a_cause_whose_treatment_worked_and_gained_nothing_is_refuted(run):
    rows, trees = run(TextBench(lambda _: 1.0, halved))
    learnt = rows[0]["prediction"]
    assert (rows[0]["optimization"], learnt["outcome"], learnt["conclusion"]) == ("H", "confirmed", "refuted")
    assert "instructions 100 -> 50" in learnt["text"]
    assert trees[-1]["refuted"] == [learnt["cause"]]
