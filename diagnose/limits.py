"""What the card can do at most, read from the report itself.

Every figure is a peak per cycle times the clock of the launch, both counters of the report (1504 bytes/cycle times
3.2 GHz is 4.81 TB/s on an H200). A figure the report does not hold stays unknown: a table of cards would give another
card's numbers as soon as two share a name or a die.
"""

from __future__ import annotations

from collections.abc import Iterable

from kdiag.diagnose.metrics import number
from kdiag.records import Limits, Observations

TENSOR_TYPES = ("bf16", "fp16", "tf32", "fp8", "int8", "fp64")

UNKNOWN = Limits()


def limits_of(observations: Observations) -> Limits:
    """Return the limits at the clocks of one launch; `source` is "report", or "unknown" when it holds none.

    A peak of 0 is what reports hold for units that were not measured, and counts as unavailable.
    """
    tensor = {dtype: _scaled(observations, f"tensor_peak_{dtype}", 1e-12) for dtype in TENSOR_TYPES}
    found = Limits(
        dram_gbs=_scaled(observations, "dram_peak", 1e-9),
        l2_gbs=_scaled(observations, "l2_peak", 1e-9),
        fp32_tflops=_scaled(observations, "fp32_peak", 1e-12),
        tensor_tflops={dtype: peak for dtype, peak in tensor.items() if peak is not None},
        source="report",
    )
    known = found.dram_gbs or found.l2_gbs or found.fp32_tflops or found.tensor_tflops
    return found if known else UNKNOWN


def limits_of_card(launches: Iterable[Observations]) -> Limits:
    """Return the limits at the clocks of the longest launch that holds any.

    The clock counted in a launch of a few microseconds is off by a tenth (2.15 GHz on an H200 that stops at 1.98).
    """
    longest_first = sorted(launches, key=lambda each: number(each, "duration_us") or 0.0, reverse=True)
    known = (limits_of(each) for each in longest_first)
    return next((limits for limits in known if limits.source != "unknown"), UNKNOWN)


def _scaled(observations: Observations, name: str, scale: float) -> float | None:
    value = number(observations, name)
    return value * scale if value else None
