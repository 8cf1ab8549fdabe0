"""The process that Nsight Compute profiles: `python -m kdiag.executors.ncu.profile_target WORKLOAD SOURCE`.

It runs the first configuration twice, the second time in the NVTX range that is profiled: the first warms caches, and is
where a kernel searches for its configuration. SOURCE may be a named pipe, which tells the path of the source when there is
one. With a third word, `smallest`, compute-sanitizer watches it: it runs the smallest configuration there is once, and of
what a kernel searches each configuration once.
"""

import os
import select
import sys
from pathlib import Path

import torch

from kdiag.cutile.hooks import launching_through
from kdiag.workload import Workload, load_kernel, load_module, read

from ..correctness.configurations import smallest_of
from ..correctness.searches import EachOnce
from ..sanitizer import SEARCH_S, SEARCHED
from ..waiting_target import PROFILED


def told(source: Path) -> Path:
    """The path that a named pipe tells, or that of any other file itself. Ends the process if nobody is left to tell it."""
    if not source.is_fifo():
        return source
    pipe = os.open(source, os.O_RDONLY | os.O_NONBLOCK)  # does not wait for a writer who has gone
    try:
        path = os.read(pipe, select.PIPE_BUF)
    except BlockingIOError:  # there is one, who has said nothing yet
        select.select([pipe], [], [])
        path = os.read(pipe, select.PIPE_BUF)
    return Path(path.decode() or sys.exit("nobody asks for a profile any more"))


def main(workload_path: Path, source: Path, *, smallest: bool) -> None:
    """Launch the workload's first configuration twice on the GPU, or its smallest one once."""
    described = read(workload_path)
    assert isinstance(described, Workload)
    module = load_kernel(described.kernel_file, source)
    workload = load_module(workload_path, search=workload_path.parent)
    config = smallest_of(workload) if smallest else workload.configs()[0]
    inputs = workload.make_inputs(config, "cuda", 1)
    if smallest:
        each = EachOnce(seconds=SEARCH_S)
        with launching_through(each):
            workload.run(module, inputs)
        if each.of:
            print(SEARCHED.format(each.searched, each.of))  # noqa: T201 - for `executors.sanitizer`
    else:
        workload.run(module, inputs)
        with torch.cuda.nvtx.range(PROFILED):
            workload.run(module, inputs)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(Path(sys.argv[1]), told(Path(sys.argv[2])), smallest=sys.argv[3:] == ["smallest"])
