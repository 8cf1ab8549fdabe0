"""Lets launch wrappers and workloads run where there is no GPU: torch answers as if there were one.

Child processes only. What the code makes "on cuda" is made on another device (torch's meta device, where a tensor
has a shape and strides but no memory, or the CPU), and tensors say that they are on the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode

from .card import Waiting, capability_of, properties_of

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
        if func is torch.Tensor.data_ptr and self._device == "meta":
            raise RuntimeError("a tensor without memory has no address to look at")  # torch would say 0 for all
        if func is torch.Tensor.cuda:
            return args[0].to(self._device)
        if func in (torch.Tensor.pin_memory, torch.Tensor.record_stream):
            return args[0]
        placed = {name: self._placed(value) for name, value in (kwargs or {}).items() if name != "pin_memory"}
        return func(*map(self._placed, args), **placed)

    def _placed(self, value: Any) -> Any:
        is_device = isinstance(value, str | torch.device) and str(value).partition(":")[0] == "cuda"
        return self._device if is_device else value


_ANSWERS = {
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.is_cpu.__get__: False,
    torch.Tensor.is_meta.__get__: False,
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
    card, memory = properties_of(target), properties_of(target).total_memory
    answers = {
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "is_tf32_supported": True,
        "is_current_stream_capturing": False,
        "device_count": 1,
        "current_device": 0,
        "device": nullcontext(),
        "device_of": nullcontext(),
        "get_device_capability": capability_of(target),
        "get_device_name": card.name,
        "get_device_properties": card,
        "get_arch_list": [target],
        "mem_get_info": (memory, memory),
        **dict.fromkeys(("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"), 0),
        **dict.fromkeys(_SILENT),
    }
    replaced: dict[str, Any] = {name: _answering(answer) for name, answer in answers.items()}
    replaced |= dict.fromkeys(_WAITING, Waiting)
    with ExitStack() as stack:
        for name, replacement in replaced.items():
            stack.enter_context(patch.object(torch.cuda, name, replacement))
        stack.enter_context(patch.object(torch, "Generator", _Generator))
        # What a wrapper compiles with torch.compile runs as it is written.
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        yield


# Calls that change or wait for something on a card, and what torch has objects for.
_SILENT = (
    "init",
    "_lazy_init",
    "set_device",
    "synchronize",
    "empty_cache",
    "ipc_collect",
    "set_stream",
    "reset_peak_memory_stats",
    "manual_seed",
    "manual_seed_all",
)
_WAITING = ("Stream", "ExternalStream", "Event", "CUDAGraph", "stream", "graph", "current_stream", "default_stream")


def _answering(answer: object) -> Callable[..., object]:
    return lambda *_arguments, **_options: answer
