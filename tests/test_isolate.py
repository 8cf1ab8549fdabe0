"""Jobs in child processes: answers, failures, signals, time limits, and nothing left running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kdiag import isolate
from kdiag.errors import WorkloadError
from kdiag.isolate import Died

SRC = Path(__file__).parents[1] / "src"
ORPHAN = "isolate._context().Process(target=isolate._serve, args=(int, '', None, {'TMPDIR': '/gone'})).start() or 3"


def double(value):
    return 2 * value


def complain(_):
    raise WorkloadError("The workload is wrong.")


def divide(_):
    return 1 // 0


def die(number):
    sys.stdout.write("fatal error: the compiler broke\n")
    os.kill(os.getpid(), number)
    return 0


def sleep_below(_):
    subprocess.run(["sleep", "987654"], check=False)
    return 0


class SlowToArrive:
    """Takes two seconds to be unpickled, before the child leads a group of its own."""

    def __reduce__(self):
        return time.sleep, (2,)


def gpu(_):
    return os.environ.get("CUDA_VISIBLE_DEVICES", "")


def test_children_beside_each_other_see_the_chosen_gpu_and_end_at_the_deadline():
    token = isolate.environment.set({"CUDA_VISIBLE_DEVICES": "7"})
    try:
        assert isolate.run_all(gpu, [0, 1], at_once=2, timeout_s=60) == ("7", "7")
        with isolate.ending_within(0.5):
            answers = isolate.run_all(sleep_below, [0, 1], at_once=2, timeout_s=60)
    finally:
        isolate.environment.reset(token)
    assert [each.kind for each in answers if isinstance(each, Died)] == ["timeout", "timeout"]


@pytest.mark.parametrize(("loads", "then"), [(0.5, "isolate.run(int, '3', timeout_s=60)"), (60, "3"), (0, ORPHAN)])
def test_a_server_that_loads_outlives_an_interrupt_but_not_kdiag(tmp_path, loads, then):
    (tmp_path / "slow.py").write_text(f"import time; open('begun', 'w'); time.sleep({loads})")
    code = f"""if True:
        import os, signal, time
        from kdiag import isolate
        signal.signal(signal.SIGINT, lambda *_: None)
        isolate.PRELOAD = ("slow",)
        isolate.warm_up()
        while not os.path.exists("begun"):
            time.sleep(0.01)
        os.killpg(0, signal.SIGINT)
        print({then})"""
    environment = {**os.environ, "PYTHONPATH": f"{SRC}:{tmp_path}"}
    asked = {"cwd": tmp_path, "env": environment, "start_new_session": True, "timeout": 30}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, **asked)
    assert (done.stdout, done.stderr) == (b"3\n", b"")


def test_a_child_that_has_hardly_begun_when_the_time_is_over_ends():
    isolate.run(double, 0, timeout_s=60)  # the server is there
    began = time.monotonic()
    answer = isolate.run(time.sleep, SlowToArrive(), timeout_s=0)
    assert isinstance(answer, Died)
    assert time.monotonic() - began < 1.5


def test_a_foreseen_failure_keeps_its_sentence_and_another_its_type():
    foreseen, bug = isolate.run(complain, 0, timeout_s=60), isolate.run(divide, 0, timeout_s=60)
    assert (foreseen.kind, foreseen.message) == ("error", "The workload is wrong.")
    assert bug.message.startswith("ZeroDivisionError: ")
    assert "Traceback" in bug.output


def test_a_child_killed_by_a_signal_is_a_crash_with_its_first_error_line():
    answer = isolate.run(die, int(signal.SIGSEGV), timeout_s=60)
    assert (answer.kind, answer.message) == ("crash", "fatal error: the compiler broke (killed by SIGSEGV)")


def test_the_time_limit_ends_the_child_and_all_that_it_started():
    isolate.run(double, 1, timeout_s=60)
    started = time.monotonic()
    with isolate.ending_within(0.5), isolate.ending_within(600):  # the first to end counts, and counts until it has
        answer = isolate.run(sleep_below, 0, timeout_s=60)
    assert isolate.time_left(60) == 60
    assert answer.kind == "timeout"
    assert time.monotonic() - started < 10
    assert not subprocess.run(["pgrep", "-f", "sleep 987654"], capture_output=True, check=False).stdout
