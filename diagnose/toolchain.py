"""The programs and packages kdiag works with: where they are, which version, and what is lost without them.

A program is asked for its version in a process group of its own that is killed at the time limit: a tool that hangs
(nvidia-smi does, when the driver is in trouble) costs that time and nothing else.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from kdiag.errors import ToolMissing
from kdiag.records.environment import Tool

from .compiler.tileiras import find_program, find_tileiras

TIMEOUT_S = 10.0
# `--remarks=all` came with CUDA 13.4; see `diagnose.compiler.tileiras`.
REMARKS_SINCE = (13, 4)
REQUIRED = ("click", "libcst", "networkx", "numpy", "pandas", "rich")
GPU_EXTRA = 'pip install "kdiag[gpu]"'

WITHOUT_NCU = "`profile` cannot record a report; it reads one that was recorded elsewhere, or samples with cupti-python"
WITHOUT_TILEIRAS = f"no compiler evidence (remarks, registers, spills, machine code) and no proof of edits: {GPU_EXTRA}"
WITHOUT_CUDA_TILE = f"kernels are neither compiled nor run; reports and sources are still read: {GPU_EXTRA}"
WITHOUT_ML_DTYPES = f"kernels cannot be emulated on the CPU: {GPU_EXTRA}"
WITHOUT_TORCH = f"workloads cannot be run, so there is no launch capture, no timing and no `auto`: {GPU_EXTRA}"
WITHOUT_CUPTI = (
    "no counters from inside a run; those of a kernel need ncu: pip install 'cupti-python>=13.4', after torch"
)
WITHOUT_NCU_REPORT = "no .ncu-rep file can be read: pip install ncu-report"
WITHOUT_DISASSEMBLER = (
    "machine instructions that kdiag does not know yet are counted as unknown: pip install nvidia-cuda-nvdisasm"
)
WITHOUT_GIT = "`auto` cannot work: it keeps every edit as a commit in a worktree of its own"

_VERSION = re.compile(r"\b[vV]?(\d+\.\d+(?:\.\d+)*)")
_FAILURE = re.compile(r"fail|error|mismatch|cannot|not found", re.IGNORECASE)
_RELEASE = re.compile(r"release (\d+\.\d+)(?:, V(\d+(?:\.\d+)+))?")


@dataclass(frozen=True)
class Answer:
    """What a program printed, or in `problem` why it did not."""

    text: str
    problem: str = ""


def ask(command: Sequence[str], timeout_s: float = TIMEOUT_S) -> Answer:
    """Run a program that should answer at once."""
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Answer("", f"it does not start: {error.strerror or error}")
    try:
        text, _ = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(1.0)  # a process stuck in the driver does not even die
        return Answer("", f"it gave no answer within {timeout_s:g} s")
    if child.returncode == 0:
        return Answer(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = next((line for line in lines if _FAILURE.search(line)), lines[0] if lines else "")
    return Answer(text, f"it ended with exit code {child.returncode}" + (f": {telling}" if telling else ""))


def tools(ncu: str | None) -> tuple[Tool, ...]:
    """Look at everything there is to look at; `ncu` is where Nsight Compute was found."""
    return (
        *(_package(name, "kdiag cannot work: pip install " + name, required=True) for name in REQUIRED),
        _ncu_report(),
        _program("ncu", ncu, WITHOUT_NCU),
        _package("cupti-python", WITHOUT_CUPTI),
        _tileiras(),
        _package("cuda-tile", WITHOUT_CUDA_TILE),
        _package("ml-dtypes", WITHOUT_ML_DTYPES),
        torch(),
        _program("nvdisasm", None if (found := find_program("nvdisasm")) is None else str(found), WITHOUT_DISASSEMBLER),
        _program("git", shutil.which("git"), WITHOUT_GIT),
    )


def torch() -> Tool:
    """PyTorch, and whether it was built for CUDA; its own file is read, since importing it takes seconds."""
    found = _package("torch", WITHOUT_TORCH)
    spec = find_spec("torch") if found.found else None
    places = (spec.submodule_search_locations or ()) if spec else ()
    files = [path for place in places if (path := Path(place) / "version.py").is_file()]
    text = files[0].read_text(encoding="utf-8", errors="replace") if files else ""
    built_for = re.search(r"^cuda[^=\n]*=\s*'([^']+)'", text, re.MULTILINE)
    if not found.found or not text:
        return found
    if built_for is None:
        problem = "a build without CUDA: kernels can be captured and compiled, but not run or timed"
        return Tool(found.name, True, found.version, str(files[0].parent), problem, WITHOUT_TORCH)
    return Tool(found.name, True, f"{found.version}, CUDA {built_for[1]}", str(files[0].parent))


def _package(name: str, without: str, *, required: bool = False) -> Tool:
    try:
        return Tool(name, True, version(name), without=without, required=required)
    except PackageNotFoundError:
        return Tool(name, False, without=without, required=required)


def _ncu_report() -> Tool:
    """It loads a native library, so that it is installed does not yet say that it works."""
    found = _package("ncu-report", WITHOUT_NCU_REPORT, required=True)
    if find_spec("ncu_report") is None:
        return found
    answer = ask([sys.executable, "-c", "import ncu_report; print(ncu_report.__file__)"])
    where = "" if answer.problem else str(Path(answer.text.strip()).parent)
    return Tool("ncu-report", True, found.version, where, answer.problem, WITHOUT_NCU_REPORT, required=True)


def _program(name: str, path: str | None, without: str) -> Tool:
    if path is None:
        return Tool(name, False, without=without)
    answer = ask([path, "--version"])
    return Tool(name, True, _version_in(answer.text), path, answer.problem, without)


def _tileiras() -> Tool:
    try:
        path = str(find_tileiras())
    except ToolMissing:
        return Tool("tileiras", False, without=WITHOUT_TILEIRAS)
    found = _program("tileiras", path, WITHOUT_TILEIRAS)
    numbers = tuple(int(part) for part in found.version.split(".")[:2] if part)
    if found.problem or not numbers or numbers >= REMARKS_SINCE:
        return found
    problem = f"it writes no remarks; 13.4 or newer is needed: {GPU_EXTRA}"
    return Tool("tileiras", True, found.version, path, problem, WITHOUT_TILEIRAS)


def _version_in(text: str) -> str:
    """The version of a CUDA tool (`release 13.4, V13.4.92`), else the first that is printed."""
    release = _RELEASE.search(text)
    if release:
        return release[2] or release[1]
    first = _VERSION.search(text)
    return first[1] if first else ""
