"""Counters that cannot be true together, with the measured time or with what the kernel must move at least.

A launch with a contradiction has no bottleneck: a wrong number makes a wrong verdict. Each rule compares quantities
that were measured independently, and has slack for what honest measurements differ by. In reports of ncu 2019 to 2025
on compute capability 6.1 to 9.0 (130 launches) bytes, cycles and percentages agree with the duration within 0.3 %.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from kdiag.records import Limits, Observations, Roofline, number

from .roofline import fastest_tflops, roofline_of

# Counters come from several replays, which differ by a few percent, and the bandwidths of data sheets are rounded.
SLACK = 1.15
# The clock counted in a launch of a few microseconds is off by a tenth, and so is every rate made with it.
SHORT_US = 10.0
SHORT_SLACK = 1.4
# Two things double what a tensor pipe can do over the dense peak with fp32 accumulation, and counters do not tell
# them apart: operands with structured sparsity, and on GeForce cards accumulation in fp16.
TENSOR_FACTOR = 2.0
# The largest L2 of any card so far (RTX PRO 6000 Blackwell), for a report that does not say the size of its own.
LARGEST_L2 = 128 * 2**20
# A workload counts its bytes on paper, and paper is generous; half of them is beyond generosity.
MOVED_AT_LEAST = 0.5
# Throughput is the largest of several parts, one of them the bytes, so it can be above their share but not below it.
# While a kernel is sampled, the gaps between its launches lower a percentage but not the bytes of a launch.
SAMPLING_SLACK = 1.25
SAMPLING_POINTS = 5.0

# What no launch has 0 of, however small it is.
NEVER_ZERO = (
    "instructions",
    "sm_active_cycles",
    "sm_elapsed_cycles",
    "issue_pct",
    "occupancy_pct",
    "max_occupancy_pct",
    "waves",
)
PARTS = {"memory_pct": ("dram_pct",), "compute_pct": ("tensor_pct", "xu_pct", "fp64_pct")}


@dataclass(frozen=True)
class Counted:
    """What a rule compares of one launch."""

    known: Observations
    limits: Limits

    @cached_property
    def roofline(self) -> Roofline:
        """Where the launch stands under the limits; several rules ask."""
        return roofline_of(self.known, self.limits)


Rule = Callable[[Counted], Iterator[str]]


def contradictions(observations: Observations, limits: Limits) -> tuple[str, ...]:
    """Return one sentence for each contradiction in one launch, with its numbers; none where too little is known."""
    launch = Counted(observations, limits)
    return tuple(sentence for rule in RULES for sentence in rule(launch))


def _beyond_bandwidth(launch: Counted) -> Iterator[str]:
    """No level moves more bytes in the time than its bandwidth allows."""
    slack = _slack(launch.known)
    for level in launch.roofline.levels:
        if level.pct_of_limit is not None and level.pct_of_limit > 100 * slack:
            yield (
                f"{level.bytes / 1e6:,.1f} MB through {level.level.upper()} in {_time(launch.known)} is "
                f"{level.pct_of_limit:.0f} % of the {level.gbs:,.0f} GB/s it can move."
            )


def _beyond_pipe(launch: Counted) -> Iterator[str]:
    """No pipe does more operations in the time than its peak allows."""
    for pipe in launch.roofline.pipes:
        factor = TENSOR_FACTOR if pipe.pipe.startswith("tensor") else 1.0
        if pipe.pct_of_limit is not None and pipe.pct_of_limit > 100 * factor * _slack(launch.known):
            yield (
                f"{pipe.operations / 1e9:,.1f} GFLOP on {pipe.pipe} in {_time(launch.known)} is "
                f"{pipe.pct_of_limit:.0f} % of the {pipe.tflops:,.0f} TFLOP/s it can do."
            )


def _beyond_hundred(launch: Counted) -> Iterator[str]:
    """Pipes that report their own busy cycles are never busier than always, DRAM neither."""
    for name, unit in (("dram_pct", "DRAM"), ("tensor_pct", "The tensor pipe"), ("fp64_pct", "The fp64 pipe")):
        value = number(launch.known, name)
        if value is not None and value > 100 * _slack(launch.known):
            yield f"{unit} is said to work at {value:.0f} % of its peak."


def _bytes_against_percent(launch: Counted) -> Iterator[str]:
    """DRAM's throughput is at least the share of its peak that the bytes make."""
    pct = number(launch.known, "dram_pct")
    dram = next((each for each in launch.roofline.levels if each.level == "dram"), None)
    if pct is None or dram is None or dram.pct_of_limit is None or _is_short(launch.known):
        return
    if dram.pct_of_limit > pct * SAMPLING_SLACK + SAMPLING_POINTS:
        yield (
            f"{dram.bytes / 1e6:,.1f} MB through DRAM in {_time(launch.known)} is {dram.pct_of_limit:.0f} % of its "
            f"peak, but its throughput is said to be {pct:.0f} %."
        )


