"""Asks compute-sanitizer whether a version of a kernel accesses memory outside its arrays, in one small launch."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kdiag.records import GateRecord
from kdiag.workload import Workload

from .ncu.process import Ended, start, watch
from .waiting_target import WaitingTarget

GATE = "memcheck"
TIMEOUT_S, SEARCH_S = 60.0, 20.0  # it takes 10 s beside what it launches of what a kernel searches
SEARCHED = "launched {} of {} configurations"  # what is watched prints, if its kernel searches
TOOLKIT = "/usr/local/cuda/bin/compute-sanitizer"
_SAID, _AT = re.compile(r"^=+ (?!Program hit|Error)(\S.*)$"), re.compile(r"^=+ {2,}at (\S.*)$")
_SEARCHED = re.compile(SEARCHED.format(r"\d+", r"\d+"))
_SUMMARY = re.compile(r"^=+ ERROR SUMMARY: (\d+) error", re.MULTILINE)


def unavailable(_: Path) -> GateRecord:
    """For runs without a Python workload or a GPU of their own."""
    return GateRecord(GATE, "could-not-run", "it needs a Python workload and a GPU, not a recording")


@dataclass
class Memcheck:
    """Watches one small launch of a version of the kernel file, in a process with a time limit."""

    workload: Workload
    _waiting: "_Started | GateRecord | None" = None

    def get_ready(self) -> None:
        """Start the process, which waits for its source, so that the next answer is there sooner."""
        if self._waiting is None:
            self._waiting = _start(self.workload)

    def __call__(self, source: Path) -> GateRecord:
        self.get_ready()
        waiting, self._waiting = self._waiting, None
        assert waiting is not None
        if isinstance(waiting, GateRecord):
            return waiting
        waiting.target.tell(source)
        with waiting.target.folder:
            ended = watch(waiting.process, TIMEOUT_S, lambda _: None)
            return judge(ended, waiting.log.read_text(errors="replace") if waiting.log.is_file() else "")


@dataclass(frozen=True)
class _Started:
    """A tool that runs, what it watches, and the log that it writes."""

    process: "subprocess.Popen[bytes]"
    target: WaitingTarget
    log: Path


def _start(workload: Workload) -> _Started | GateRecord:
    tool = shutil.which("compute-sanitizer") or shutil.which(TOOLKIT)
    if tool is None:
        return GateRecord(GATE, "could-not-run", "compute-sanitizer, a part of the CUDA toolkit, is not installed")
    target = WaitingTarget.of(workload, "smallest")
    log = Path(target.folder.name) / "memcheck.log"
    # What the driver answers to questions of libraries is no finding. The target may wait for as long as the run takes.
    options = ["--tool", "memcheck", "--report-api-errors", "no", "--launch-timeout", "0", "--log-file", str(log)]
    # torch hands out pieces of large blocks, inside which nothing is out of bounds.
    env = {**target.environment, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    try:
        process = start([tool, *options, *target.command], env)
    except OSError as error:
        target.folder.cleanup()
        return GateRecord(GATE, "could-not-run", f"{tool} does not start ({error.strerror or error})")
    target.under(process)
    return _Started(process, target, log)


def judge(ended: Ended, log: str) -> GateRecord:
    """What a run of the tool and its log say. Raises KeyboardInterrupt if the user stopped it."""
    if ended.stopped == "interrupt":
        raise KeyboardInterrupt
    if ended.stopped:
        return GateRecord(GATE, "could-not-run", f"no end within {TIMEOUT_S:g} s under compute-sanitizer")
    found = [
        f"{said[1]} at {at[1]}"
        for line, after in pairwise(log.splitlines())
        if (said := _SAID.match(line)) and (at := _AT.match(after))
    ]
    summary = _SUMMARY.search(log)
    if count := int(summary[1]) if summary else len(found):
        more = f" ({count} in all)" if count > 1 else ""
        return GateRecord(GATE, "failed", (found[0] if found else "compute-sanitizer reports an error") + more)
    if summary is None or ended.exit_code:
        last = f"no output\n{log}\n{ended.stderr}".split("\n")
        reason = next(line.strip() for line in reversed(last) if line.strip())
        return GateRecord(GATE, "could-not-run", f"under compute-sanitizer: {reason}")
    searched = f", with which it {said[0]} that it searches" if (said := _SEARCHED.search(ended.stdout)) else ""
    return GateRecord(GATE, "passed", f"one small launch{searched}, no access outside an allocation")
