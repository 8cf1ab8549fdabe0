"""A project's own test and benchmark commands: failures seen, the edited file run, parent and candidate in turn."""

import shlex
import signal
import sys
from dataclasses import replace

import pytest

from command_lines import program
from kdiag.diagnose.report.read import read_launches
from kdiag.executors.command_bench import CommandBench, plain, timings_of
from kdiag.executors.command_output import Measured
from kdiag.isolate import Died
from kdiag.records import Gpu
from kdiag.workload import CommandWorkload
from ncu_machine import FILL, SOFTMAX, ended, machine

__all__ = ["machine"]


def bench(folder, test, measure, timeout_s=30.0):
    target = folder / "kernel.py"
    python = (sys.executable, "-c")
    return CommandBench(
        CommandWorkload(folder / "kdiag.toml", target, (*python, test), (*python, measure)),
        folder,
        target,
        None,
        ("gpu__time_duration.sum",),
        lambda report, kernel: read_launches(report, f"^{kernel}$")[0].observations,
        timeout_s,
    )


# The "kernel" is a file that holds its own latency in ms.
MEASURE = "import json; print(json.dumps({'latency_ms': float(open('kernel.py').read()), 'configuration': 'n'}))"
# Several configurations on a machine that is slower with every run.
DRIFTING = """
import json, os
runs = os.path.exists("runs") and os.path.getsize("runs")
open("runs", "a").write(".")
for name, ms in enumerate(eval(open("kernel.py").read())):
    print(json.dumps({"latency_ms": ms * (1 + DRIFT) ** runs, "configuration": str(name)}))
"""
TEST = "float(open('kernel.py').read())"


@pytest.fixture
def sources(tmp_path):
    for name, ms in (("parent", "2.0"), ("candidate", "1.0")):
        (tmp_path / name).write_text(ms)
    return tmp_path / "parent", tmp_path / "candidate"


# Speed-up by configuration, how far the machine's clock drifts from run to run, and how many rounds are measured.
@pytest.mark.parametrize(
    ("speedups", "drift", "rounds"),
    [
        ((2.0,), 0.0, 3),
        ((2.0, 0.9), 0.0, 2),
        ((1.2, 0.99), 0.0, 3),
        ((1.2, 0.97), 0.0, 6),
        ((1.06, 0.99), 0.01, 6),
        ((0.97,), 0.0, 6),
        ((1.04,), 0.0, 6),
    ],
)
def test_a_candidate_is_measured_until_it_is_plain_what_to_think_of_it(tmp_path, sources, speedups, drift, rounds):
    sources[0].write_text(str([1.0] * len(speedups)))
    sources[1].write_text(str([1 / speedup for speedup in speedups]))
    answer = bench(tmp_path, "pass", DRIFTING.replace("DRIFT", str(drift))).trial(*sources)
    assert {timing.samples for timing in answer.timings} == {rounds}
    assert [timing.speedup for timing in answer.timings] == pytest.approx(speedups, rel=1e-3)


def test_what_is_no_slower_than_its_parent_at_times_is_not_hopeless():
    runs = [
        {"a": Measured(a), "b": Measured(b)} for a, b in ((1.0, 1.0), (1.27, 0.3), (1.2, 1.0), (1.27, 0.3), (1.2, 1.0))
    ]
    assert not plain(timings_of(runs))


def test_the_counters_are_those_of_a_launch_by_the_benchmark(machine, tmp_path, sources):
    machine.plays("good", FILL, SOFTMAX, SOFTMAX, SOFTMAX)
    ncu = machine.folder / "bin" / "ncu"
    ncu.write_text(ncu.read_text().replace("exec", "sleep 60 & echo $! > pid\nexec"))  # as a shell line may leave
    commands = bench(tmp_path, "pass", f"assert {TEST} == 1.0; import time; time.sleep(60)")
    program(tmp_path / "bench.sh", f"exec {shlex.join(commands.workload.bench)}")
    commands = replace(commands, workload=replace(commands.workload, bench=("./bench.sh",)))
    found = commands.counters(sources[1], "softmax_kernel")
    assert found.observations
    assert ended(int((tmp_path / "pid").read_text()))
    machine.plays("good", SOFTMAX)
    missing = bench(tmp_path, "pass", "pass").counters(sources[1], "softmax_kernel")
    assert "does not launch softmax_kernel twice" in missing.message
    assert missing.message.endswith("with --report")
    machine.plays("good", SOFTMAX, SOFTMAX)
    (tmp_path / "recorded.ncu-rep").write_bytes(b"NVR\0")
    damaged = commands.counters(sources[1], "softmax_kernel")
    assert "is cut off or damaged" in damaged.message


@pytest.fixture
def interruptible():
    """As in a terminal: a shell has its background jobs ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_one_though_the_command_ends_meanwhile(tmp_path, sources):
    commands = bench(
        tmp_path, "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(0.1)", MEASURE
    )
    with pytest.raises(KeyboardInterrupt):
        commands.trial(*sources)


def test_a_failing_test_means_no_timing(tmp_path, sources):
    answer = bench(tmp_path, "raise SystemExit('wrong result')", MEASURE).trial(*sources)
    assert (answer.passed, answer.timings) == (False, ())
    assert "wrong result" in answer.checks[0].reason


def test_a_baseline(tmp_path, sources, monkeypatch):
    monkeypatch.setattr("kdiag.executors.command_bench.copy_bandwidth", lambda: Died("error", "out of memory"))
    answer = replace(bench(tmp_path, TEST, MEASURE), card=Gpu("NVIDIA H200", "9.0", 132)).baseline(sources[0])
    assert (answer.copy_gbs, answer.copy_unknown) == (None, "out of memory")
    assert [(row.configuration, row.ms) for row in answer.configurations] == [("n", 2.0)]
    assert (tmp_path / "kernel.py").read_text() == "2.0"


@pytest.mark.parametrize(
    ("test", "measure", "which"),
    [("pass", MEASURE, "the test command"), ("TEST", MEASURE.replace("kernel.py", "parent"), "the benchmark command")],
)
def test_commands_that_run_another_copy_of_the_kernel_are_refused(tmp_path, sources, test, measure, which):
    answer = bench(tmp_path, test.replace("TEST", TEST), measure).baseline(sources[0])
    assert answer.message.startswith(f"{which} runs another copy of {tmp_path / 'kernel.py'}")
    assert (tmp_path / "kernel.py").read_text() == "2.0"


def test_tests_that_were_all_skipped_did_not_pass(tmp_path, sources):
    (tmp_path / "test_it.py").write_text("import pytest\n\ndef test_it(): pytest.skip('no backend')\n")
    skips = bench(tmp_path, "import pytest; raise SystemExit(pytest.main(['-q', 'test_it.py']))", MEASURE)
    answer = skips.baseline(sources[0])
    assert (answer.passed, answer.checks[0].reason) == (False, "no test passed: all were skipped: no backend")


@pytest.mark.parametrize(
    ("measure", "kind", "message"),
    [
        ("print('nothing')", "error", "printed no latency"),
        ("raise SystemExit(3)", "error", "exit code 3"),
        ("import time; time.sleep(60)", "timeout", "did not end within"),
    ],
)
def test_a_benchmark_that_gives_no_figure(tmp_path, sources, measure, kind, message):
    answer = bench(tmp_path, TEST, measure, timeout_s=2.0).baseline(sources[0])
    assert (answer.kind, message in answer.message) == (kind, True)
