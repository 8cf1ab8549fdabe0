"""The command line: exit codes, one sentence for what is foreseen, a log for what is not, and a quick start."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from auto_runs import RECORDINGS
from bundled import EXAMPLES
from command_lines import python, refusal
from kdiag import __main__, cli, interrupts, isolate
from kdiag.diagnose.report.read import read_launches
from kdiag.errors import KdiagError

SOFTMAX = str(EXAMPLES / "softmax")
README, RECORDING = str(EXAMPLES.parent / "README.md"), str(RECORDINGS / "softmax.jsonl.xz")
KERNEL, REPORT = f"{SOFTMAX}/softmax.py", f"{SOFTMAX}/softmax.ncu-repz"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["auto", SOFTMAX], 2, "--yes"),
        (["auto", SOFTMAX, "--target-pct-of-peak", "900"], 2, "900.0 is not in the range"),
        (["auto", SOFTMAX, "--target-value", "5"], 2, "add --target-metric gbps or tflops"),
        (["auto", SOFTMAX, "--budget", "nan"], 2, "nan is not a finite number"),
        (["auto", README, "--yes"], 2, "is not valid Python"),
        (["auto", SOFTMAX, "--yes", "--record", KERNEL], 1, "torch finds none here"),
        (["auto", SOFTMAX, "--yes", "--replay", RECORDING, "--record", KERNEL], 2, "exclude each other"),
        (["auto", str(EXAMPLES / "vector_add"), "--yes", "--replay", RECORDING], 2, "not of this kernel file as it is"),
        (["plan", KERNEL, "--race"], 1, "needs a GPU"),
        (["plan", KERNEL, "--kernel", "other"], 2, "softmax_kernel"),
        (["plan", KERNEL, "--exact", "--allow-rounding"], 2, "contradict"),
        (["plan", KERNEL, "--run", str(EXAMPLES)], 2, "add --brief FILE"),
        (["plan", KERNEL, "--run", str(EXAMPLES), "--brief", "b.md"], 2, "no journal at"),
        (["plan", KERNEL, "--brief", KERNEL], 2, "name a .md or .json file"),
        (["plan", KERNEL, "--brief", "/nope/x"], 2, "The folder /nope does not exist; create it"),
        (["history", "--export", "/nope/x/y.csv"], 2, "The folder /nope/x does not exist; create it"),
        (["history", "--export", os.devnull], 2, "not a regular file"),
        (["rules", "graph", "-o", str(EXAMPLES)], 2, "is a folder; name a file in it"),
        (["auto", SOFTMAX, "--report", __file__], 1, "not an Nsight Compute report"),
        (["profile", __file__], 2, "no function decorated with @ct.kernel and no KERNEL_FILE"),
        (["emulate", __file__], 2, "no function decorated with @ct.kernel and no KERNEL_FILE"),
        (["nonsense"], 2, "No such command"),
        *(
            ([*words.split(), "gone.py"], 2, "'gone.py' does not exist")
            for words in (
                "profile",
                f"profile {KERNEL} --workload",
                "plan",
                f"plan {KERNEL} --report",
                f"plan {KERNEL} --run",
                "apply",
                f"apply {KERNEL} H --workload",
                "verify",
                f"verify {KERNEL}",
                "emulate",
                f"emulate {KERNEL} --workload",
                "auto",
                "auto --resume",
                f"auto {KERNEL} --replay",
                f"auto {KERNEL} --report",
                "rules check",
            )
        ),
        (["auto", str(EXAMPLES), "--yes"], 2, f"There is no workload at {EXAMPLES / 'workload.py'}"),
    ],
)
def test_what_is_foreseen_is_one_sentence(arguments, code, sentence, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115, PTH123 - closed with the test process
    refusal(capsys, arguments, code, sentence)
    assert not Path("/nope").exists()


def test_a_bug_leaves_a_log(capsys, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("kdiag.diagnose.profile.read_launches", broken)
    assert cli.run(["profile", REPORT]) == 70
    log = Path(capsys.readouterr().err.split()[-1])
    assert "ZeroDivisionError" in log.read_text()
    log.unlink()


@pytest.mark.parametrize("then", [Mock(side_effect=KdiagError("half imported, as if not installed")), read_launches])
def test_an_interrupt_that_a_package_swallowed_is_one(capsys, monkeypatch, then):
    def interrupted(*asked):
        with contextlib.suppress(KeyboardInterrupt):
            interrupts.stop(signal.SIGTERM, None)
        with pytest.raises(KeyboardInterrupt):
            isolate.run(int, "3", timeout_s=1)
        return then(*asked)

    monkeypatch.setattr("kdiag.diagnose.profile.read_launches", interrupted)
    assert cli.run(["profile", REPORT]) == 130
    assert capsys.readouterr().err == "kdiag: interrupted\n"


def test_an_interrupt_outside_a_command_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(cli, "main", Mock(side_effect=KeyboardInterrupt))
    monkeypatch.setattr(signal, "signal", Mock())
    with pytest.raises(SystemExit, match="130"):
        __main__.main()
    assert capsys.readouterr().err == "kdiag: interrupted\n"


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("explain", "A"),
        ("doctor",),
        ("rules", "graph", "--dot"),
        ("profile", REPORT),
        ("profile", REPORT, "--json"),
        ("apply", KERNEL, "H"),
    ],
)
def test_output_that_nobody_reads_is_no_failure(words):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as unread:
        done = subprocess.run(
            [sys.executable, "-m", "kdiag", *words], stdout=unread, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_another_broken_pipe_is_not_taken_for_the_output():
    code = """if True:
        import os
        from kdiag import interrupts
        interrupts.listen()
        reader, writer = os.pipe()
        os.close(reader)
        try:
            os.write(writer, b"x")
        except BrokenPipeError:
            print("went on", interrupts.received)"""
    done = python(code)
    assert done.stdout == "went on []\n"


def test_what_nohup_ignores_stays_ignored_and_what_python_drops_is_not_told():
    code = """if True:
        import signal
        from kdiag import cli, interrupts
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        cli.main()
        type("Finalized", (), {"__del__": lambda _: interrupts.stop(2, None)})()
        print([signal.getsignal(n) for n in (signal.SIGHUP, signal.SIGTERM)] == [signal.SIG_IGN, interrupts.stop])"""
    done = python(code, "--version")
    assert (done.stdout.splitlines()[-1], done.stderr) == ("True", "")


def test_help_imports_nothing_heavy():
    code = "import sys; from kdiag import cli; cli.run(['--help']); print(*sys.modules)"
    done = python(code)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"numpy", "pandas", "networkx", "libcst", "torch", "ncu_report", "rich"}


def test_the_links_to_the_top_folders_resolve():
    package = Path(cli.__file__).parent
    for name in ("diagnose", "planner", "executors", "rules", "references"):
        assert (package / name).is_symlink()
        assert (package / name).readlink() == Path("../..") / name
        assert (package / name / "__init__.py").is_file()
