"""Is an output right? Compares with a higher-precision reference, and proves that the comparison can fail.

An element may differ from the reference by `tolerance * (|reference| + rms)`, with rms the root mean square of the
whole reference tensor. The scale comes from the data, so zeros do not pass for a wide softmax whose every
element is smaller than an absolute tolerance of 1e-2 would allow. Child processes only: torch is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from kdiag.errors import WorkloadError

# A few units in the last place of the stored type: 2**-8, 2**-11, 2**-24 and 2**-53 are one.
DEFAULT_TOLERANCE = {"bfloat16": 8e-3, "float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


def outputs_of(result: Any) -> tuple[torch.Tensor, ...]:
    """The tensors that `run` or `reference` returned, as a tuple. Raises WorkloadError for anything else."""
    outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
    if not outputs or not all(isinstance(output, torch.Tensor) for output in outputs):
        raise WorkloadError(
            "The workload's run() and reference() must return a tensor or a tuple of tensors."
        )
    return outputs


def scaled_error(output: torch.Tensor, reference: torch.Tensor) -> float:
    """Largest |output - reference| / (|reference| + rms(reference)); infinite where one side is not finite.

    Equal infinities and NaN in the same place count as equal. Shapes must match: a different shape is infinite.
    """
    if output.shape != reference.shape:
        return float("inf")
    if output.numel() == 0:
        return 0.0
    high = torch.float64 if not reference.dtype.is_complex else torch.complex128
    expected, actual = reference.to(high), output.to(high)
    finite = torch.isfinite(expected)
    agree = torch.where(torch.isnan(expected), torch.isnan(actual), actual == expected)
    if not bool((finite | agree).all()) or not bool((torch.isfinite(actual) | ~finite).all()):
        return float("inf")
    expected = torch.where(finite, expected, torch.zeros_like(expected))
    difference = (torch.where(finite, actual, expected) - expected).abs()
    scale = expected.abs() + expected.abs().square().mean().sqrt()
    relative = torch.where(difference > 0, difference / scale, torch.zeros_like(difference))
    return float(relative.max())


def tolerance_for(declared: float | None, outputs: tuple[torch.Tensor, ...]) -> float:
    """The declared tolerance, else a few units in the last place of the widest-stepped output type."""
    if declared is not None:
        return float(declared)
    names = [str(output.dtype).removeprefix("torch.") for output in outputs]
    return max(DEFAULT_TOLERANCE.get(name, 0.0) for name in names)


def require_controls_to_fail(references: tuple[torch.Tensor, ...], tolerance: float, label: str) -> None:
    """Check that plainly wrong outputs are rejected. Raises WorkloadError naming the one that was accepted."""
    for reference in references:
        for name, wrong in _wrong_outputs(reference):
            if scaled_error(wrong, reference) <= tolerance:
                raise WorkloadError(
                    f"With tolerance {tolerance:g} the check of {label} accepts {name} as correct; "
                    "declare a smaller tolerance(config) or inputs whose result is not constant."
                )


def _wrong_outputs(reference: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    yield "an output of zeros", torch.zeros_like(reference)
    flat = reference.reshape(-1)
    if flat.numel() >= 64:
        tail = flat.clone()
        tail[-(flat.numel() // 64) :] = 0
        yield "an output without its last part", tail.reshape(reference.shape)
        half = flat.clone()
        half[: flat.numel() // 2] = 0
        yield "an output with its first half missing", half.reshape(reference.shape)
        yield "an output shifted by one element", flat.roll(1).reshape(reference.shape)


@contextmanager
def poisoned_allocations() -> Iterator[None]:
    """Fill what torch.empty and its kin return with NaN (integers: their smallest value).

    An element that a kernel never writes is then wrong for certain, whatever the allocator hands out again.
    """

    def poison(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            return tensor.fill_(float("nan"))
        return (
            tensor.fill_(True) if tensor.dtype == torch.bool else tensor.fill_(torch.iinfo(tensor.dtype).min)
        )

    places = [(torch, "empty"), (torch, "empty_like"), (torch, "empty_strided"), (torch.Tensor, "new_empty")]
    originals = [(owner, name, getattr(owner, name)) for owner, name in places]
    for owner, name, original in originals:
        setattr(owner, name, lambda *args, _original=original, **kwargs: poison(_original(*args, **kwargs)))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
