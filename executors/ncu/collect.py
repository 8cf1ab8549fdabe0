"""Profiles a command, or one launch of a workload, with Nsight Compute."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kdiag.errors import KdiagError, UsageError
from kdiag.rules.load_metric_sets import metric_set
from kdiag.workload import Workload

from ..waiting_target import PROFILED, WaitingTarget
from .command import NcuOptions, command_line, compute_capability, find_ncu, what_to_collect
from .failures import Interrupted, NcuFailed, NcuMissing, NoKernels, ProfilerError, TimedOut
from .messages import Heard, read_messages
from .output import Collected, judge
from .process import Ended, signal_group, start, watch

WORKLOAD_S = 120.0
LOG = "ncu.log"
_NCU_LINE = re.compile(r"^==(?:PROF|WARNING|ERROR)==.*$", re.MULTILINE)


@dataclass(frozen=True)
class NoCounters:
    """Why there is no report, in one sentence that says what to do."""

    reason: str


@dataclass(frozen=True)
class Command:
    """A command, with the folder and the environment that it runs in."""

    words: Sequence[str]
    folder: Path | None
    env: Mapping[str, str]


def profile_command(
    command: Sequence[str], options: NcuOptions, report: Path, show: Callable[[str], object]
) -> Collected:
    """Run `command` under ncu and write `report` (.ncu-rep), which must not exist yet.

    What the command prints goes to `show`, piece by piece. Kernels that fail under the profiler, a command that fails
    after the first launch, and the end of the time are told in the notes of what was collected until then. Raises
    UsageError for a command or a report that cannot be, NcuMissing without ncu, and a ProfilerError when there is
    nothing; a report without a launch is removed again.
    """
    chosen = metric_set(options.set_name)
    require(command)
    by_name = not chosen.ncu_set and not chosen.sections
    what = what_to_collect(chosen, compute_capability() if by_name else None)
    with tempfile.TemporaryDirectory(prefix="kdiag-ncu-") as folder:
        started = _start(what, options, report, Command(command, None, os.environ), Path(folder) / LOG)
        return _finish(started, show)


def require(command: Sequence[str]) -> None:
    """Raises UsageError for no command that runs, NcuMissing without an ncu that can profile it."""
    if not command or shutil.which(command[0]) is None:
        raise UsageError(
            f"There is no program {command[0]!r} to profile: name a command that can be run."
            if command
            else "There is no command to profile: name one after --, as in: kdiag profile -- python script.py"
        )
    _ncu()


def _ncu() -> str:
    if (ncu := find_ncu()) is not None:
        return ncu
    raise NcuMissing(
        "Nsight Compute (ncu) is not installed: install it from https://developer.nvidia.com/nsight-compute, or go "
        "without it by timing and compiler evidence: kdiag profile WORKLOAD."
    )


def collect(workload: Workload, source: Path, kernel: str, metrics: Sequence[str], report: Path) -> Path | NoCounters:
    """Write `report` (.ncu-rep) with `metrics` of one launch of `kernel` in the first configuration, run a second time.

    The kernel is selected by name, or PyTorch's own kernels (fills, random numbers) would be profiled with it.
    """
    waiting = prepare(workload, kernel, metrics, report)
    return waiting if isinstance(waiting, NoCounters) else waiting.collect(source)


@dataclass
class Waiting:
    """A profile whose ncu has started and whose target waits; it ends with this process."""

    workload: Workload
    kernel: str
    started: "_Started"
    target: WaitingTarget

    def collect(self, source: Path) -> Path | NoCounters:
        """The report of this source; once."""
        self.target.tell(source)
        with self.target.folder:
            return _had(
                lambda: self.started,
                f"{self.workload.path.name} does not launch {self.kernel} in its first configuration",
            )


def collect_from(command: Command, kernel: str, metrics: Sequence[str], report: Path) -> Path | NoCounters:
    """The same of the second launch of `kernel` by any command, which ends with it."""
    options = NcuOptions(kernel=_exactly(kernel), launch_skip=1, launch_count=1, timeout_s=WORKLOAD_S, kill=True)
    with tempfile.TemporaryDirectory(prefix="kdiag-ncu-") as folder:
        log = Path(folder) / LOG
        return _had(
            lambda: _start(("--metrics", ",".join(metrics)), options, report, command, log),
            f"the command does not launch {kernel} twice",
        )


def prepare(workload: Workload, kernel: str, metrics: Sequence[str], report: Path) -> Waiting | NoCounters:
    """Start what `collect` runs, up to the source, so that it can be had soon."""
    once = NcuOptions(kernel=_exactly(kernel), launch_count=1, nvtx_include=(f"{PROFILED}/",), timeout_s=WORKLOAD_S)
    target = WaitingTarget.of(workload)
    command = Command(target.command, None, target.environment)
    try:
        words = "--metrics", ",".join(metrics)
        started = _start(words, once, report, command, Path(target.folder.name) / LOG)
    except KdiagError as error:
        target.folder.cleanup()
        return NoCounters(str(error))
    target.under(started.process)
    return Waiting(workload, kernel, started, target)


@dataclass(frozen=True)
class _Started:
    """An ncu that runs, and the log that it writes."""

    process: subprocess.Popen[bytes]
    log: Path
    options: NcuOptions
    report: Path


def _exactly(kernel: str) -> str:
    return f"^{re.escape(kernel)}$"


def _start(what: Sequence[str], options: NcuOptions, report: Path, command: Command, log: Path) -> _Started:
    """Check the report's place and start ncu. Raises UsageError, NcuMissing or NcuFailed."""
    ncu = _ncu()
    _check_place(report)
    words = command_line(ncu, what, options, report, log, command.words)
    try:
        return _Started(start(words, command.env, command.folder), log, options, report)
    except OSError as error:
        raise NcuFailed(f"{ncu} does not start ({error.strerror or error}): install Nsight Compute again.") from error


