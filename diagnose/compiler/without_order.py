"""Compiles a kernel without the order of its memory operations, to see what that order costs. Never to run or to ship.

cuda-tile has a switch for tests that leaves the token-order pass out. It is set in a child process that compiles one
source and ends; what comes out may load before it has stored, so it is evidence and nothing else.
"""

from pathlib import Path

from kdiag import isolate
from kdiag.isolate import Died
from kdiag.records import Compilation, CompileFailure
from kdiag.workload import Workload

from .cache import cache_folder
from .compile import CompileRequest, cannot_compile

SWITCH = "CUDA_TILE_TESTING_DISABLE_TOKEN_ORDER"


def compile_without_order(workload: Workload, source: Path, target: str, *, timeout_s: float) -> Compilation:
    """What the compiler makes of the workload's launches if no memory operation waits for another."""
    if reason := cannot_compile():
        return CompileFailure("unavailable", reason)
    request = CompileRequest(workload, source, target, cache_folder())
    answer = isolate.run(_compile, request, timeout_s=timeout_s)
    return CompileFailure(answer.kind, answer.message) if isinstance(answer, Died) else answer


def _compile(request: CompileRequest) -> Compilation:
    """In the child: set the switch, which cuda-tile has read at its import already, and compile."""
    from cuda.tile import _compile as front_end

    from .job import compile_source

    if not hasattr(front_end, SWITCH):
        return CompileFailure("unavailable", "this cuda-tile has no switch for the order of memory operations")
    setattr(front_end, SWITCH, True)
    return compile_source(request)
