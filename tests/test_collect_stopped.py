"""Runs of ncu that are stopped, by the time limit or by the user: what was profiled is kept, no process is left."""

import os
import signal
import subprocess
import sys
import time

import pytest

from kdiag.executors.ncu.command import NcuOptions
from kdiag.executors.ncu.failures import Interrupted, TimedOut
from ncu_machine import EXAMPLES, MATMUL, SOFTMAX, ended, machine

__all__ = ["machine"]

SLEEP = "import os, pathlib, time; pathlib.Path({!r}).write_text(str(os.getpid())); time.sleep(60)"


@pytest.mark.parametrize("play", ["hang", "deaf"])
def test_the_time_limit_leaves_no_process(machine, play):
    machine.plays(play, SOFTMAX)
    pid = machine.folder / "pid"
    with pytest.raises(TimedOut) as failure:
        machine.profile(SLEEP.format(str(pid)), NcuOptions(timeout_s=2.5))
    assert f"while ncu was profiling {SOFTMAX[:29]}..." in str(failure.value)
    assert ended(int(pid.read_text()))


def test_launches_before_the_time_limit_are_kept(machine):
    machine.plays("hang", SOFTMAX, MATMUL)
    collected = machine.profile("import time; time.sleep(60)", NcuOptions(timeout_s=2.5))
    assert (collected.report, collected.launches, collected.failed_kernels) == (machine.report, 1, ())
    assert f"stopped after 2.5 s, while ncu was profiling {MATMUL[:29]}..." in collected.notes[0]


DRIVER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
from pathlib import Path
from kdiag.errors import KdiagError
from kdiag.executors.ncu.collect import profile_command
from kdiag.executors.ncu.command import NcuOptions
try:
    profile_command(sys.argv[2:], NcuOptions(), Path(sys.argv[1]), sys.stderr.write)
except KdiagError as error:
    print(error)
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("kernels", [(SOFTMAX,), (SOFTMAX, MATMUL)])
def test_an_interrupt_keeps_what_was_profiled_and_leaves_no_process(machine, kernels):
    machine.plays("hang", *kernels)
    pid = machine.folder / "pid"
    application = [sys.executable, "-c", SLEEP.format(str(pid))]
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(machine.report), *application],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "src")},
    )
    deadline = time.monotonic() + 20
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    driver.send_signal(signal.SIGINT)
    said, _ = driver.communicate(timeout=20)
    assert driver.returncode == Interrupted.exit_code == 130
    assert said.startswith("Interrupted")
    assert (str(machine.report) in said) == machine.report.exists() == (len(kernels) > 1)
    assert ended(int(pid.read_text()))
