"""`kdiag auto` from start to end: on a run recorded on an H200, and on a machine without a GPU."""

import json
import subprocess
import sys

import pytest

from auto_runs import RECORDINGS, auto, finished, project
from kdiag import cli, journal
from kdiag.executors.edits import registry
from kdiag.loop import candidates
from kdiag.reporters.markdown import perf_results
from kdiag.run_state import state

pytestmark = pytest.mark.compiler

SOFTMAX = ("--replay", str(RECORDINGS / "softmax.jsonl.xz"), "--budget", "9999")


@pytest.fixture(scope="module")
def softmax(tmp_path_factory):
    """The recorded softmax run: the project, and what it printed."""
    made = project(tmp_path_factory.mktemp("softmax"), "softmax")
    command = [sys.executable, "-m", "kdiag", "auto", str(made.root), "--yes", "--json", "--run-dir", str(made.run_dir)]
    done = subprocess.run([*command, *SOFTMAX], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made, json.loads(done.stdout)


def test_the_first_step_is_the_right_one(softmax):
    made, summary = softmax
    baseline, first = summary["iterations"][:2]
    assert (baseline["n"], baseline["optimization"], baseline["correctness"]) == (0, "baseline", "PASS")
    assert (first["optimization"], first["verdict"], first["correctness"]) == ("H", "keep", "PASS")
    assert summary["speedup"] >= 1.3
    assert summary["stop_reason"] == "target met: 4133 of 3960"  # as the recorded run was asked to
    waited = state(journal.read(made.run_dir / "journal.jsonl")).iterations[1].waited
    assert summary["loop_s"] > 0 < waited["trial"] < waited["compiler"]


def test_the_branch_holds_one_commit_per_kept_edit(softmax):
    made, summary = softmax
    kept = [row for row in summary["iterations"] if row["verdict"] == "keep" and row["n"] > 0]
    log = made.git("log", "--format=%s", f"HEAD..{summary['branch']}").splitlines()
    assert [line.split()[0] for line in reversed(log)] == [row["optimization"] for row in kept]
    assert made.git("diff", "--name-only", "HEAD", summary["branch"]) == "softmax.py\n"


def test_the_results_table_is_that_of_the_journal(softmax):
    made, summary = softmax
    rows = state(journal.read(made.run_dir / "journal.jsonl")).iterations
    assert made.results == perf_results(rows)
    assert [row.n for row in rows] == [row["n"] for row in summary["iterations"]]
    assert "\nFinal: 4133 GBps (93.9% of peak), 1 iterations, target met.\n" in made.log


def test_resumed_at_its_end_it_asks_for_nothing(softmax, capsys):
    made, summary = softmax
    for recording in (SOFTMAX, ()):  # also where nothing can be measured
        code, again = auto(made, capsys, "--resume", str(made.run_dir), *recording)
        assert (code, again["speedup"], again["stop_reason"][:11]) == (0, summary["speedup"], "target met:")
    assert not (made.run_dir / "patches").exists()


@pytest.fixture
def two_edits(monkeypatch):
    """Few enough to need no limit of time, which a busy machine would reach before the first of them."""

    def propose(subject, file_name):
        proposals = registry.propose(subject, file_name)
        return tuple(each for each in proposals if each.variant.name in {"exp2", "occupancy=8"})

    monkeypatch.setattr(candidates, "propose", propose)


@pytest.mark.usefixtures("two_edits")
def test_without_a_gpu_candidates_are_compiled_patches(tmp_path, capsys):
    made = project(tmp_path, "softmax")
    before = made.fingerprint()
    summary = finished(made, capsys)
    assert summary["gpu"] is None
    assert summary["speedup"] is None
    ready = [row for row in summary["iterations"] if row["verdict"] == "ready"]
    assert {row["optimization"] for row in ready} == {"H", "hints"}
    assert {row["latency_ms"] for row in ready} == {None}
    patches = sorted((made.run_dir / "patches").iterdir())
    assert len(patches) == len(ready)
    for patch in patches:
        made.git("apply", "--check", str(patch))
    assert cli.run(["auto", "--resume", str(made.run_dir), "--yes"]) == 0
    said = capsys.readouterr()
    assert (f"{len(ready)} candidates compiled and wait as patches" in said.out, "  1  ready" in said.err) == (
        True,
        False,
    )
    assert "H: 1 ready for a GPU" in said.out
    assert sorted((made.run_dir / "patches").iterdir()) == patches
    assert made.fingerprint() == before


@pytest.mark.usefixtures("two_edits")
def test_without_a_gpu_what_waits_for_a_word_is_named_and_a_wrong_kernel_is_refused(tmp_path, capsys, notes):
    made = project(tmp_path, "softmax")
    workload = made.root / "workload.py"
    workload.write_text(workload.read_text().replace("def tolerance", "def _tolerance"))
    assert [row["optimization"] for row in finished(made, capsys)["iterations"]] == ["hints"]
    assert notes[-1].startswith("not tried: H: it changes rounding")
    workload.write_text(workload.read_text().replace("return torch.softmax(", "return torch.log_softmax("))
    code, answer = auto(made, capsys, "--run-dir", str(tmp_path / "wrong"))
    assert (code, "The unedited kernel is wrong on the CPU in" in answer["stderr"]) == (1, True)


@pytest.mark.usefixtures("two_edits")
def test_exact_forbids_edits_that_change_rounding(tmp_path, capsys):
    made = project(tmp_path, "softmax")
    summary = finished(made, capsys, "--exact")
    assert summary["iterations"]
    assert not {row["optimization"] for row in summary["iterations"]} & {"D", "H"}
