"""Ahead-of-time compilation of kernel variants, each in a child process: evidence that needs no GPU."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kdiag import isolate
from kdiag.isolate import Died
from kdiag.records import Compilation, CompileFailure
from kdiag.workload import CommandWorkload, Workload

from .cache import cache_folder

NEEDED = {"torch": "torch", "cuda.tile": "cuda-tile"}


@dataclass(frozen=True)
class CompileRequest:
    """One source of the workload's kernel, to be compiled for `target`; `cache` keeps what the compiler says.

    The folder is chosen in the parent, since a child has the environment that the fork server started with.
    """

    workload: Workload | CommandWorkload
    source: Path
    target: str
    cache: Path | None = None


def compile_workload(
    workload: Workload | CommandWorkload, sources: Sequence[Path], target: str, *, timeout_s: float
) -> tuple[Compilation, ...]:
    """One Compilation for each variant of the workload's kernel file, in parallel on all cores.

    `target` is an architecture such as "sm_90". `timeout_s` bounds each variant; a compiler that dies or hangs
    becomes a CompileFailure and harms nothing else. A kernel that this machine compiled before is not compiled
    again (see `diagnose.compiler.cache`); its launches are captured all the same.
    """
    if reason := cannot_compile():
        return (CompileFailure("unavailable", reason),) * len(sources)
    requests = [CompileRequest(workload, source, target, cache_folder()) for source in sources]
    answers = isolate.run_all(_compile, requests, at_once=os.cpu_count() or 1, timeout_s=timeout_s)
    return tuple(
        CompileFailure(each.kind, each.message + each.raised_at) if isinstance(each, Died) else each for each in answers
    )


def _compile(request: CompileRequest) -> Compilation:
    """Child processes only, whose server has imported torch; kdiag itself need not."""
    from .job import compile_source

    return compile_source(request)


def cannot_compile() -> str | None:
    """Why nothing can be compiled here, in one sentence; None if the packages it takes are installed."""
    missing = [package for module, package in NEEDED.items() if not _installed(module)]
    verb = "is" if len(missing) == 1 else "are"
    return f'{" and ".join(missing)} {verb} not installed; run pip install "kdiag[gpu]".' if missing else None


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
