"""Records what a workload launches, without a GPU: grid, kernel and arguments of every `ct.launch`.

Child processes only. Inputs are made on torch's meta device where the workload allows it, so that shapes of many
gigabytes cost nothing; a wrapper that looks at values gets CPU tensors. A wrapper that tunes itself with
`ct.tune.exhaustive_search` is given the first configuration of its search space, since nothing can be timed here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import cuda.tile as ct
import torch
from cuda.tile.compilation import KernelSignature

from kdiag.diagnose.gpu_stand_in import CudaOn, gpu_stand_in
from kdiag.diagnose.signature import describe, kernel_name, signature
from kdiag.errors import WorkloadError
from kdiag.records import Launch
from kdiag.workload import Workload, load_module

SEED = 1


@dataclass(frozen=True)
class Captured:
    """A launch, the live kernel object it names, and the signature the run time would compile it for."""

    launch: Launch
    kernel: Any
    signature: KernelSignature


@dataclass
class _Recorder:
    """Stands in for `ct.launch`. The arguments themselves are not kept: they may be large."""

    launches: list[Captured] = field(default_factory=list)

    def __call__(
        self, _stream: object, grid: Any, kernel: Any, arguments: Any, /, **_options: object
    ) -> None:
        name, values = kernel_name(kernel), tuple(arguments)
        launch = Launch(name, _grid(grid), describe(kernel, values))
        self.launches.append(Captured(launch, kernel, signature(kernel, values)))


def capture(workload: Workload, source: Path, target: str) -> tuple[Captured, ...]:
    """Run every timed configuration of the workload on the kernel file `source` and record its launches.

    Raises WorkloadError when nothing is launched, and whatever the workload or the kernel file raise themselves.
    """
    found: list[Captured] = []
    recorder = _Recorder()
    with (
        gpu_stand_in(target),
        patch.object(ct, "launch", recorder),
        patch.object(ct.tune, "exhaustive_search", _untimed),
    ):
        with CudaOn("cpu"):
            module = load_module(source, search=workload.kernel_file.parent)
            described = load_module(workload.path, search=workload.path.parent)
            configurations = list(described.configs())
        for index, config in enumerate(configurations):
            _run(described, module, config, recorder)
            found += [
                replace(one, launch=replace(one.launch, configuration=index)) for one in recorder.launches
            ]
    if not found:
        raise WorkloadError(
            f"{workload.path} launches no cuTile kernel; run(module, inputs) must call ct.launch."
        )
    return tuple(found)


def _run(workload: ModuleType, module: ModuleType, config: Mapping[str, object], recorder: _Recorder) -> None:
    """Leave the launches of one configuration in the recorder."""
    try:
        _run_on("meta", workload, module, config, recorder)
    except (RuntimeError, TypeError, ValueError):  # meta tensors have no values to look at
        _run_on("cpu", workload, module, config, recorder)


def _run_on(
    device: str, workload: ModuleType, module: ModuleType, config: Mapping[str, object], recorder: _Recorder
) -> None:
    recorder.launches.clear()
    with torch.device(device), CudaOn(device):
        workload.run(module, workload.make_inputs(config, "cuda", SEED))


def _untimed(search_space: Sequence[Any], *_arguments: object, **_options: object) -> ct.tune.TuningResult:
    first = ct.tune.Measurement(
        config=search_space[0], mean_us=math.nan, error_margin_us=math.nan, num_samples=0
    )
    return ct.tune.TuningResult(best=first, successes=(first,), failures=())


def _grid(grid: Any) -> tuple[int, ...]:
    return tuple(map(int, grid)) if isinstance(grid, tuple | list) else (int(grid),)
