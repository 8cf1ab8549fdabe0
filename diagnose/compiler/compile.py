"""Ahead-of-time compilation of kernel variants, each in a child process: evidence that needs no GPU."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from kdiag import isolate
from kdiag.diagnose.compiler.cache import cache_folder
from kdiag.isolate import Died
from kdiag.records import Compilation, CompileFailure
from kdiag.workload import Workload

NEEDED = {"torch": "torch", "cuda.tile": "cuda-tile"}


def compile_workload(
    workload: Workload, sources: Sequence[Path], target: str, *, timeout_s: float
) -> tuple[Compilation, ...]:
    """One Compilation for each variant of the workload's kernel file, in parallel on all cores.

    `target` is an architecture such as "sm_90". `timeout_s` bounds each variant; a compiler that dies or hangs
    becomes a CompileFailure and harms nothing else. A kernel that this machine compiled before is not compiled
    again (see `diagnose.compiler.cache`); its launches are captured all the same.
    """
    if reason := cannot_compile():
        return (CompileFailure("unavailable", reason),) * len(sources)
    isolate.warm_up()
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        return tuple(pool.map(lambda source: _one(workload, source, target, timeout_s), sources))
    except KeyboardInterrupt:
        isolate.kill_all()  # or the threads would wait for their children to the end
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def cannot_compile() -> str | None:
    """Why nothing can be compiled here, in one sentence; None if the packages it takes are installed."""
    missing = [package for module, package in NEEDED.items() if not _installed(module)]
    verb = "is" if len(missing) == 1 else "are"
    return f'{" and ".join(missing)} {verb} not installed; run pip install "kdiag[gpu]".' if missing else None


def _one(workload: Workload, source: Path, target: str, timeout_s: float) -> Compilation:
    from kdiag.diagnose.compiler.job import CompileRequest, compile_source

    request = CompileRequest(workload, source, target, cache_folder())
    answer = isolate.run(compile_source, request, timeout_s=timeout_s)
    return CompileFailure(answer.kind, answer.message) if isinstance(answer, Died) else answer


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
