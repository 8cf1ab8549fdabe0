"""Is an output right? Compares it with a higher-precision reference.

An element may differ from the reference by `tolerance * (|reference| + scale)`, with a scale that is typical of its
row. It comes from the data, so zeros do not pass for a wide softmax whose every element is smaller than an absolute
tolerance of 1e-2 would allow. Child processes only: torch is imported.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from kdiag.errors import WorkloadError
from kdiag.records import ConfigurationCheck

SHORTEST_ROW = 16  # shorter last dimensions say little of what is typical; the whole tensor is then one row
# A few units in the last place of the stored type: 2**-8, 2**-11, 2**-24 and 2**-53 are one.
DEFAULT_TOLERANCE = {"bfloat16": 8e-3, "float16": 2e-3, "float32": 1e-5, "float64": 1e-12}
# Rounding in a sum of k terms stays below SURE * sqrt(k) units but for 2 exp(-SURE**2 / 2) = 3e-8 of all cases (Higham
# and Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41, 2019, theorem 2.4).
SURE = 6.0


def outputs_of(result: Any) -> tuple[torch.Tensor, ...]:
    """The tensors that `run` or `reference` returned, as a tuple. Raises WorkloadError for anything else."""
    outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
    if not outputs or not all(isinstance(output, torch.Tensor) for output in outputs):
        raise WorkloadError("The workload's run() and reference() must return a tensor or a tuple of tensors.")
    return outputs


def scaled_error(output: torch.Tensor, reference: torch.Tensor) -> float:
    """Largest |output - reference| / (|reference| + scale), see `_scale`; infinite where one side is not finite.

    Equal infinities and NaN in the same place count as equal. A different shape, or complex beside real, is infinite;
    integers and booleans must be equal.
    """
    errors = _errors(output, reference)
    return float(errors.max()) if isinstance(errors, torch.Tensor) and errors.numel() else float(errors)


def _errors(output: torch.Tensor, reference: torch.Tensor) -> torch.Tensor | float:
    """The scaled error of each element; infinite as a whole where the two cannot be compared."""
    if output.shape != reference.shape or output.is_complex() != reference.is_complex():
        return float("inf")
    if output.numel() == 0:
        return 0.0
    if not reference.is_floating_point() and not reference.is_complex():
        different = output != reference.to(output.dtype)
        return torch.where(different, torch.inf, 0.0)
    high = torch.complex128 if reference.is_complex() else torch.float64
    expected, actual = reference.to(high), output.to(high)
    finite = torch.isfinite(expected)
    agree = torch.where(torch.isnan(expected), torch.isnan(actual), actual == expected)
    wrong = ~(finite | agree) | (~torch.isfinite(actual) & finite)
    expected = torch.where(finite, expected, torch.zeros_like(expected))
    difference = (torch.where(finite & ~wrong, actual, expected) - expected).abs()
    size = expected.abs()
    relative = torch.where(difference > 0, difference / (size + _scale(size)), torch.zeros_like(difference))
    return torch.where(wrong, torch.inf, relative)


def worst_element(output: torch.Tensor, reference: torch.Tensor, tolerance: float) -> str:
    """Where an output is most wrong, what it is there and should be, and how many elements are over the tolerance."""
    if output.shape != reference.shape:
        return f"its shape is {tuple(output.shape)} where {tuple(reference.shape)} is expected"
    errors = _errors(output, reference)
    if not isinstance(errors, torch.Tensor):
        return "it is complex where the reference is real, or the other way round"
    at = tuple(map(int, np.unravel_index(int(errors.argmax()), errors.shape)))  # torch's own loads sympy, 4 s
    count = int((errors > tolerance).sum())
    got, expected = output[at].item(), reference[at].item()
    return (
        f"worst at {list(at)}: {got:g} where {expected:g} is expected; {count} of {errors.numel()} elements are wrong"
    )


def _scale(size: torch.Tensor) -> torch.Tensor:
    """How large elements typically are, row by row: the root mean square, at most ten medians.

    A few huge elements must not hide that all others are wrong, so a row is judged by itself, and its median (of up
    to 1024 elements) bounds what its outliers allow. A row of zeros is given a ten-thousandth of the whole's scale.
    """
    rows = size.reshape(-1, size.shape[-1]) if size.dim() and size.shape[-1] >= SHORTEST_ROW else size.reshape(1, -1)
    largest = rows.amax().clamp(min=torch.finfo(size.dtype).tiny)
    scaled = rows / largest  # squares of large float64 would overflow
    whole = scaled.square().mean().sqrt()
    typical = scaled.square().mean(dim=1, keepdim=True).sqrt()
    median = scaled[:, :: max(1, rows.shape[1] // 1024)].median(dim=1, keepdim=True).values
    typical = torch.where(median > 0, torch.minimum(typical, 10 * median), typical)
    return (torch.maximum(typical, 1e-4 * whole) * largest).expand_as(rows).reshape(size.shape)


def tolerance_for(declared: float | None, output: torch.Tensor, terms: float = 1.0) -> float:
    """The declared tolerance, else a few units in the last place of the output's type, or what a sum of `terms` adds up to."""
    if declared is not None:
        return float(declared)
    least = DEFAULT_TOLERANCE.get(str(output.dtype).removeprefix("torch."), 0.0)
    summed: float = torch.finfo(torch.float64 if output.dtype == torch.float64 else torch.float32).eps / 2
    return max(least, SURE * summed * math.sqrt(terms)) if least else 0.0


def terms_of(operations: float, outputs: Sequence[torch.Tensor]) -> float:
    """How long the sums behind an element are: half the operations, shared among the elements of all outputs."""
    elements: int = sum(output.numel() for output in outputs)
    return max(1.0, operations / 2 / max(1, elements))


def label(config: Mapping[str, object]) -> str:
    """A configuration in one line, e.g. "rows=4096 dtype=bfloat16"."""
    return " ".join(f"{name}={value}" for name, value in config.items())


def judge(
    outputs: Sequence[torch.Tensor],
    references: Sequence[torch.Tensor],
    declared: float | None,
    name: str,
    terms: float = 1.0,
) -> ConfigurationCheck:
    """The output whose error is largest beside its own tolerance decides; `terms` as in `tolerance_for`."""
    if len(outputs) != len(references):
        reason = f"run() gives {len(outputs)} tensors, reference() {len(references)}"
        return ConfigurationCheck(name, False, None, declared, reason)
    judged = [
        (scaled_error(output, reference), tolerance_for(declared, output, terms), output, reference)
        for output, reference in zip(outputs, references, strict=True)
    ]
    error, tolerance, output, reference = max(judged, key=lambda one: one[0] / one[1] if one[1] else one[0])
    if error <= tolerance:
        return ConfigurationCheck(name, True, error, tolerance, unit=_unit(output))
    worst = worst_element(output, reference, tolerance)
    over = "" if math.isinf(error) else f"error {error:.3g} is over the tolerance {tolerance:.3g}; "
    return ConfigurationCheck(name, False, error, tolerance, over + worst)


def _unit(output: torch.Tensor) -> float | None:
    return float(torch.finfo(output.dtype).eps) / 2 if output.is_floating_point() else None
