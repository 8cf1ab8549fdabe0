"""Where a launch stands under the roofline: each level of the memory against each arithmetic pipe.

Counted are fp32 and fp64 additions and multiplications and the operations of the tensor cores; what the profiler has
no counter for (special functions, packed half precision, integers) is not. Williams, Waterman and Patterson,
"Roofline: an insightful visual performance model", CACM 52(4), 2009; with a level for each cache as in Yang, Kurth and
Williams, "Hierarchical roofline analysis for GPUs", CCPE 32(20), 2020.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from kdiag.records import Limits, Observations, Roofline, RooflineLevel, RooflinePipe, number

from .limits import TENSOR_TYPES, limits_of
from .metrics import with_derived

# The requirement's bounds of the intensity classes, in FLOP per byte.
MEMORY_BELOW = 10.0
COMPUTE_ABOVE = 50.0

TENSOR_NOISE_PCT = 2.0  # packed half-precision arithmetic alone shows up to 1.6 % (H200, measured)


def roofline_of(observations: Observations, limits: Limits | None = None) -> Roofline:
    """Return what each level and pipe allows, and the limit they make together; what cannot be known is None.

    `limits` are by default what the observations hold themselves. `limit_us` is the longest of the times that the
    levels need for the bytes that crossed them and the pipes for the operations they did, since all work at once. It
    is None, with `ridge`, unless DRAM and every pipe that was in use have a count and a peak: a limit that leaves one
    out would read as room to improve. With several types the ridge is that of their mix.
    """
    observations = with_derived(observations)
    limits = limits_of(observations) if limits is None else limits
    duration = number(observations, "duration_us")
    operations = operations_of(observations)
    pipes = _pipes(operations or {}, limits, duration)
    compute_us = None if operations is None else _all_pipes_us(pipes)
    total = None if operations is None else sum(operations.values())
    levels = _levels(observations, limits, total, _rate(total, compute_us, limits))
    dram = next((each for each in levels if each.level == "dram"), None)
    memory_us = None
    if dram is not None and dram.limit_us is not None:
        memory_us = max(each.limit_us or 0.0 for each in levels)
    found = Roofline(
        intensity_flop_per_byte=dram.intensity_flop_per_byte if dram else None,
        levels=levels,
        pipes=pipes,
        intensity_class=_intensity_class(observations, dram),
        minimum_us=_minimum_us(observations, pipes, limits),
        excess_traffic=_ratio(number(observations, "dram_bytes"), number(observations, "work.bytes")),
    )
    if dram is None or memory_us is None or compute_us is None:
        return found
    limit_us = max(memory_us, compute_us)
    return replace(
        found,
        ridge=dram.ridge,
        limited_by="memory" if memory_us >= compute_us else "compute",
        limit_us=limit_us,
        pct_of_limit=_pct(limit_us, duration),
    )


def headroom_of(roofline: Roofline, pct_of_copy: float | None = None) -> float | None:
    """How many times faster the launch would be at the roofline of DRAM and the pipes, at least 1.

    The caches are left out: how often a kernel reads them is its own choice of tiles, so they limit it as it is, not
    what it can become. Where it is known, `pct_of_copy` is what DRAM is busy with, and enough for a bound. None where
    the roofline is incomplete and that unknown.
    """
    units: dict[str, float] = {}
    if roofline.pct_of_limit is not None:
        units["dram"] = roofline.levels[0].pct_of_limit or 0.0
        for pipe in roofline.pipes:
            unit = pipe.pipe.partition(" ")[0]
            units[unit] = units.get(unit, 0.0) + (pipe.pct_of_limit or 0.0)
    if pct_of_copy:
        units["dram"] = pct_of_copy
    return max(1.0, 100 / max(units.values())) if units else None


def operations_of(observations: Observations) -> Mapping[str, float] | None:
    """Return operations by pipe ("fp32", "tensor bf16"), or None when a pipe that was in use has no counter.

    Tensor cores that are busy while every operand type counts 0 work on a type that has no counter here.
    """
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
    busy = (number(observations, "tensor_pct") or 0.0) > TENSOR_NOISE_PCT
    if busy and not any(value for name, value in counted.items() if name.startswith("tensor")):
        return None
    return {name: value for name, value in counted.items() if value is not None}


def _pipes(operations: Mapping[str, float], limits: Limits, duration: float | None) -> tuple[RooflinePipe, ...]:
    """The pipes that did anything."""
    peaks = {
        "fp32": limits.fp32_tflops,
        "fp64": limits.fp64_tflops,
        **{f"tensor {dtype}": peak for dtype, peak in limits.tensor_tflops.items()},
    }
    found = []
    for name, count in operations.items():
        if not count:
            continue
        peak = peaks.get(name)
        limit_us = count / peak * 1e-6 if peak else None
        found.append(RooflinePipe(name, count, peak, limit_us, _pct(limit_us, duration)))
    return tuple(found)


def _all_pipes_us(pipes: tuple[RooflinePipe, ...]) -> float | None:
    """The shortest time for all of them: the units work at once, but all operand types share the tensor cores."""
    units: dict[str, float] = {}
    for pipe in pipes:
        if pipe.limit_us is None:
            return None
        unit = pipe.pipe.partition(" ")[0]
        units[unit] = units.get(unit, 0.0) + pipe.limit_us
    return max(units.values(), default=0.0)


def _rate(total: float | None, compute_us: float | None, limits: Limits) -> float | None:
    """Operations per second at which the pipes do this mix; that of fp32 for a launch without any."""
    if total is None or compute_us is None:
        return None
    return total / compute_us * 1e6 if compute_us else (limits.fp32_tflops or 0.0) * 1e12 or None


def _levels(
    observations: Observations, limits: Limits, total: float | None, rate: float | None
) -> tuple[RooflineLevel, ...]:
    """The levels whose traffic was counted. No bytes at all is what reports hold for units that were not measured."""
    duration = number(observations, "duration_us")
    found = []
    for level, gbs in _bandwidths(limits).items():
        moved = number(observations, f"{level}_bytes")
        if not moved:
            continue
        limit_us = moved / gbs * 1e-3 if gbs else None
        found.append(
            RooflineLevel(
                level=level,
                bytes=moved,
                gbs=gbs,
                intensity_flop_per_byte=_ratio(total, moved),
                ridge=_ratio(rate, gbs * 1e9 if gbs else None),
                limit_us=limit_us,
                pct_of_limit=_pct(limit_us, duration),
            )
        )
    return tuple(found)


def _bandwidths(limits: Limits) -> dict[Literal["dram", "l2", "l1"], float | None]:
    return {"dram": limits.dram_gbs, "l2": limits.l2_gbs, "l1": limits.l1_gbs}


def _minimum_us(observations: Observations, pipes: tuple[RooflinePipe, ...], limits: Limits) -> float | None:
    """The shortest time for the bytes and operations the kernel cannot do without.

    Assumes that every byte comes from DRAM once, and that the pipe with most operations now does all of them; before
    anything is counted, the fastest pipe of the card. A kernel on the wrong pipe can therefore do better.
    """
    moved, work = number(observations, "work.bytes"), number(observations, "work.flops")
    counted = max(pipes, key=lambda pipe: pipe.operations, default=None)
    peak = counted.tflops if counted else fastest_tflops(limits)
    needs = ((moved, limits.dram_gbs, 1e3), (work, peak, 1e6))  # amount, rate, the rate's unit per microsecond
    times = [amount / (rate * unit) if rate else None for amount, rate, unit in needs if amount is not None]
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def fastest_tflops(limits: Limits) -> float | None:
    """The rate of the fastest pipe whose peak is known."""
    known = (limits.fp32_tflops, limits.fp64_tflops, *limits.tensor_tflops.values())
    return max((peak for peak in known if peak), default=None)


def _intensity_class(
    observations: Observations, dram: RooflineLevel | None
) -> Literal["memory", "balanced", "compute"] | None:
    """By what the kernel must do when that is known, else by what it did. It sets priorities, nothing else."""
    must = _ratio(number(observations, "work.flops"), number(observations, "work.bytes"))
    intensity = must if must is not None else dram.intensity_flop_per_byte if dram else None
    if intensity is None:
        return None
    if intensity < MEMORY_BELOW:
        return "memory"
    return "compute" if intensity > COMPUTE_ABOVE else "balanced"


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _pct(limit_us: float | None, duration_us: float | None) -> float | None:
    return None if limit_us is None or not duration_us else 100 * limit_us / duration_us
