"""Memory that nothing has written is poison: what a kernel leaves out, or reads where it must not, is then seen."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

GUARD_BYTES = 4096  # on each side of an input; a multiple of every alignment that the allocator gives
ALLOCATORS = (
    *((torch, name) for name in ("empty", "empty_like", "empty_strided", "empty_permuted")),
    *((torch.Tensor, name) for name in ("new_empty", "new_empty_strided")),
)


@contextmanager
def poisoned_allocations() -> Iterator[None]:
    """Fill what torch.empty and its kin return with NaN (integers: their smallest value).

    An element that a kernel never writes is then wrong for certain, whatever the allocator hands out again.
    """
    originals = [(owner, name, getattr(owner, name)) for owner, name in ALLOCATORS]
    for owner, name, original in originals:
        setattr(owner, name, lambda *args, _original=original, **kwargs: _poison(_original(*args, **kwargs)))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def guarded(inputs: Mapping[str, Any]) -> tuple[dict[str, Any], Callable[[], str | None]]:
    """The inputs with poison on both sides, and what tells later beside which of them something was written.

    Contiguous tensors that have their memory to themselves are moved; strides and alignment stay.
    """
    tensors = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    storages = [tensor.untyped_storage().data_ptr() for tensor in tensors.values()]
    moved, sides = dict(inputs), []
    for name, tensor in tensors.items():
        if tensor.is_contiguous() and storages.count(tensor.untyped_storage().data_ptr()) == 1:
            guard = GUARD_BYTES // tensor.dtype.itemsize
            buffer = _poison(torch.empty(tensor.numel() + 2 * guard, dtype=tensor.dtype, device=tensor.device))
            moved[name] = buffer[guard:-guard].view(tensor.shape).copy_(tensor)
            sides += [(name, side, side.clone()) for side in (buffer[:guard], buffer[-guard:])]

    def written() -> str | None:
        changed = (name for name, side, was in sides if not torch.equal(_bytes(side), _bytes(was)))
        return next(changed, None)

    return moved, written


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.uint8)


def _poison(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return tensor.fill_(float("nan"))
    return tensor.fill_(True) if tensor.dtype == torch.bool else tensor.fill_(torch.iinfo(tensor.dtype).min)