def _cycles_against_time(launch: Counted) -> Iterator[str]:
    """The cycles of a launch, at the clock they were counted at, are its time."""
    cycles, clock = number(launch.known, "sm_elapsed_cycles"), number(launch.known, "sm_clock_hz")
    duration = number(launch.known, "duration_us")
    if not cycles or not clock or not duration:
        return
    counted_us = 1e6 * cycles / clock
    if not 1 / _slack(launch.known) < counted_us / duration < _slack(launch.known):
        yield (
            f"{cycles:,.0f} cycles at {clock / 1e9:.2f} GHz are {counted_us:,.1f} us, but the launch took "
            f"{_time(launch.known)}."
        )


def _too_few_bytes(launch: Counted) -> Iterator[str]:
    """What the kernel must move and L2 cannot hold crosses DRAM, or the work was not done."""
    moved, must = number(launch.known, "dram_bytes"), _beyond_l2(launch.known)
    if moved is not None and must and moved < MOVED_AT_LEAST * must:
        yield (
            f"Only {moved / 1e6:,.1f} MB went through DRAM, but the kernel must move at least {must / 1e6:,.1f} MB "
            "that L2 cannot hold: it did not do its work, or the workload's bytes are too high."
        )


def _faster_than_bytes(launch: Counted) -> Iterator[str]:
    """Nor can those bytes cross faster than DRAM is."""
    must, duration = _beyond_l2(launch.known), number(launch.known, "duration_us")
    if not must or not duration or not launch.limits.dram_gbs:
        return
    least_us = must / launch.limits.dram_gbs * 1e-3
    if least_us * MOVED_AT_LEAST > duration:
        yield (
            f"The launch took {_time(launch.known)}, but the bytes it must move need {least_us:,.1f} us: it did not "
            "do its work, or the workload's bytes are too high."
        )


def _faster_than_operations(launch: Counted) -> Iterator[str]:
    """Nor can the operations be done faster than by the fastest pipe, if that is known: the tensor cores'."""
    work, duration = number(launch.known, "work.flops"), number(launch.known, "duration_us")
    peak = fastest_tflops(launch.limits)
    if not work or not duration or not peak or not launch.limits.tensor_tflops:
        return
    least_us = work / peak * 1e-6
    if least_us > TENSOR_FACTOR * _slack(launch.known) * duration:
        yield (
            f"The launch took {_time(launch.known)}, but its {work / 1e9:,.1f} GFLOP need {least_us:,.1f} us at "
            f"{peak:,.0f} TFLOP/s: it did not do its work, or the workload's operations are too many."
        )


def _counts_nothing(launch: Counted) -> Iterator[str]:
    """A launch that was measured executed instructions in some cycles; zeros there are no counts."""
    zero = [name for name in NEVER_ZERO if number(launch.known, name) == 0]
    if zero:
        yield f"A launch that ran cannot have {', '.join(zero)} of 0: it was not measured."


def _less_than_its_part(launch: Counted) -> Iterator[str]:
    """The throughput of SMs and memory is the largest of several parts; a part cannot be above it."""
    for whole, parts in PARTS.items():
        total = number(launch.known, whole)
        for part in parts:
            value = number(launch.known, part)
            if total is not None and value is not None and value > SAMPLING_SLACK * total + SAMPLING_POINTS:
                yield f"{part} is {value:.0f} % and {whole}, which includes it, {total:.0f} %."


def _busy_without_bytes(launch: Counted) -> Iterator[str]:
    """A DRAM that is busy moves something."""
    busy, moved = number(launch.known, "dram_pct"), number(launch.known, "dram_bytes")
    if busy is not None and busy > SAMPLING_POINTS and moved == 0:
        yield f"DRAM is {busy:.0f} % busy and moved no byte."


RULES: tuple[Rule, ...] = (
    _counts_nothing,
    _less_than_its_part,
    _busy_without_bytes,
    _beyond_bandwidth,
    _beyond_pipe,
    _beyond_hundred,
    _bytes_against_percent,
    _cycles_against_time,
    _too_few_bytes,
    _faster_than_bytes,
    _faster_than_operations,
)


def _beyond_l2(observations: Observations) -> float | None:
    """The bytes that must cross DRAM: L2 can be full of inputs before, and full of results after the launch."""
    must = number(observations, "work.bytes")
    if must is None:
        return None
    return max(0.0, must - 2 * (number(observations, "l2_size_bytes") or LARGEST_L2))


def _is_short(observations: Observations) -> bool:
    return (number(observations, "duration_us") or 0.0) < SHORT_US


def _slack(observations: Observations) -> float:
    return SHORT_SLACK if _is_short(observations) else SLACK


def _time(observations: Observations) -> str:
    return f"{number(observations, 'duration_us') or 0.0:,.1f} us"
