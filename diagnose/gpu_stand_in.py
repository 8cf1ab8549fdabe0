"""Lets launch wrappers and workloads run where there is no GPU: torch answers as if there were one.

Child processes only. What the code makes "on cuda" is made on another device (torch's meta device, where a tensor
has a shape and strides but no memory, or the CPU), and tensors say that they are on the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode

from kdiag.errors import UsageError

# Streaming multiprocessors, by which wrappers size grids: A100, RTX 3090, Jetson AGX Orin, RTX 4090, H200, B200,
# B300, Jetson AGX Thor, RTX 5090, GB10 (NVIDIA's product pages; torch reports the same 132 on an H200). The grid does
# not change the machine code, so a smaller card of the same architecture has the same compiler evidence.
SM_COUNTS = {
    "sm_80": 108,
    "sm_86": 82,
    "sm_87": 16,
    "sm_89": 128,
    "sm_90": 132,
    "sm_100": 148,
    "sm_103": 148,
    "sm_110": 20,
    "sm_120": 170,
    "sm_121": 48,
}
_CUDA = torch.device("cuda", 0)


class CudaOn(TorchFunctionMode):  # type: ignore[misc] # torch is not type-checked
    """Within this mode the device "cuda" stands for `device` ("meta" or "cpu")."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        if func in _ANSWERS:
            return _ANSWERS[func]
        if func is torch.Tensor.cuda:
            return args[0].to(self._device)
        placed = {name: self._placed(value) for name, value in (kwargs or {}).items()}
        return func(*map(self._placed, args), **placed)

    def _placed(self, value: Any) -> Any:
        is_device = isinstance(value, str | torch.device) and str(value).partition(":")[0] == "cuda"
        return self._device if is_device else value


_ANSWERS = {
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.device.__get__: _CUDA,
    torch.Tensor.get_device: 0,
}


class _Generator(torch.Generator):  # type: ignore[misc] # torch is not type-checked
    """A generator for any device; meta tensors take one of the CPU."""

    def __new__(cls, device: object = "cpu") -> _Generator:
        generator: _Generator = super().__new__(cls, "cpu")
        return generator


@contextmanager
def gpu_stand_in(target: str) -> Iterator[None]:
    """Answer what code asks torch about the card as a card of `target` (e.g. "sm_90") would.

    Raises UsageError for an architecture of which no card is known.
    """
    if target not in SM_COUNTS:
        raise UsageError(
            f"There is no card known for the target {target}; choose one of {', '.join(SM_COUNTS)}."
        )
    capability = divmod(int(target.removeprefix("sm_")), 10)
    properties = SimpleNamespace(
        name=target,
        major=capability[0],
        minor=capability[1],
        multi_processor_count=SM_COUNTS[target],
        warp_size=32,
    )
    answers = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "set_device": None,
        "device": nullcontext(),
        "get_device_capability": capability,
        "get_device_name": target,
        "get_device_properties": properties,
        "current_stream": SimpleNamespace(cuda_stream=0),
        "synchronize": None,
        "empty_cache": None,
    }
    with ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(patch.object(torch.cuda, name, lambda *_, _answer=answer, **__: _answer))
        stack.enter_context(patch.object(torch, "Generator", _Generator))
        yield
