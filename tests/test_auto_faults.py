"""Whatever a candidate or the machine does, `kdiag auto` ends with the right verdict or one clear sentence."""

import errno
from threading import current_thread
from unittest.mock import Mock

import pytest

pytest.importorskip("torch")

import faulty_device
from auto_runs import auto, finished
from kdiag.executors import device_jobs
from kdiag.executors.device_bench import DeviceBench
from kdiag.executors.edits import registry
from kdiag.isolate import Died
from kdiag.loop import candidates, setup
from kdiag.loop.ahead import Ahead
from kdiag.loop.emulator import Emulator
from kdiag.records import Gpu
from kdiag.workload import Workload
from test_killed import end_of, made_in, start


@pytest.fixture
def device(monkeypatch):
    """A card that exists by name alone, whose jobs are those of `faulty_device`."""
    card = Gpu("stand-in", "9.0", 132)
    monkeypatch.setattr(registry, "EDITS", (faulty_device.LineAdded(faulty_device.FAULTS),))
    monkeypatch.setattr(setup, "probe_gpu", lambda: card)
    monkeypatch.setattr(device_jobs, "baseline", faulty_device.baseline)
    monkeypatch.setattr(device_jobs, "trial", faulty_device.trial)
    monkeypatch.setattr(DeviceBench, "counters", lambda *_: Died("error", "no counters here"))
    monkeypatch.setattr(
        setup,
        "_bench",
        lambda plan, _: DeviceBench(
            Workload(plan.workload.path, plan.workload.kernel_file, False),
            card,
            (),
            lambda _path, _kernel: {},
            timeout_s=4,
        ),
    )


@pytest.mark.usefixtures("device")
def test_each_fault_of_a_candidate_is_its_own_and_the_next_one_runs(tmp_path, capsys, monkeypatch):
    made, propose = made_in(tmp_path), Mock(side_effect=registry.propose)
    before = made.fingerprint()
    monkeypatch.setattr(candidates, "propose", propose)
    threads, emulate = [], Emulator.emulate  # also where cores are idle, and plans are made before they are asked for
    monkeypatch.setattr(setup, "Ahead", lambda _: Ahead(2))
    monkeypatch.setattr(Emulator, "emulate", lambda *asked: threads.append(current_thread()) or emulate(*asked))
    summary = finished(made, capsys)
    assert propose.call_count == 2  # once for each source: making proposals takes longer than all else
    assert any(thread.name.startswith("ahead") for thread in threads)
    rows = {row["variant"]: row for row in summary["iterations"] if row["n"] > 0}
    crashes = {
        "segfault": "SIGSEGV",
        "hang": "no answer within 4 s",
        "address": "illegal memory access",
        "memory": "out of memory",
        "exit": "exit code 3",
    }
    for name, why in crashes.items():
        assert rows[name]["verdict"] == "crash"
        assert why in rows[name]["reason"]
    assert (rows["nan"]["verdict"], rows["nan"]["correctness"]) == ("revert", "FAIL")
    assert (rows["faster"]["verdict"], len(rows)) == ("keep", 7)
    end = end_of(made)
    assert [name for name in faulty_device.FAULTS if f"# {name}\n" in end.source] == ["faster"]
    assert made.fingerprint() == before


@pytest.mark.parametrize("disk", [200, 3000, 7000])
def test_a_full_disk_is_said_and_costs_nothing(tmp_path, disk):
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


@pytest.mark.usefixtures("device")
def test_what_stops_a_run_is_one_sentence(tmp_path, capsys, monkeypatch):
    made = made_in(tmp_path)
    before = made.fingerprint()

    def said(*options, expected=1):
        code, answer = auto(made, capsys, *options)
        assert (code, made.fingerprint()) == (expected, before), answer
        (sentence,) = (line for line in answer["stderr"].splitlines() if line.startswith("kdiag: "))
        return str(sentence)

    assert "/proc/kdiag" in said("--run-dir", "/proc/kdiag")  # where nobody may write
    assert "There is no journal at" in said("--resume", str(made.root), expected=2)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("PATH", str(made.root))
        assert "git was not found; install it" in said()
    with monkeypatch.context() as full:
        full.setattr(DeviceBench, "trial", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        assert "No space left" in said("--run-dir", str(tmp_path / "full"))
        assert made.git("-C", str(tmp_path / "full" / "worktree"), "status", "--porcelain") == ""
        full.setattr(DeviceBench, "trial", Mock(side_effect=KeyboardInterrupt))
        code, answer = auto(made, capsys, "--run-dir", str(tmp_path / "full 2"))
        assert code == 130
        assert f"to go on: kdiag auto --resume '{tmp_path}/full 2' --yes" in answer["stderr"]
    assert auto(made, capsys)[0] == 0
    journal = made.run_dir / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"event": "iteration"', b"", 1))
    assert "Line 2 of" in said("--resume", str(made.run_dir))
