"""Runs of ncu, played by a stand-in that is really run: what is kept, what is said, and what is left behind."""

import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from command_lines import program
from kdiag.diagnose.report.read import read_launches
from kdiag.errors import UsageError
from kdiag.executors.ncu import collect as collecting
from kdiag.executors.ncu import output as ncu_output
from kdiag.executors.ncu.collect import collect, prepare, profile_command
from kdiag.executors.ncu.command import NcuOptions
from kdiag.executors.ncu.failures import (
    ApplicationFailed,
    CountersBusy,
    DiskFull,
    NcuFailed,
    NcuMissing,
    NoKernels,
    NoPermission,
    NotSupported,
    UnknownCounters,
)
from kdiag.executors.ncu.output import Collected
from kdiag.workload import Workload
from ncu_machine import FILL, MATMUL, SOFTMAX, ended, machine

__all__ = ["machine"]


def test_a_good_run(machine):
    machine.plays("good", FILL, SOFTMAX, SOFTMAX, SOFTMAX)
    code = "import sys; print('its output'); print('its warning', file=sys.stderr)"
    collected = machine.profile(code, NcuOptions(kernel="^softmax_kernel$", launch_skip=1))
    assert collected == Collected(machine.report, launches=2, passes=18)
    assert read_launches(machine.report)[0].name == "softmax_kernel"
    assert sorted("".join(machine.shown).splitlines()) == ["its output", "its warning"]


@pytest.mark.parametrize("name", ["minimal", "sections", "full"])
def test_every_set_has_arguments_that_ncu_takes(machine, name):
    machine.plays("good", SOFTMAX)
    options = NcuOptions(name, "softmax", 0, 1, ("range/",))
    assert machine.profile(options=options).report == machine.report


def test_a_report_is_never_overwritten(machine):
    machine.plays("good", SOFTMAX)
    machine.report.write_text("precious")
    with pytest.raises(UsageError, match="exists already"):
        machine.profile()
    assert machine.report.read_text() == "precious"


def test_places_and_commands_that_cannot_be(machine):
    machine.plays("good", SOFTMAX)
    run = [sys.executable, "-c", ""]
    for report in (machine.folder / "no" / "such.ncu-rep", machine.folder / "out.csv"):
        with pytest.raises(UsageError):
            profile_command(run, NcuOptions(), report, print)
    for command in ([], ["no-such-program"]):
        with pytest.raises(UsageError):
            profile_command(command, NcuOptions(), machine.report, print)


def test_without_ncu(machine, monkeypatch):
    monkeypatch.setattr(collecting, "find_ncu", lambda: None)
    with pytest.raises(NcuMissing, match="install it"):
        machine.profile()


def test_a_command_that_fails(machine):
    machine.plays("good")
    code = "import sys; print('starting'); sys.exit('ValueError: no such file')"
    with pytest.raises(ApplicationFailed) as failure:
        machine.profile(code)
    assert "exit code 1 (ValueError: no such file)" in str(failure.value)
    assert not machine.report.exists()


def test_a_command_that_fails_after_its_launches(machine):
    machine.plays("good", SOFTMAX)
    collected = machine.profile("import sys; sys.exit('AssertionError: wrong')")
    assert (collected.report, collected.application_exit) == (machine.report, 1)
    assert "exit code 1 (AssertionError: wrong)" in collected.notes[0]
    assert "1 launch)" in collected.notes[0]


def test_a_kernel_that_fails_under_the_profiler(machine):
    machine.plays("launch-failed", SOFTMAX, MATMUL)
    collected = machine.profile("import time; time.sleep(30)")
    assert collected.failed_kernels == (f"{MATMUL[:29]}...",)
    assert (collected.report, collected.launches, collected.application_exit) == (machine.report, 1, 9)
    assert "LaunchFailed" in collected.notes[0]
    assert "num_ctas=2" in collected.notes[0]
    assert "timing and compiler evidence" in collected.notes[0]


def test_the_only_kernel_fails_under_the_profiler(machine):
    machine.plays("launch-failed", MATMUL)
    collected = machine.profile()
    assert (collected.launches, collected.failed_kernels) == (0, (f"{MATMUL[:29]}...",))
    machine.report.unlink()
    machine.plays("unknown-error", MATMUL)
    collected = machine.profile()
    assert (collected.report, collected.failed_kernels) == (None, (f"{MATMUL[:29]}...",))
    assert "UnknownError" in collected.notes[0]


def test_a_filter_that_matches_nothing_names_what_was_there(machine):
    machine.plays("good", FILL, SOFTMAX, SOFTMAX)
    with pytest.raises(NoKernels) as failure:
        machine.profile(options=NcuOptions(kernel="sotfmax"))
    assert f"launches {FILL}, {SOFTMAX}: correct --kernel" in str(failure.value)
    with pytest.raises(NoKernels, match="skip fewer than 5"):
        machine.profile(options=NcuOptions(kernel="softmax", launch_skip=5))
    machine.plays("good")
    with pytest.raises(NoKernels, match="no kernel on the GPU"):
        machine.profile()
    assert not machine.report.exists()


