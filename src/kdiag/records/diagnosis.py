"""What limits a launch: limits, roofline, causes, and the profile of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kdiag.records.observations import Evidence


@dataclass(frozen=True)
class Limits:
    """What the card can do at most. `source` says where the figures come from: report, device table, unknown."""

    dram_gbs: float | None = None
    l2_gbs: float | None = None
    fp32_tflops: float | None = None
    tensor_tflops: Mapping[str, float] = field(
        default_factory=dict
    )  # by operand dtype: bf16, fp16, tf32, fp8
    source: str = "unknown"


@dataclass(frozen=True)
class Gpu:
    """The card as the report or the driver names it; `compute_capability` is "9.0" for an H200."""

    name: str
    compute_capability: str | None
    sm_count: int | None
    limits: Limits = Limits()


@dataclass(frozen=True)
class SpeedOfLight:
    """Throughput of the busiest unit of each kind, in percent of its peak over the elapsed time."""

    compute_pct: float | None
    memory_pct: float | None
    dram_pct: float | None


@dataclass(frozen=True)
class Roofline:
    """Where a launch stands under the roofline. Intensity is FLOP per DRAM byte, limit_us the shortest time."""

    intensity_flop_per_byte: float | None = None
    ridge: float | None = None
    limited_by: str | None = None
    limit_us: float | None = None
    pct_of_limit: float | None = None


@dataclass(frozen=True)
class Cause:
    """Why a launch is limited: an id of `rules/causes`, its score in 0..1, and what shows it."""

    id: str
    score: float
    bottleneck: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on one set of observations; `causes` best first; `not_evaluated` says what was missing."""

    bottleneck: str
    confidence: float
    causes: tuple[Cause, ...]
    not_evaluated: tuple[str, ...] = ()


@dataclass(frozen=True)
class LaunchProfile:
    """One profiled launch. `name` is the Python function, `symbol` what the report calls it."""

    index: int
    name: str
    symbol: str
    grid: tuple[int, ...] | None
    block: tuple[int, ...] | None
    duration_us: float | None
    sol: SpeedOfLight
    roofline: Roofline
    diagnosis: Diagnosis


@dataclass(frozen=True)
class Profile:
    """All launches of a report."""

    source: str
    gpu: Gpu
    kernels: tuple[LaunchProfile, ...]
