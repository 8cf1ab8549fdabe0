"""The last checks: a second measurement, what compute-sanitizer prints, and which version a run ends with in a repository."""

from dataclasses import replace
from pathlib import Path
from time import sleep
from unittest.mock import Mock

import pytest

from checkouts import KERNEL, opened
from command_lines import program
from kdiag import isolate
from kdiag.executors import repo, worktrees
from kdiag.executors.bench import Trial
from kdiag.executors.ncu.process import Ended
from kdiag.executors.sanitizer import Memcheck, judge
from kdiag.isolate import Died
from kdiag.journal import IterationDone
from kdiag.loop.attempt import Arena, Parent, Raced, attempt
from kdiag.loop.baseline import trial_of_best
from kdiag.loop.compiler import Compiler
from kdiag.loop.emulator import Emulator
from kdiag.loop.last_check import last_check
from kdiag.records import CompileFailure, ConfigurationTiming, GateRecord, Iteration, Proposal, Variant
from kdiag.rules.load_policies import load
from kdiag.run_state import state
from kdiag.workload import Workload
from test_journal import START
from verdict_cases import RIGHT, timing

FOUND = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at softmax_kernel_K1+0x160
=========     by thread (33,0,0) in block (5,0,0)
=========         Host Frame: cuLaunchKernelEx [0x3a1b2c] in libcuda.so.1
========= Program hit cudaErrorLaunchFailure (error 719) on CUDA API call to cudaDeviceSynchronize.
========= ERROR SUMMARY: 2 errors
"""
READ = "Invalid __global__ read of size 4 bytes at softmax_kernel_K1+0x160 (2 in all)"
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


@pytest.mark.parametrize(
    ("ended", "log", "outcome", "reason"),
    [
        (Ended(1, "", ""), FOUND, "failed", READ),
        (Ended(0, "", ""), CLEAN, "passed", "no access outside"),
        (Ended(1, "", "ImportError: no torch"), CLEAN, "could-not-run", "ImportError: no torch"),
        (Ended(0, "", ""), "", "could-not-run", "no output"),
        (Ended(-2, "", "", "timeout"), CLEAN, "could-not-run", "no end within 60 s"),
    ],
)
def test_what_the_tool_says(ended, log, outcome, reason):
    record = judge(ended, log)
    assert record.outcome == outcome
    assert reason in record.reason


def test_without_the_tool_nothing_is_proved(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "not installed" in Memcheck(Workload(Path("w.py"), Path("k.py"), True))(Path("edited.py")).reason


def test_it_waits_for_its_source_on_the_gpu_that_measures(tmp_path, monkeypatch):
    waits = 'case "$*" in *"--launch-timeout 0 "*) ;; *) exit 1 ;; esac'  # the tool gives up after 60 s otherwise
    told = f"dd if=${{13}} of={tmp_path}/told bs=4096 count=1; echo '=== ERROR SUMMARY: 0 errors' > $8"
    says = f"{waits}; echo $CUDA_VISIBLE_DEVICES ${{14}} >> {tmp_path}/started; {told}"
    tool = program(tmp_path / "compute-sanitizer", says)
    monkeypatch.setattr("shutil.which", lambda _: str(tool))
    memcheck = Memcheck(Workload(Path("w.py"), Path("k.py"), True))
    token = isolate.environment.set({"CUDA_VISIBLE_DEVICES": "3"})
    memcheck.get_ready()
    isolate.environment.reset(token)
    for name in ("a.py", "b.py"):
        assert memcheck(Path(name)).outcome == "passed"
        assert (tmp_path / "told").read_text() == str(Path(name).absolute())
    assert (tmp_path / "started").read_text().split() == ["3", "smallest", "smallest"]


UNEDITED, FIRST, SECOND = KERNEL, "X = 1\n", "X = 2\n"


@pytest.fixture
def arena(checkout, tmp_path):
    compiler = Compiler(None, "kernel.py", "sm_90", tmp_path / "candidates")
    return Arena(opened(checkout), Emulator(compiler), "kernel", object(), load("adaptive"))


@pytest.mark.parametrize(
    ("bad", "best", "verdicts", "last"),
    [
        ([], SECOND, "keep keep", "memcheck of iteration 2: passed: read"),
        ([FIRST], SECOND, "keep keep", "memcheck of iteration 2: passed: read"),
        ([SECOND], FIRST, "keep revert", "the run ends with edit 1, the last version that passes"),
        ([FIRST, SECOND], UNEDITED, "revert revert", "the run ends with baseline, the last version that passes"),
        ([UNEDITED, FIRST, SECOND], SECOND, "keep keep", "the unedited kernel does it as well: read"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("killed_after", [None, 0, 1, 2])
def test_a_run_ends_with_a_version_that_passes(arena, bad, best, verdicts, last, killed_after):
    def check(path):
        return GateRecord("memcheck", "failed" if path.read_text() in bad else "passed", "read")

    arena = replace(arena, memcheck=check)
    rows, notes = [Iteration(0, "baseline", "", "baseline", "PASS", 1.1, None, "keep", "")], []
    for n, source in enumerate((FIRST, SECOND), 1):
        repo.write(arena.worktree, source)
        commit = repo.commit(arena.worktree, f"edit {n}")
        rows.append(Iteration(n, "H", str(n), f"edit {n}", "PASS", 1.0, 1.1, "keep", "faster", commit=commit))
    source, changed = last_check(arena, UNEDITED, rows, notes.append)
    assert notes[-1].endswith(last)
    if killed_after is not None:
        killed = state([START, *map(IterationDone, [*rows, *changed[:killed_after]])])
        worktrees.reopen(arena.worktree, killed.best_commit)
        rows = list(killed.iterations)
        source, changed = last_check(arena, UNEDITED, rows, notes.append)
    assert source == best
    resumed = state([START, *map(IterationDone, [*rows, *changed])])
    assert all(len(row.gates) == (row.n > 0) for row in changed)
    assert " ".join(row.verdict for row in resumed.iterations[1:]) == verdicts
    worktrees.reopen(arena.worktree, resumed.best_commit)
    assert repo.current_source(arena.worktree) == best


@pytest.mark.parametrize(
    ("spent", "verdict", "why"),
    [(599.95, "inconclusive", "not confirmed: no answer, when"), (0.0, "crash", "no answer")],
)
def test_a_confirmation_for_which_no_time_is_left_is_no_crash(arena, spent, verdict, why):
    small, bench = Trial((RIGHT,), (timing(1.03),)), Mock()
    late = Died("timeout", "no answer")
    bench.trial.side_effect = lambda *_: small if bench.trial.call_count == 1 else sleep(isolate.time_left(0.2)) or late
    proposal = Proposal(Variant("H", "exp2"), "exp2", "safe", FIRST, None, None)
    parent = Parent(UNEDITED, CompileFailure("unavailable", "no compiler"))
    row = attempt(1, proposal, parent, replace(arena, bench=bench), Raced(spent))
    assert (row.verdict, row.speedup is not None) == (verdict, verdict == "inconclusive")
    assert row.reason.startswith(why)


def test_the_trial_of_the_only_edit_is_the_last_comparison():
    timing = (ConfigurationTiming("a", 2.0, 1.0, 2.0, 1.9, 2.1, 0.01, 50),)
    start, kept, lost = (
        Iteration(n, "H", str(n), "", "PASS", 1.0, 2.0, verdict, "", timings=timing)
        for n, verdict in enumerate(("keep", "keep", "revert"))
    )
    assert trial_of_best([start, kept, lost], first=1) == timing
    assert trial_of_best([start, kept, lost], first=2) == (), "another process took them, on another card perhaps"
    assert trial_of_best([start, kept, replace(kept, n=3)], first=1) == (), "the second edit's parent was the first"
