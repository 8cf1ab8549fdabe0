"""Runs a job in a fresh child process with a time limit, forked from a server that has torch loaded already.

A kernel candidate can hang the compiler, die of a signal or leave a broken CUDA context. None of that may reach
the run, so every compilation and every measurement is a child of its own. Python's fork server makes that cheap:
`import torch` takes seconds and is paid once; a child then starts in a few milliseconds. The server never touches
CUDA, so the fork is safe.
"""

import atexit
import contextlib
import math
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar

from . import interrupts
from .errors import KdiagError

Request = TypeVar("Request")
Answer = TypeVar("Answer")

LOG = "output.log"
OURS = f"{Path(__file__).parent}{os.sep}"
BLAS_THREADS = "OPENBLAS_NUM_THREADS"  # read when NumPy is imported
# torch imports _dynamo for the first arithmetic on a meta tensor, 1.5 s in every child if not here once. Then the jobs.
PRELOAD = (
    "numpy",
    "torch",
    "torch._dynamo",
    "cuda.tile",
    "libcst",
    "kdiag.workload",
    "kdiag.diagnose.compiler.job",
    "kdiag.executors.device_jobs",
    "kdiag.executors.emulator.case_run",
)


@dataclass(frozen=True)
class Died:
    """A child that did not answer. `message` is one line; `output` what it printed, at most 8 kB."""

    kind: Literal["error", "crash", "timeout"]
    message: str
    output: str = ""

    @property
    def raised_at(self) -> str:
        """The last place, " (file.py:7)", that a traceback in the output names outside kdiag and what is installed.

        "" if there is none, or the message names it.
        """
        found = re.findall(r'^  File "([^"]+)", line (\d+)', self.output, re.MULTILINE)
        places = [each for each in found if "site-packages" not in each[0] and not each[0].startswith(OURS)]
        name, line = (Path(places[-1][0]).name, places[-1][1]) if places else ("", "")
        return f" ({name}:{line})" if name and f"({name}, line {line})" not in self.message else ""


# Variables that the children of this thread get besides, such as the GPU that they are to see.
environment: ContextVar[Mapping[str, str]] = ContextVar("environment", default=MappingProxyType({}))
# When what this thread starts has to have ended (`time.monotonic()`), whatever time it is given besides.
_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)
# Set when nobody wants what this thread starts any more.
over: ContextVar[threading.Event | None] = ContextVar("over", default=None)
_starting = threading.Lock()
_live: set[multiprocessing.process.BaseProcess] = set()


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([name for name in PRELOAD if find_spec(name.partition(".")[0])])
    atexit.register(end_server)
    return context


def end_server() -> None:
    """Or it would import for seconds after an interrupt, while threads wait for it to start a child."""
    server: Any = forkserver._forkserver  # nothing public stops it
    if (pid := server._forkserver_pid) is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        if server._forkserver_alive_fd is not None:  # it is where a second signal came in the middle of this
            server._stop()


def warm_up() -> None:
    """Start the server once, before several threads ask for children at the same time."""
    _context()
    resource_tracker.ensure_running()  # it lifts the block that the server is to be born with
    # Children run beside each other: BLAS threads that wait for a core spin (40 times slower on two busy cores).
    with _starting:
        ours = BLAS_THREADS not in os.environ
        os.environ.setdefault(BLAS_THREADS, "1")
        # The server would die of an interrupt while it imports, with a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if ours:
            del os.environ[BLAS_THREADS]  # programs that kdiag starts otherwise are not concerned


