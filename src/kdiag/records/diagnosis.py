"""What limits a launch: limits, roofline, causes, and the profile of a report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .compilation import CompileEvidence
from .observations import Evidence, Scalar

LaunchRole = Literal["kernel", "fill", "copy", "library"]


@dataclass(frozen=True)
class Limits:
    """What the card can do at most. `source` says where the figures come from: report, device table, unknown."""

    dram_gbs: float | None = None
    l2_gbs: float | None = None
    l1_gbs: float | None = None
    fp32_tflops: float | None = None
    fp64_tflops: float | None = None
    tensor_tflops: Mapping[str, float] = field(default_factory=dict)  # by operand dtype: bf16, fp16, tf32, fp8
    source: str = "unknown"


def architecture(compute_capability: str) -> str:
    """The name by which the compiler knows it: "sm_90" for "9.0"."""
    return f"sm_{compute_capability.replace('.', '')}"


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
class RooflineLevel:
    """One level of the memory under the roofline: the bytes that crossed it and the shortest time that takes.

    `intensity_flop_per_byte` is over the bytes of this level; `ridge` where its bandwidth meets the pipes' peak.
    """

    level: Literal["dram", "l2", "l1"]
    bytes: float
    gbs: float | None = None
    intensity_flop_per_byte: float | None = None
    ridge: float | None = None
    limit_us: float | None = None
    pct_of_limit: float | None = None


@dataclass(frozen=True)
class RooflinePipe:
    """One arithmetic pipe under the roofline: what it computed, its peak, and the shortest time that takes."""

    pipe: str  # fp32, fp64, or "tensor " and the operand type
    operations: float
    tflops: float | None = None
    limit_us: float | None = None
    pct_of_limit: float | None = None


@dataclass(frozen=True)
class Roofline:
    """Where a launch stands under the roofline. Intensity is FLOP per DRAM byte, limit_us the shortest time.

    `levels` and `pipes` hold what was counted, and are empty where nothing was. `minimum_us` is the shortest time
    for the bytes and operations the kernel cannot do without, where these are known; `excess_traffic` is DRAM bytes
    moved over the bytes it cannot do without. `intensity_class` sets priorities only: below 10 FLOP per byte memory,
    to 50 balanced, above compute.
    """

    intensity_flop_per_byte: float | None = None
    ridge: float | None = None
    limited_by: str | None = None
    limit_us: float | None = None
    pct_of_limit: float | None = None
    levels: tuple[RooflineLevel, ...] = ()
    pipes: tuple[RooflinePipe, ...] = ()
    intensity_class: Literal["memory", "balanced", "compute"] | None = None
    minimum_us: float | None = None
    excess_traffic: float | None = None


@dataclass(frozen=True)
class Cause:
    """Why a launch is limited: an id of `rules/causes`, its score in 0..1, and what shows it."""

    id: str
    score: float
    bottleneck: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on one set of observations; `causes` best first; `not_evaluated` says what was missing.

    `consequences` are causes that show as well and are explained by one of `causes`.
    """

    bottleneck: str
    confidence: float
    causes: tuple[Cause, ...]
    not_evaluated: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()


@dataclass(frozen=True)
class LaunchProfile:
    """One profiled launch. `name` is the Python function, `symbol` what the report calls it.

    `role` tells the kernels to be diagnosed from fills, copies and other kernels of a library; `share_pct` is the
    launch's part of the time of all launches in the report. `contradictions` say why the counters cannot be true;
    where there are any, the bottleneck is unknown. `compiled` holds what the compiler says, `constants` the
    compile-time arguments, `nvtx` the ranges around the launch, outermost first.
    """

    index: int
    name: str
    symbol: str
    grid: tuple[int, ...] | None
    block: tuple[int, ...] | None
    duration_us: float | None
    sol: SpeedOfLight
    roofline: Roofline
    diagnosis: Diagnosis
    role: LaunchRole = "kernel"
    share_pct: float | None = None
    constants: Mapping[str, Scalar] = field(default_factory=dict)
    nvtx: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    compiled: CompileEvidence | None = None


@dataclass(frozen=True)
class OtherLaunches:
    """Launches beside the kernels that are diagnosed, taken together by name: fills, copies, kernels of libraries."""

    name: str
    role: LaunchRole
    launches: int
    duration_us: float | None
    share_pct: float | None


@dataclass(frozen=True)
class Profile:
    """All launches of a report, of a live run, or of a compilation. `notes` say what could not be had, and why."""

    source: str
    gpu: Gpu
    kernels: tuple[LaunchProfile, ...]
    others: tuple[OtherLaunches, ...] = ()
    notes: tuple[str, ...] = ()
