"""`kdiag auto` killed with SIGKILL at any point and resumed ends as if nothing had happened."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from auto_runs import project
from kdiag import isolate, journal, run_state
from kdiag.isolate import Died
from killed_runs import Attempt, run_auto

TEST = "grep -q @ct.kernel softmax.py"  # as every command that runs the kernel, it fails without one
BENCH = (
    f"""{TEST} || exit; grep -q '# faster' softmax.py && echo '{{"latency_ms": 0.7}}' || echo '{{"latency_ms": 1.0}}'"""
)
COMMANDS = f"kernel = 'softmax.py'\n[test]\ncommand = '{TEST}'\n[bench]\ncommand = '''{BENCH}'''\n"
POINTS = (
    "git branch 1",  # nothing is there yet
    "git worktree 1",
    "torn journal.jsonl 1",
    "synced journal.jsonl 1",
    "git cat-file 1",
    f"bash {TEST} 1",  # the tests of the unedited kernel
    f"bash {BENCH} 1",  # a file that is no Python is in the worktree
    "torn journal.jsonl 2",
    "rename perf_results.md 1",
    "open softmax.py 7",  # half of the candidate may be in the worktree
    f"bash {BENCH} 5",  # the first candidate is being measured
    "git commit 1",
    "git rev-parse 8",  # committed, and not in the journal
    "git checkout 2",
    "torn journal.jsonl 4",
    "synced journal.jsonl 4",  # in the journal, and not in the table
    "torn perf_results.md 2",
    "rename perf_results.md 2",
    "git checkout 3",
    "torn journal.jsonl 13",  # what the last check found
    f"bash {BENCH} 13",  # the last comparison
    "torn journal.jsonl 14",
)


@dataclass(frozen=True)
class End:
    """What is left of a run, but for times and hashes of commits."""

    rows: list
    source: str
    commits: str
    table: str
    reason: str
    sandbox: list[str]


def start(made, *options, kill=None, log=None, disk=None):
    where = ("--resume", str(made.run_dir)) if options == ("--resume",) else ("--run-dir", str(made.run_dir))
    arguments = ("auto", str(made.root), "--yes", "--json", "--budget", "9999", *where)
    return isolate.run(run_auto, Attempt(arguments, log, kill, disk), timeout_s=120)


def made_in(folder):
    made = project(folder, "softmax")
    (made.root / "kdiag.toml").write_text(COMMANDS)
    made.commit()
    (made.root / "notes.txt").write_text("the user's own, not in git\n")
    return made


def end_of(made):
    events = journal.read(made.run_dir / "journal.jsonl")
    begin = events[0]
    rows = run_state.state(events).iterations
    kept = [row.commit for row in rows if row.commit is not None]
    assert made.git("rev-list", "--reverse", f"HEAD..{begin.branch}").split() == kept
    assert made.git("branch", "--list", "cutile-perf-*").split()[-1] == begin.branch
    assert made.git("-C", begin.worktree, "status", "--porcelain") == ""
    return End(
        rows=[(row.n, row.variant, row.verdict, row.correctness, row.latency_ms, row.reason) for row in rows],
        source=made.git("show", f"{begin.branch}:softmax.py"),
        commits=made.git("log", "--format=%s%n%b", f"HEAD..{begin.branch}"),
        table=made.results,
        reason=[event.reason for event in events if isinstance(event, journal.Stop)][-1],
        sandbox=sorted(path.name for path in (made.run_dir / "worktree" / "sandbox").iterdir()),
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """How the run ends, and every event of it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    made = made_in(folder)
    assert start(made, log=folder / "events") == 0
    end = end_of(made)
    assert [row[1:3] for row in end.rows] == [
        ("", "keep"),
        ("faster", "keep"),
        ("same", "inconclusive"),
        ("similar", "inconclusive"),
    ]
    return end, (folder / "events").read_text().splitlines()


def killed_and_resumed(folder, point):
    made = made_in(folder)
    before = made.fingerprint()
    died = start(made, kill=point)
    assert isinstance(died, Died), f"{point} did not come"
    assert "SIGKILL" in died.message
    assert made.fingerprint() == before
    begun = (made.run_dir / "journal.jsonl").exists()
    answer = start(made, "--resume") if begun else start(made)
    assert answer == 0, answer
    assert made.fingerprint() == before
    return end_of(made)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.replace(BENCH, "bench").replace(TEST, "test"))
def test_a_run_killed_here_ends_like_one_that_was_not(tmp_path, undisturbed, point):
    assert killed_and_resumed(tmp_path, point) == undisturbed[0]


@pytest.mark.parametrize("lines", [1, 4])
def test_a_run_that_nobody_reads_stops_and_resumes(tmp_path, undisturbed, lines):
    made = made_in(tmp_path)
    code = """if True:
        import sys
        from kdiag import interrupts
        from killed_runs import Attempt, run_auto
        interrupts.listen()
        sys.exit(run_auto(Attempt(tuple(sys.argv[1:]))))"""
    words = [sys.executable, "-c", code, "auto", made.root, "--yes", "--budget", "9999", "--run-dir", made.run_dir]
    paths = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
    run = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert all(run.stdout.readline() for _ in range(lines))
    run.stdout.close()
    assert run.wait(60) == 141
    assert made.journal[-1]["event"] == ("start" if lines == 1 else "stop")
    assert start(made, "--resume") == 0
    assert end_of(made) == undisturbed[0]


@pytest.mark.slow
def test_a_run_killed_anywhere_ends_like_one_that_was_not(tmp_path, undisturbed):
    end, events = undisturbed
    assert len(events) > 80
    for number, point in enumerate(events):
        assert killed_and_resumed(tmp_path / str(number), point) == end, point
