"""What a candidate can do to the process that measures it, as jobs that stand in for those of the GPU."""

from __future__ import annotations

import os
import signal
import time

import torch

from kdiag.executors.bench import Baseline, ConfigurationBaseline, Trial
from kdiag.executors.correctness import judge
from kdiag.executors.device_jobs import BaselineRequest, TrialRequest
from kdiag.records import ConfigurationCheck, ConfigurationTiming

FAULTS = {
    "segfault": "# dies of a signal",
    "hang": "# never answers",
    "address": "# touches what is not its own",
    "memory": "# asks for too much memory",
    "exit": "# leaves the process",
    "nan": "# writes NaN",
    "faster": "# is right and faster",
}
RIGHT = ConfigurationCheck("n=1", True, 0.0, 1.0)
broken = False  # the CUDA context of this process


def baseline(request: BaselineRequest) -> Baseline:
    return Baseline((RIGHT,), (ConfigurationBaseline("n=1", 1.0, 0.0),))


def trial(request: TrialRequest) -> Trial:
    global broken  # noqa: PLW0603 - a context is a global of its process
    if broken:
        raise RuntimeError("CUDA error: the context was destroyed by an earlier launch")
    broken = True
    before, after = (source.path.read_text() for source in (request.parent, request.candidate))
    (fault,) = (name for name, line in FAULTS.items() if line in after and line not in before)
    if fault == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "hang":
        time.sleep(600)
    elif fault == "exit":
        os._exit(3)
    elif fault == "address":
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    elif fault == "memory":
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1024.00 GiB.")
    elif fault == "nan":
        reference = torch.rand(64, 64, dtype=torch.float64)
        return Trial((judge((torch.full((64, 64), torch.nan),), (reference,), None, "n=1"),), ())
    return Trial((RIGHT,), (ConfigurationTiming("n=1", 1.0, 0.5, 2.0, 1.9, 2.1, 0.001, 50),))