@pytest.mark.parametrize(
    ("play", "error", "says"),
    [
        ("permission", NoPermission, "NVreg_RestrictProfilingToAdminUsers=0"),
        ("unsupported", NotSupported, "Profiling is not supported on device 0"),
        ("driver", NotSupported, "LibraryNotLoaded"),
        ("busy", CountersBusy, "dcgmi profile --pause"),
        ("lock", CountersBusy, "TMPDIR"),
        ("no-counter", UnknownCounters, "gpu__time_duration.sum"),
        ("no-report", NcuFailed, "profiled 1 launch and wrote no report"),
    ],
)
def test_obstacles_are_told_apart(machine, play, error, says):
    machine.plays(play, SOFTMAX)
    with pytest.raises(error) as failure:
        machine.profile()
    message = str(failure.value)
    assert type(failure.value) is error
    assert failure.value.exit_code == 1
    assert says in message
    assert message.endswith(".")
    assert "\n" not in message
    assert not machine.report.exists()


def test_a_full_disk(machine, monkeypatch):
    machine.plays("no-report", SOFTMAX)
    monkeypatch.setattr(ncu_output.shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    with pytest.raises(DiskFull, match="free some space"):
        machine.profile()


def test_an_option_that_ncu_does_not_know(machine, monkeypatch):
    machine.plays("good", SOFTMAX)
    monkeypatch.setattr(collecting, "what_to_collect", lambda *_: ("--no-such-option",))
    with pytest.raises(NcuFailed, match="unrecognised option '--no-such-option'"):
        machine.profile()


def test_what_the_command_prints_is_not_taken_for_ncu(machine):
    machine.plays("good", SOFTMAX)
    collected = machine.profile("print('LaunchFailed ERR_NVGPUCTRPERM No space left on device')")
    assert collected == Collected(machine.report, launches=1, passes=18)


def workload(folder):
    """A workload that is none: the stand-in runs the command and plays the kernels whatever it does."""
    (folder / "workload.py").write_text("")
    return Workload(folder / "workload.py", folder / "kernel.py", declares_tolerance=False)


def test_one_launch_of_a_workload(machine, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/true")
    machine.plays("good", FILL, "softmax_kernel_tail_Kt1", SOFTMAX, SOFTMAX, SOFTMAX)
    described = workload(machine.folder)
    answer = collect(described, Path("k.py"), "softmax_kernel", ("gpu__time_duration.sum",), machine.report)
    assert answer == machine.report


@pytest.mark.parametrize(
    ("play", "kernels", "says"),
    [
        ("good", (FILL,), "does not launch softmax_kernel"),
        ("permission", (SOFTMAX, SOFTMAX), "ERR_NVGPUCTRPERM"),
        ("launch-failed", (SOFTMAX, SOFTMAX), "num_ctas=2"),
    ],
)
def test_a_workload_without_counters(machine, monkeypatch, play, kernels, says):
    monkeypatch.setattr(sys, "executable", "/bin/true")
    machine.plays(play, *kernels)
    answer = collect(workload(machine.folder), Path("k.py"), "softmax_kernel", ("a",), machine.report)
    assert says in answer.reason


def test_a_profile_that_waits_is_told_its_source_and_ends_with_whoever_started_it(machine, monkeypatch):
    waits = program(machine.folder / "waits", f"dd if=$4 of={machine.folder}/told bs=4096 count=1")
    monkeypatch.setattr(sys, "executable", str(waits))
    machine.plays("good", SOFTMAX, SOFTMAX)
    waiting = prepare(workload(machine.folder), "softmax_kernel", ("a",), machine.report)
    forgotten = prepare(workload(machine.folder), "softmax_kernel", ("a",), machine.folder / "other.ncu-rep")
    pid = forgotten.started.process.pid
    del forgotten
    assert ended(pid)
    assert not machine.report.exists()
    assert waiting.collect(Path("k.py")) == machine.report
    assert (machine.folder / "told").read_text() == str(Path("k.py").absolute())


def test_a_target_that_nobody_tells_anything_ends(tmp_path):
    pytest.importorskip("torch")
    from kdiag.executors.ncu.profile_target import told

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SystemExit, match="nobody asks"):
        told(pipe)
    writer = os.open(pipe, os.O_RDWR)
    later = threading.Timer(0.1, os.write, (writer, b"/a/kernel.py"))
    later.start()
    assert (told(pipe), told(tmp_path)) == (Path("/a/kernel.py"), tmp_path)
    gone = threading.Timer(0.1, os.close, (writer,))
    gone.start()
    with pytest.raises(SystemExit, match="nobody asks"):
        told(pipe)