def _finish(started: _Started, show: Callable[[str], object]) -> Collected:
    """The one place that waits for ncu: read what it said, and judge."""
    report = started.report
    ended = watch(started.process, started.options.timeout_s, show)
    if started.options.kill:
        signal_group(started.process, signal.SIGKILL)  # of a shell line, ncu may end the shell alone
    heard = _hear(ended, started.log)
    try:
        return judge(ended, heard, started.options, report)
    except ProfilerError:
        if not heard.profiled:
            report.unlink(missing_ok=True)
        raise


def _had(start_it: Callable[[], _Started], nothing: str) -> Path | NoCounters:
    """The report of one launch; why there is none, which is `nothing` where no such launch was seen."""
    try:
        collected = _finish(start_it(), _discard)
    except Interrupted:
        raise KeyboardInterrupt from None
    except NoKernels:
        return NoCounters(f"ncu profiled nothing: {nothing}.")
    except TimedOut:
        return NoCounters(f"ncu did not end within {WORKLOAD_S:g} s.")
    except KdiagError as error:
        return NoCounters(str(error))
    if collected.report is None or collected.failed_kernels or collected.notes:
        return NoCounters(" ".join(collected.notes))
    return collected.report


def _hear(ended: Ended, log: Path) -> Heard:
    """Read the log, and ncu's lines in both streams: it complains of its own options before it opens the log."""
    said = [log.read_text(encoding="utf-8", errors="replace")] if log.is_file() else []
    said += _NCU_LINE.findall(f"{ended.stdout}\n{ended.stderr}")
    return read_messages("\n".join(said))


def _check_place(report: Path) -> None:
    if report.suffix != ".ncu-rep":
        raise UsageError(f"The report {report} needs the ending .ncu-rep, which ncu gives it.")
    if report.exists():
        raise UsageError(f"{report} exists already and is not overwritten: remove it or name another file.")
    if not report.parent.is_dir() or not os.access(report.parent, os.W_OK):
        raise UsageError(f"The report cannot be written to {report.parent}: name a folder that can be written.")


def _discard(_: str) -> None:
    """For runs whose output nobody reads."""
