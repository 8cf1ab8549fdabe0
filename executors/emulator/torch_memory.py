"""torch.empty and its kin, made to give memory that is known to be undefined."""

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_MAKERS = (
    torch.empty,
    torch.empty_like,
    torch.empty_strided,
    torch.empty_permuted,
    torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
)


class EmptyIsUndefined(TorchFunctionMode):  # type: ignore[misc] # torch is not type-checked
    """Within this mode `poison` is called for every CPU tensor that is made without values."""

    def __init__(self, poison: Callable[[Any], Any]) -> None:
        super().__init__()
        self._poison = poison

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        plain = func in _MAKERS and type(result) is torch.Tensor and result.layout is torch.strided
        if plain and result.device.type == "cpu":
            self._poison(result)
        return result
