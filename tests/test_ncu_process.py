"""A command is read to its end and never blocked; test_collect_stopped.py has how it is stopped."""

import os
import sys
import time

import pytest

from kdiag.executors.ncu import process as ncu_process
from kdiag.executors.ncu.process import Ended, start, watch


def python(code, timeout_s=20.0, shown=None):
    show = (shown if shown is not None else []).append
    return watch(start([sys.executable, "-c", code], os.environ), timeout_s, show)


def test_both_streams_are_kept_apart_and_shown():
    shown = []
    ended = python("import sys; print('é', flush=True); print('bad', file=sys.stderr); sys.exit(3)", shown=shown)
    assert ended == Ended(3, "é\n", "bad\n")
    assert sorted("".join(shown).splitlines()) == ["bad", "é"]


def test_much_output_does_not_block_and_only_its_end_is_kept():
    ended = python("import sys; sys.stderr.write('x' * 3_000_000); sys.stderr.write('end')")
    assert ended.exit_code == 0
    assert len(ended.stderr) == ncu_process.KEEP
    assert ended.stderr.endswith("xend")


def test_bytes_that_are_no_text_are_replaced():
    assert python(r"import os; os.write(1, b'\xff\xc3')").stdout == "\ufffd\ufffd"


def test_the_input_is_empty():
    assert python("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"


def test_something_in_the_background_does_not_keep_the_run_open():
    code = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(5)']).pid)"
    start = time.monotonic()
    ended = python(code)
    assert time.monotonic() - start < 4
    os.kill(int(ended.stdout), 9)


def test_a_program_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        start(["/no/such/program"], os.environ)
