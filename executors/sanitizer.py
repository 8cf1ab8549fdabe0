"""Asks compute-sanitizer whether a version of a kernel accesses memory outside its arrays, in one small launch."""

import os
import re
import shutil
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from kdiag import isolate
from kdiag.executors.ncu.process import Ended, run
from kdiag.records import GateRecord
from kdiag.workload import Workload

GATE = "memcheck"
TIMEOUT_S = 120.0
TOOLKIT = "/usr/local/cuda/bin/compute-sanitizer"
_SAID, _AT = re.compile(r"^=+ (?!Program hit|Error)(\S.*)$"), re.compile(r"^=+ {2,}at (\S.*)$")
_SUMMARY = re.compile(r"^=+ ERROR SUMMARY: (\d+) error", re.MULTILINE)


def unavailable(_: Path) -> GateRecord:
    """For runs without a Python workload or a GPU of their own."""
    return GateRecord(GATE, "could-not-run", "it needs a Python workload and a GPU")


def memcheck(workload: Workload, source: Path) -> GateRecord:
    """Watch one small launch of this version of the kernel file, in a process with a time limit."""
    tool = shutil.which("compute-sanitizer") or shutil.which(TOOLKIT)
    if tool is None:
        return GateRecord(GATE, "could-not-run", "compute-sanitizer, a part of the CUDA toolkit, is not installed")
    with tempfile.TemporaryDirectory(prefix="kdiag-memcheck-") as folder:
        log = Path(folder) / "memcheck.log"
        # What the driver answers to questions of libraries is no finding.
        options = ["--tool", "memcheck", "--report-api-errors", "no", "--log-file", str(log)]
        program = [sys.executable, "-m", "kdiag.executors.ncu.profile_target", str(workload.path), str(source)]
        # torch hands out pieces of large blocks, inside which nothing is out of bounds.
        env = {
            **os.environ,
            **isolate.environment.get(),  # names the GPU that measures
            "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        try:
            ended = run([tool, *options, *program, "smallest"], env, TIMEOUT_S, lambda _: None)
        except OSError as error:
            return GateRecord(GATE, "could-not-run", f"{tool} does not start ({error.strerror or error})")
        return judge(ended, log.read_text(errors="replace") if log.is_file() else "")


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
    return GateRecord(GATE, "passed", "one small launch, no access outside an allocation")
