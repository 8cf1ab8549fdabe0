"""Counters without Nsight Compute: samples the GPU's hardware counters in the process that launches the kernel.

The launch of a workload is captured once and then repeated back to back from a CUDA graph that holds nothing else,
while CUPTI samples about 25 counters every 100 us: no replays, about half a second beside the start of the child.
The values differ from Nsight Compute's in three ways, which every observation states: they are averages over many
launches, L2 is warm (Nsight Compute flushes it before each launch), and the clocks are those under sustained load.
"""

from importlib.util import find_spec
from pathlib import Path

from kdiag import isolate
from kdiag.isolate import Died
from kdiag.workload import Workload

from ..bench import Source
from ..ncu.collect import NoCounters
from .records import INSTALL_CUPTI, PmCounters, PmRequest

TIMEOUT_S = 120.0  # the first child also waits for `import torch` and the compilation of the kernel

__all__ = ["PmCounters", "PmRequest", "request", "sample"]


def request(workload: Workload, source: Path, kernel: str = "", passes: tuple[str, ...] = ("default",)) -> PmRequest:
    """A request for the first configuration of `workload` with the kernel file `source` as it is on disk now."""
    return PmRequest(workload, Source.of(source), kernel, passes=passes)


def sample(asked: PmRequest, *, timeout_s: float = TIMEOUT_S) -> PmCounters | NoCounters:
    """Sample the counters of one kernel in a child process; NoCounters says in one sentence why there are none."""
    missing = [name for name in ("torch", "cuda.tile") if not _installed(name)]
    if missing:
        return NoCounters(
            f'Sampling counters needs {" and ".join(missing)}; install them with: pip install "kdiag[gpu]".'
        )
    if not _installed("cupti"):
        return NoCounters(f"Sampling counters needs cupti-python; {INSTALL_CUPTI}.")
    from .job import collect

    answer = isolate.run(collect, asked, timeout_s=timeout_s)
    if isinstance(answer, Died):
        return NoCounters(
            answer.message if answer.message.endswith(".") else f"Sampling the counters failed: {answer.message}."
        )
    return answer


def _installed(name: str) -> bool:
    parent = name.partition(".")[0]
    return find_spec(parent) is not None and find_spec(name) is not None
