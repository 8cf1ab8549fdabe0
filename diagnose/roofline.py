"""Where a launch stands under the roofline of its own report.

Counted are fp32 and fp64 additions and multiplications and the operations of the tensor cores; what the profiler has
no counter for (special functions, packed half precision, integers) is not. Williams, Waterman and Patterson,
"Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

from __future__ import annotations

from kdiag.diagnose.limits import TENSOR_TYPES, limits_of
from kdiag.diagnose.metrics import number
from kdiag.records import Observations, Roofline


def roofline_of(observations: Observations) -> Roofline:
    """Return intensity in FLOP per DRAM byte, ridge point and limit; whatever cannot be known is None.

    `limit_us` is the larger of the time DRAM needs for the bytes that were moved and the time the units need for the
    operations that were done, at the clocks of the launch. With several operand types the ridge is that of their mix.
    """
    operations = _operations(observations)
    moved = number(observations, "dram_bytes")
    if operations is None or not moved:
        return Roofline()
    total = sum(operations.values())
    intensity = total / moved
    peaks = _peaks(observations)
    bandwidth = (limits_of(observations).dram_gbs or 0.0) * 1e9
    if not bandwidth or any(name not in peaks for name, count in operations.items() if count):
        return Roofline(intensity_flop_per_byte=intensity)
    compute_s = sum(count / peaks[name] for name, count in operations.items() if count)
    memory_s = moved / bandwidth
    limit_us = 1e6 * max(compute_s, memory_s)
    mix_peak = total / compute_s if compute_s else peaks.get("fp32")
    duration = number(observations, "duration_us")
    return Roofline(
        intensity_flop_per_byte=intensity,
        ridge=mix_peak / bandwidth if mix_peak else None,
        limited_by="memory" if memory_s >= compute_s else "compute",
        limit_us=limit_us,
        pct_of_limit=100 * limit_us / duration if duration else None,
    )


def _operations(observations: Observations) -> dict[str, float] | None:
    """Return operations by unit, or None when a unit that was in use has no counter."""
    counted = {
        "fp32": number(observations, "fp32_ops"),
        "fp64": number(observations, "fp64_ops"),
        **{f"tensor {dtype}": number(observations, f"tensor_ops_{dtype}") for dtype in TENSOR_TYPES},
    }
    idle = {"fp64": number(observations, "fp64_pct") == 0, "tensor": number(observations, "tensor_pct") == 0}
    tensor_counted = any(value is not None for name, value in counted.items() if name.startswith("tensor"))
    if counted["fp32"] is None or not (tensor_counted or idle["tensor"]):
        return None
    if counted["fp64"] is None and not idle["fp64"]:
        return None
    return {name: value or 0.0 for name, value in counted.items()}


def _peaks(observations: Observations) -> dict[str, float]:
    """Return known peaks in operations per second, by the names of `_operations`."""
    found = {
        "fp32": number(observations, "fp32_peak"),
        "fp64": number(observations, "fp64_peak"),
        **{f"tensor {dtype}": number(observations, f"tensor_peak_{dtype}") for dtype in TENSOR_TYPES},
    }
    return {name: value for name, value in found.items() if value}
