"""Whatever a candidate or the machine does, `kdiag auto` ends with the right verdict or one clear sentence."""

import os
from pathlib import Path

import pytest

pytest.importorskip("torch")

import faulty_device
from auto_runs import Project, auto
from kdiag.executors import device_jobs
from kdiag.executors.device_bench import DeviceBench
from kdiag.executors.edits import registry
from kdiag.isolate import Died
from kdiag.loop import setup
from kdiag.records import Gpu, Observations
from line_added import LineAdded
from test_killed import end_of, made_in, start


def no_report(_: Path, kernel: str) -> Observations:
    raise AssertionError(f"{kernel} is not profiled")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card that exists by name alone, whose jobs are those of `faulty_device`."""
    card = Gpu("stand-in", "9.0", 132)
    monkeypatch.setattr(registry, "EDITS", (LineAdded(faulty_device.FAULTS),))
    monkeypatch.setattr(setup, "probe_gpu", lambda: card)
    monkeypatch.setattr(device_jobs, "baseline", faulty_device.baseline)
    monkeypatch.setattr(device_jobs, "trial", faulty_device.trial)
    monkeypatch.setattr(DeviceBench, "counters", lambda *_: Died("error", "no counters here"))
    monkeypatch.setattr(
        setup, "_bench", lambda plan, _: DeviceBench(plan.workload, card, (), no_report, timeout_s=4)
    )


@pytest.mark.usefixtures("device")
def test_each_fault_of_a_candidate_is_its_own_and_the_next_one_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = made_in(tmp_path)
    before = made.fingerprint()
    code, summary = auto(made, capsys, "--budget", "9999")
    assert code == 0, summary
    rows = {
        row["variant"]: (row["verdict"], row["correctness"], row["reason"]) for row in summary["iterations"]
    }
    assert {name: row[:2] for name, row in rows.items() if name} == {
        "segfault": ("crash", "-"),
        "hang": ("crash", "-"),
        "address": ("crash", "-"),
        "memory": ("crash", "-"),
        "exit": ("crash", "-"),
        "nan": ("revert", "FAIL"),
        "faster": ("keep", "PASS"),
    }
    for name, why in (
        ("segfault", "SIGSEGV"),
        ("hang", "no answer within 4 s"),
        ("address", "illegal memory access"),
        ("memory", "out of memory"),
        ("exit", "exit code 3"),
        ("nan", "nan where"),
    ):
        assert why in rows[name][2]
    end = end_of(made)
    assert faulty_device.FAULTS["faster"] in end.source
    assert not [
        line for name, line in faulty_device.FAULTS.items() if name != "faster" and line in end.source
    ]
    assert made.fingerprint() == before


@pytest.mark.parametrize("disk", [200, 3000, 7000])
def test_a_full_disk_is_said_and_costs_nothing(tmp_path: Path, disk: int) -> None:
    undisturbed, made = made_in(tmp_path / "undisturbed"), made_in(tmp_path / "full")
    assert start(undisturbed) == 0
    before = made.fingerprint()
    answer = start(made, disk=disk)
    assert answer == 1
    assert made.fingerprint() == before
    if begun := (made.run_dir / "journal.jsonl").exists():
        assert made.git("-C", str(made.run_dir / "worktree"), "status", "--porcelain") == ""
    assert (start(made, "--resume") if begun else start(made)) == 0
    assert end_of(made) == end_of(undisturbed)


@pytest.mark.parametrize(
    ("fault", "code", "sentence"),
    [
        ("no git", 1, "git was not found; install it"),
        ("damaged journal", 1, "Line 2 of"),
        ("no journal", 1, "There is no journal at"),
        ("run directory is a file", 1, "File exists"),
        ("run directory cannot be written", 1, "/proc/kdiag"),
        ("another workload", 2, "resume it with that workload"),
    ],
)
def test_what_stops_a_run_is_one_sentence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    device: None,
    fault: str,
    code: int,
    sentence: str,
) -> None:
    monkeypatch.setattr(registry, "EDITS", (LineAdded({"faster": faulty_device.FAULTS["faster"]}),))
    made = made_in(tmp_path)
    before = made.fingerprint()
    options = options_for(made, fault, monkeypatch, capsys)
    answered, answer = auto(made, capsys, *options)
    assert (answered, sentence in answer["stderr"], answer["stderr"].count("\n")) == (code, True, 1), answer
    monkeypatch.undo()
    assert made.fingerprint() == before


def options_for(
    made: Project, fault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[str, ...]:
    """Bring the fault about; what the command line says besides."""
    resume = ("--resume", str(made.run_dir))
    if fault == "no git":
        monkeypatch.setenv("PATH", str(made.root))
        return ()
    if fault == "run directory is a file":
        made.run_dir.write_text("")
        return ()
    if fault == "run directory cannot be written":
        return ("--run-dir", "/proc/kdiag")
    if fault == "no journal":
        return resume
    assert auto(made, capsys)[0] == 0
    lines = (made.run_dir / "journal.jsonl").read_bytes().splitlines(keepends=True)
    if fault == "damaged journal":
        lines[1] = lines[1][: len(lines[1]) // 2] + b"\n"
    else:
        lines[0] = lines[0].replace(os.fsencode(made.root), b"/another")
    (made.run_dir / "journal.jsonl").write_bytes(b"".join(lines))
    return resume
