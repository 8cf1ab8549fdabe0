"""Inputs that a wrong edit does not pass by luck: what the workload makes, changed in ways that normal numbers hide.

A random normal row has a positive maximum, so padding a maximum with zeros is not seen in it; its mean is zero, its
squares dwarf an epsilon, its exponentials do not overflow, no two of its elements are equal. Each perturbation takes
one such comfort away. Only tensors of 16-bit and wider floats change, in place, so that views, strides and addresses stay as the
workload made them; integers may be indices, and stay. Child processes only: torch is imported.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

LARGE, SMALL = (2.0**5, 2.0**-10)  # powers of two: nothing is rounded; the exponential of 3 * 32 overflows float32


def perturb(inputs: Mapping[str, Any], name: str) -> None:
    """Apply a perturbation to all floating-point tensors among the inputs, in place; "" changes nothing."""
    if name:
        change_floats(inputs, lambda tensor: PERTURBATIONS[name](tensor.to(torch.float64)))


def change_floats(inputs: Mapping[str, Any], change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Put `change(tensor)` in the place of every floating-point tensor among the inputs."""
    with torch.no_grad():
        for tensor in _tensors(inputs):
            if tensor.is_floating_point() and tensor.dtype.itemsize > 1 and not _overlaps(tensor):
                tensor.copy_(change(tensor).to(tensor.dtype))


def _with_infinities_and_nan(values: torch.Tensor) -> torch.Tensor:
    """An infinity of each sign and a NaN: at the start, in the middle and at the end, in three rows if there are three."""
    flat = values.reshape(-1).clone()
    if not flat.numel():
        return values
    for at, special in ((0, float("inf")), (flat.numel() // 2, float("-inf")), (flat.numel() - 1, float("nan"))):
        flat[at] = special
    return flat.reshape(values.shape)


# By what each leaves to be seen, the most telling first.
PERTURBATIONS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "all negative": lambda values: -values.abs(),  # padding by zero where a maximum is taken
    "all positive": torch.abs,  # the same for a minimum; a mean that is not zero
    "large values": lambda values: values * LARGE,  # overflow of a narrow accumulator, of an exponential
    "small values": lambda values: values * SMALL,  # an epsilon that is gone
    "ties": lambda values: torch.round(values * 2) / 2,  # which of equal elements is chosen
    "infinities and NaN": _with_infinities_and_nan,  # 0 * inf in what was padded or masked; lost NaNs
}


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether several elements share one place in memory, as after expand()."""
    return any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
