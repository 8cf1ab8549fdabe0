"""What a candidate can do to the process that measures it: an edit that names it, and jobs in place of the GPU's."""

import os
import signal
import time

import torch

from kdiag.executors.bench import Baseline, ConfigurationBaseline, Trial
from kdiag.executors.correctness.judging import judge
from kdiag.executors.edits.base import Applied, Edit, Skipped
from kdiag.records import ConfigurationCheck, ConfigurationTiming, Variant

RIGHT = ConfigurationCheck("n=1", True, 0.0, 1.0)
used = False  # what a launch leaves of the context of this process


class LineAdded(Edit):
    """Stands for H and takes no time: each variant adds a comment with its name in front of the kernel."""

    id, title, examples = "H", "Another line", ()

    def __init__(self, names):
        self.names = tuple(names)

    def variants(self, subject):
        return tuple(Variant(self.id, name) for name in self.names)

    def apply(self, subject, variant):
        line = f"# {variant.name}\n"
        if line in subject.source:
            return Skipped("it is there")
        return Applied(subject.source.replace("@ct.kernel", f"{line}@ct.kernel"))


def fail(error):
    raise error


FAULTS = {
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "hang": lambda: time.sleep(600),
    "exit": lambda: os._exit(3),
    "address": lambda: fail(RuntimeError("CUDA error: an illegal memory access was encountered")),
    "memory": lambda: fail(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1024.00 GiB.")),
    "nan": lambda: judge((torch.full((9, 9), torch.nan),), (torch.rand(9, 9),), None, "n=1"),
    "faster": lambda: RIGHT,
}


def baseline(request):
    return Baseline((RIGHT,), (ConfigurationBaseline("n=1", 1.0, 0.0, 0.25),))


def trial(request):
    global used  # noqa: PLW0603 - a context is a global of its process
    if used:
        fail(RuntimeError("CUDA error: the context was destroyed by an earlier launch"))
    used = True
    before, after = (source.path.read_text() for source in (request.parent, request.candidate))
    (fault,) = (name for name in FAULTS if f"# {name}\n" in after and f"# {name}\n" not in before)
    check = FAULTS[fault]()
    timing = ConfigurationTiming("n=1", 1.0, 0.5, 2.0, 1.9, 2.1, 0.001, 50)
    return Trial((check,), (timing,) if check.passed else ())
