"""Records what a workload launches, without a GPU: grid, kernel and arguments of every `ct.launch`.

Child processes only. Inputs are made on torch's meta device where the workload allows it, so that shapes of many
gigabytes cost nothing; a wrapper that looks at values gets CPU tensors. A wrapper that tunes itself is given the first
configuration of its search space, since nothing can be timed here.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

import torch

from kdiag.cutile.gpu_stand_in import CudaOn, gpu_stand_in
from kdiag.cutile.hooks import launching_through
from kdiag.errors import WorkloadError
from kdiag.workload import CommandWorkload, Workload, load_kernel, load_module

from .record import Captured, Recorder
from .recorded import jobs as calls

__all__ = ["Captured", "capture", "run_on_stand_in"]

SEED = 1


def capture(workload: Workload | CommandWorkload, source: Path, target: str) -> tuple[Captured, ...]:
    """Run every timed configuration of the workload on the kernel file `source` and record its launches; of commands,
    every call that their benchmark was heard making.

    Raises WorkloadError when nothing is launched, and whatever the workload or the kernel file raise themselves.
    """
    found: list[Captured] = []
    recorder = Recorder(target)
    with gpu_stand_in(target), launching_through(recorder):
        with CudaOn("cpu"):
            module = load_kernel(workload.kernel_file, source)
            jobs = (
                _configurations(workload, module) if isinstance(workload, Workload) else calls(module, workload.calls)
            )
        for index, job in enumerate(jobs):
            run_on_stand_in(job, recorder)
            found += [replace(one, launch=replace(one.launch, configuration=index)) for one in recorder.launches]
    if not found:
        advice = "run(module, inputs) must call ct.launch" if isinstance(workload, Workload) else "its benchmark must"
        raise WorkloadError(f"{workload.path} launches no cuTile kernel; {advice}.")
    return tuple(found)


def _configurations(workload: Workload, module: ModuleType) -> list[Callable[[], object]]:
    described = load_module(workload.path, search=workload.path.parent)
    return [partial(_run, described, module, config) for config in described.configs()]


def _run(workload: ModuleType, module: ModuleType, config: Mapping[str, object]) -> None:
    workload.run(module, workload.make_inputs(config, "cuda", SEED))


def run_on_stand_in(job: Callable[[], object], recorder: Recorder) -> None:
    """Leave the launches of one job in the recorder, run on tensors without values if it does not look at them."""
    try:
        _run_on("meta", job, recorder)
    except (RuntimeError, TypeError, ValueError):  # meta tensors have no values to look at
        _run_on("cpu", job, recorder)


def _run_on(device: str, job: Callable[[], object], recorder: Recorder) -> None:
    recorder.launches.clear()
    with torch.device(device), CudaOn(device):
        job()
