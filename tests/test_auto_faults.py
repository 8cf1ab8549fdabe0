"""Whatever a candidate or the machine does, `kdiag auto` ends with the right verdict or one clear sentence."""

import errno
import signal
from dataclasses import replace
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
from kdiag.loop import candidates, setup, strategy
from kdiag.loop.ahead import Ahead
from kdiag.loop.emulator import Emulator
from kdiag.records import Gpu, Variant
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


@pytest.fixture
def hearing():
    """Ctrl-C is heard, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
    assert auto(made, capsys)[0] == 0
    journal = made.run_dir / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"event": "iteration"', b"", 1))
    assert "Line 2 of" in said("--resume", str(made.run_dir))
    target = made.root / "softmax.py"
    target.write_text(target.read_text() + "#")
    before = made.fingerprint()
    assert "softmax.py has changes that are not committed" in said("--run-dir", str(tmp_path / "dirty"))


@pytest.mark.usefixtures("device")
def test_what_somebody_wrote_meanwhile_is_not_lost(tmp_path, capsys):
    made = made_in(tmp_path)
    assert auto(made, capsys)[0] == 0
    target = made.run_dir / "worktree" / "softmax.py"
    mine = f"{target.read_text()}# mine\n"
    target.write_text(mine)
    assert [auto(made, capsys, "--resume", str(made.run_dir))[0] for _ in range(2)] == [0, 0]
    (copy,) = made.run_dir.glob("yours-*")
    assert copy.read_text() == mine
    code, answer = auto(made, capsys, "--resume", str(made.run_dir), "--record", str(target))
    assert (code, "exists; remove it" in answer["stderr"]) == (2, True)


@pytest.mark.usefixtures("device")
def test_a_run_that_is_stopped_while_it_is_set_up_says_how_to_go_on(tmp_path, capsys, monkeypatch, notes):
    made = made_in(tmp_path)
    with monkeypatch.context() as stopped:
        stopped.setattr(setup.worktrees, "create", Mock(side_effect=KeyboardInterrupt))
        assert auto(made, capsys)[0] == 130
    assert notes == [f"to go on: kdiag auto --resume {made.run_dir} --yes"]
    assert auto(made, capsys, "--resume", str(made.run_dir))[0] == 0


WHY = "a enables b."


def as_pair(suggestion):
    made = Variant("H+B", f"{suggestion.variant}+b")
    proposal = replace(suggestion.proposal, variant=made)
    return replace(suggestion, optimization="H+B", variant=made.name, explanation=WHY, proposal=proposal)


@pytest.mark.usefixtures("device", "hearing")
def test_what_was_decided_before_an_interrupt_is_left_with_the_reason_for_a_pair(tmp_path, capsys, monkeypatch):
    made, trial, notes = replace(made_in(tmp_path), run_dir=tmp_path / "run 2"), DeviceBench.trial, []
    (made.root / "softmax.py").chmod(0o444)
    before = made.fingerprint()

    def interrupted(bench, parent, candidate):
        if "# exit\n" in candidate.read_text():
            signal.raise_signal(signal.SIGINT)
        return trial(bench, parent, candidate)

    monkeypatch.setattr(registry, "EDITS", (faulty_device.LineAdded(("nan", "faster", "exit")),))
    monkeypatch.setattr(strategy, "with_pairs", lambda plan, *_: tuple(as_pair(each) for each in plan if each.proposal))
    monkeypatch.setattr(DeviceBench, "trial", interrupted)
    monkeypatch.setattr(setup.Terminal, "on_note", lambda _, text: notes.append(text))
    code, answer = auto(made, capsys, "--budget", "9999")
    assert (code, made.fingerprint()) == (130, before), answer
    assert "0.500000 ms, 2.00x of the baseline; at most 100.0% left to gain\n" in answer["stderr"]
    assert (made.root / "softmax.py").stat().st_mode & 0o777 == 0o444
    assert notes[-1].endswith(f"holds the best version; to go on: kdiag auto --resume '{made.run_dir}' --yes")
    rows = [event["iteration"] for event in made.journal if event["event"] == "iteration"]
    told = [(row["variant"], row["verdict"], row["paired"]) for row in rows]
    assert told == [("", "keep", ""), ("nan+b", "revert", WHY), ("faster+b", "keep", WHY)]
    end = end_of(made)
    assert (end.reason, made.journal[-1]["event"]) == ("interrupted by the user", "stop")
    assert "# faster\n" in end.source
    assert (made.run_dir / "worktree" / "softmax.py").read_text() == end.source
    assert f"\n\n{WHY}\n\n" in end.commits
    assert {f"H+B {name}+b was tried as one: {WHY}" for name in ("nan", "faster")} <= set(notes)
    (unsampled,) = (note for note in notes if note.startswith("no sampled counters, so compile evidence alone checks"))
    assert {"event": "note", "text": unsampled} in made.journal
