"""What the card can do at most: read from the report itself, else from the table of cards.

A figure of the report is a peak per cycle times the clock of the launch, both counters (1504 bytes/cycle times 3.2 GHz
is 4.81 TB/s on an H200). What the report does not hold is filled in one by one from `rules/devices`, by the exact
product name and number of SMs. Those figures are at the boost clock, so as a rule no smaller than the launch's own: a
shortest time from them stays a shortest time. `source` then names both, "report, device table". A card that is not in
the table has no limits, and no percentage is made.
"""

from collections.abc import Iterable
from dataclasses import replace

from kdiag.records import Limits, Observations, number
from kdiag.rules.load_devices import device_named

from .metrics import with_derived

TENSOR_TYPES = ("bf16", "fp16", "tf32", "fp8", "int8", "fp64")
REPORT = "report"
TABLE = "device table"

UNKNOWN = Limits()


def limits_of(observations: Observations, gpu_name: str | None = None) -> Limits:
    """Return the limits for one launch; `source` is "report", "device table", both, or "unknown"."""
    return _filled(_reported(observations), _tabled(observations, gpu_name))


def limits_of_card(launches: Iterable[Observations], gpu_name: str | None = None) -> Limits:
    """Return the limits at the clocks of the longest launch that holds any, filled in from the table.

    The clock counted in a launch of a few microseconds is off by a tenth (2.15 GHz on an H200 that stops at 1.98).
    """
    longest_first = sorted(launches, key=lambda each: number(each, "duration_us") or 0.0, reverse=True)
    reported = (_reported(each) for each in longest_first)
    best = next((limits for limits in reported if limits != UNKNOWN), UNKNOWN)
    return _filled(best, _tabled(longest_first[0], gpu_name) if longest_first else UNKNOWN)


def _reported(observations: Observations) -> Limits:
    """What the report holds, as products of its counters. A peak of 0 is what it holds for units that were not measured: unavailable."""
    observations = with_derived(observations)
    tensor = {dtype: _scaled(observations, f"tensor_peak_{dtype}", 1e-12) for dtype in TENSOR_TYPES}
    found = Limits(
        dram_gbs=_scaled(observations, "dram_peak", 1e-9),
        l2_gbs=_scaled(observations, "l2_peak", 1e-9),
        l1_gbs=_scaled(observations, "l1_peak", 1e-9),
        fp32_tflops=_scaled(observations, "fp32_peak", 1e-12),
        fp64_tflops=_scaled(observations, "fp64_peak", 1e-12),
        tensor_tflops={dtype: peak for dtype, peak in tensor.items() if peak is not None},
    )
    return _from(found, REPORT)


def _tabled(observations: Observations, gpu_name: str | None) -> Limits:
    count = number(observations, "sm_count")
    device = device_named(gpu_name, None if count is None else int(count)) if gpu_name else None
    if device is None:
        return UNKNOWN
    found = Limits(
        dram_gbs=device.dram_gbs,
        fp32_tflops=device.fp32_tflops,
        fp64_tflops=device.fp64_tflops,
        tensor_tflops=device.tensor_tflops,
    )
    return _from(found, TABLE)


def _filled(first: Limits, second: Limits) -> Limits:
    """`first`, and from `second` what it does not hold."""
    if first == UNKNOWN:
        return second
    merged = replace(
        first,
        dram_gbs=first.dram_gbs or second.dram_gbs,
        l2_gbs=first.l2_gbs or second.l2_gbs,
        l1_gbs=first.l1_gbs or second.l1_gbs,
        fp32_tflops=first.fp32_tflops or second.fp32_tflops,
        fp64_tflops=first.fp64_tflops or second.fp64_tflops,
        tensor_tflops={**second.tensor_tflops, **first.tensor_tflops},
    )
    return first if merged == first else replace(merged, source=f"{first.source}, {second.source}")


def _from(limits: Limits, source: str) -> Limits:
    """`limits` with their source, or UNKNOWN when there are none."""
    return limits if limits == UNKNOWN else replace(limits, source=source)


def _scaled(observations: Observations, name: str, scale: float) -> float | None:
    value = number(observations, name)
    return value * scale if value else None
