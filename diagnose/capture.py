"""Records what a workload launches, without a GPU: grid, kernel and arguments of every `ct.launch`.

Child processes only. Inputs are made on torch's meta device where the workload allows it, so that shapes of many
gigabytes cost nothing; a wrapper that looks at values gets CPU tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import cuda.tile as ct
import torch
from torch.overrides import TorchFunctionMode

from kdiag.errors import WorkloadError
from kdiag.workload import Workload, load_module

# Streaming multiprocessors, for wrappers that size a grid by them: A100, RTX 3090, RTX 4090, H200, B200, RTX 5090
# (NVIDIA's architecture white papers; 132 is also what torch reports on an H200).
SM_COUNTS = {
    "sm_80": 108,
    "sm_86": 82,
    "sm_89": 128,
    "sm_90": 132,
    "sm_100": 148,
    "sm_103": 148,
    "sm_120": 170,
}


@dataclass(frozen=True)
class Captured:
    """One launch with its live kernel object. `arguments` are the values as they were passed."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    configuration: int


def capture(workload: Workload, source: Path, target: str) -> list[Captured]:
    """Run every timed configuration of the workload on the kernel file `source` and record its launches.

    Raises WorkloadError when nothing is launched, and whatever the workload or the kernel file raise themselves.
    """
    launches: list[Captured] = []
    configuration = 0

    def record(stream: object, grid: Any, kernel: Any, arguments: Any, /, **_: object) -> None:
        grid = tuple(int(size) for size in (grid if isinstance(grid, tuple | list) else (grid,)))
        launches.append(Captured(kernel, grid, tuple(arguments), configuration))

    with _gpu_stand_in(target), patch.object(ct, "launch", record):
        module = load_module(source, search=workload.kernel_file.parent)
        described = load_module(workload.path, search=workload.path.parent)
        for configuration, config in enumerate(described.configs()):  # noqa: B007 - read by `record`
            _run(described, module, config)
    if not launches:
        raise WorkloadError(
            f"{workload.path} launches no cuTile kernel; run(module, inputs) must call ct.launch."
        )
    return launches


def _run(workload: ModuleType, module: ModuleType, config: Any) -> None:
    try:
        with _CudaAs("meta"):
            workload.run(module, workload.make_inputs(config, "meta", 1))
    except (
        RuntimeError,
        NotImplementedError,
        ValueError,
    ):  # the meta device has no values and lacks operators
        with _CudaAs("cpu"):
            workload.run(module, workload.make_inputs(config, "cpu", 1))


class _CudaAs(TorchFunctionMode):  # type: ignore[misc] # torch is not type-checked
    """Creates on `device` what the code asks for on a GPU."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is not None and torch.device(kwargs["device"]).type == "cuda":
            kwargs["device"] = self._device
        return func(*args, **kwargs)


@contextmanager
def _gpu_stand_in(target: str) -> Iterator[None]:
    """Answer what launch wrappers ask torch about the card, as a card of `target` would."""
    number = int(target.removeprefix("sm_"))
    capability = (number // 10, number % 10)
    count = SM_COUNTS.get(target, 132)
    properties = SimpleNamespace(
        multi_processor_count=count, major=capability[0], minor=capability[1], name=target, warp_size=32
    )
    answers = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": capability,
        "get_device_name": target,
        "get_device_properties": properties,
        "current_stream": SimpleNamespace(cuda_stream=0),
        "synchronize": None,
    }
    with ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(patch.object(torch.cuda, name, lambda *_, _answer=answer, **__: _answer))
        yield
