"""A case on a device: its tensors, the launch, the bytes of what it wrote."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
import numpy as np
import torch
from case import Case, Data

LIKE = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}  # what torch takes from NumPy in every version


def tensors(case: Case, device: str) -> list[tuple[Data, torch.Tensor]]:
    """The arrays of the case, as they are before the launch."""
    return [(data, tensor(data, bits, device)) for data, bits in case.arrays()]


def tensor(data: Data, bits: np.ndarray[Any, Any], device: str) -> torch.Tensor:
    """Elements given as bits, as a tensor of the element type."""
    flat = torch.from_numpy(bits.view(LIKE[bits.itemsize]).copy()).view(getattr(torch, data.dtype))
    if data.transposed:
        *outer, rows, columns = data.shape
        return flat.to(device).reshape(*outer, columns, rows).mT
    return flat.to(device).reshape(data.shape)


def arguments(values: Any, arrays: Iterator[torch.Tensor]) -> Any:
    """What the launch is given: the next tensor for each Data, in tuples and lists too."""
    if isinstance(values, tuple | list):
        return type(values)(arguments(value, arrays) for value in values)
    return next(arrays) if isinstance(values, Data) else values


def run(case: Case, device: str, stream: Any) -> list[bytes]:
    """Launches the case and returns the memory of each written array."""
    arrays = tensors(case, device)
    given = arguments(case.arguments, (array for _, array in arrays))
    ct.launch(stream, (*case.grid, 1, 1)[:3], case.kernel, given)
    if device != "cpu":
        torch.cuda.synchronize()
    return [memory(data, array) for data, array in arrays if data.written]


def memory(data: Data, array: torch.Tensor) -> bytes:
    """The bytes of a tensor in the order of memory."""
    if data.transposed:
        array = array.mT
    flat = array.contiguous().reshape(-1).view(torch.uint8)
    return bytes(flat.cpu().numpy().tobytes())