@contextlib.contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """Everything that this thread starts meanwhile ends in these seconds, together, or is killed."""
    token = _deadline.set(min(_deadline.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def time_left(timeout_s: float) -> float:
    """The seconds for something that may take `timeout_s`: these, or what is left of them."""
    return max(0.0, min(timeout_s, _deadline.get() - time.monotonic()))


def run(job: Callable[[Request], Answer], request: Request, *, timeout_s: float) -> Answer | Died:
    """Return `job(request)` as computed in a child, or how the child died.

    `job` is a module-level function; request and answer are picklable. The child leads a process group of its
    own, and the whole group is killed at the time limit, so a compiler it started dies with it. Raises KdiagError once
    the thread's work is `over`, KeyboardInterrupt if the user has stopped kdiag.
    """
    interrupts.check()
    if (ended := over.get()) is not None and ended.is_set():
        raise KdiagError("Nobody waits for this any more.")
    warm_up()
    context = _context()
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="kdiag-", ignore_cleanup_errors=True) as folder:
        variables = {**environment.get(), "TMPDIR": folder}
        child = context.Process(target=_serve, args=(job, request, sender, variables), daemon=False)
        child.start()
        sender.close()
        _live.add(child)
        try:
            interrupts.check()  # nobody could kill the child while it was started
            answer: _Answered[Answer] | Died | None = _receive(receiver, time_left(timeout_s))
        finally:
            _end(child)
            _live.discard(child)
            receiver.close()
        output = _tail(Path(folder) / LOG)
    if isinstance(answer, _Answered):
        return answer.value
    if isinstance(answer, Died):
        return Died(answer.kind, answer.message, output)
    code = child.exitcode or 0
    reason = f"killed by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
    return Died("crash", f"{_first_error_line(output) or job.__qualname__} ({reason})", output)


def run_all(
    job: Callable[[Request], Answer], requests: Sequence[Request], *, at_once: int, timeout_s: float
) -> tuple[Answer | Died, ...]:
    """`run` for each request, in their order, up to `at_once` children beside each other."""
    return together(lambda request: run(job, request, timeout_s=timeout_s), requests, at_once=at_once)


def together(call: Callable[[Request], Answer], items: Sequence[Request], *, at_once: int) -> tuple[Answer, ...]:
    """`call(item)` for each item, in their order, up to `at_once` in threads that know this one's deadline and GPU.

    An interrupt kills every child there is.
    """
    warm_up()
    pool = ThreadPoolExecutor(max(1, at_once))
    try:
        futures = [pool.submit(copy_context().run, call, item) for item in items]
        return tuple(future.result() for future in futures)
    except KeyboardInterrupt:
        kill_all(server=True)  # or the threads would wait for their children to the end
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def kill_all(*, server: bool = False) -> None:
    """Kill every child there is, so that threads waiting for one go on; for an interrupted run the server as well."""
    for child in tuple(_live):
        _kill(child)
    if server:
        end_server()


def finish(over: threading.Event, futures: Sequence[Future[Any]]) -> None:
    """End jobs of threads that have this event; one job may start several children."""
    over.set()
    while not all(each.done() for each in futures):
        kill_all()
        time.sleep(0.02)


def signal_name(number: int) -> str:
    """The name of a signal; real-time signals have none."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


@dataclass(frozen=True)
class _Answered(Generic[Answer]):
    value: Answer


def _receive(receiver: Connection, timeout_s: float) -> _Answered[Answer] | Died | None:
    if not receiver.poll(timeout_s):
        return Died("timeout", f"no answer within {timeout_s:.3g} s")
    try:
        answer: _Answered[Answer] | Died = receiver.recv()
    except EOFError:
        return None
    return answer


def _end(child: multiprocessing.process.BaseProcess) -> None:
    child.join(0.2)
    _kill(child)
    child.join()


def _kill(child: multiprocessing.process.BaseProcess) -> None:
    """Kill the child's whole group; the child alone where it has not come to leading one yet."""
    if child.pid is None:
        return
    with contextlib.suppress(PermissionError):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            child.kill()


def _serve(
    job: Callable[[Request], Answer], request: Request, sender: Connection, variables: Mapping[str, str]
) -> None:
    os.setpgid(0, 0)
    # What the child and its compilers leave behind when they are killed goes with the folder.
    os.environ.update(variables)
    folder = tempfile.tempdir = variables["TMPDIR"]
    try:
        descriptor = os.open(Path(folder) / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except FileNotFoundError:
        os._exit(1)  # kdiag was interrupted while it started this child
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # what the child starts may need it
    sys.dont_write_bytecode = True
    try:
        sender.send(_Answered(job(request)))
    except BaseException as error:  # noqa: BLE001 - the one place where a child's failure becomes a record
        traceback.print_exc()
        kind = "" if isinstance(error, KdiagError) else f"{type(error).__name__}: "
        sender.send(Died("error", kind + _first_line(str(error))))
    finally:
        sender.close()
        sys.stdout.flush()
        sys.stderr.flush()


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-8192:] if log.is_file() else ""


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _first_error_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
