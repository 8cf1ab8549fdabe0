"""What the stages say to each other: frozen records, no behaviour beyond trivial derivations.

Units are in the field names: `_us` microseconds, `_ms` milliseconds, `_pct` percent, `_gbs` 10^9 bytes per
second, `_tflops` 10^12 operations per second, `_bytes` bytes. `None` means unavailable and is never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Scalar = float | int | str | bool | None
EvidenceKind = Literal["metric", "remark", "resource", "source", "timing"]
Safety = Literal["safe", "changes-rounding", "manual"]
VerdictName = Literal["keep", "revert", "crash", "no-op", "inconclusive", "ready"]
GateOutcome = Literal["passed", "failed", "could-not-run"]


@dataclass(frozen=True)
class Place:
    """A position in a source file; `line` counts from 1, `column` from 0 as Python's `ast` does."""

    file: str
    line: int
    column: int = 0


@dataclass(frozen=True)
class Evidence:
    """One observation: a profiler metric, compiler remark, cubin resource, source fact or timing."""

    kind: EvidenceKind
    name: str
    value: Scalar
    unit: str = ""
    where: Place | None = None
    text: str = ""


# What is known about a launch, by canonical name (`dram_pct`, `compile.stack_bytes`, `source.exact_divisions`).
# A name that is absent, or whose value is None, is unavailable; a test that needs it is not evaluated.
Observations = Mapping[str, Evidence]


# ---- diagnosis ------------------------------------------------------------------------------------------


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


# ---- compiler evidence ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Remark:
    """One remark of tileiras. `instruction` is e.g. "TMA Load instruction", `text` its full sentence."""

    name: str
    passed: bool
    where: Place
    function: str
    instruction: str = ""
    shape: str = ""
    text: str = ""


@dataclass(frozen=True)
class ArrayArgument:
    """An array as a launch passes it: strides in elements, `alignment` of its address in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int = 16


@dataclass(frozen=True)
class ScalarArgument:
    """A run-time scalar (`constant` False) or a compile-time `ct.Constant`."""

    name: str
    value: int | float | bool
    constant: bool


Argument = ArrayArgument | ScalarArgument


@dataclass(frozen=True)
class Launch:
    """One captured `ct.launch`; `configuration` is the index in the workload's `configs()`."""

    kernel: str
    grid: tuple[int, ...]
    arguments: tuple[Argument, ...]
    configuration: int = 0


@dataclass(frozen=True)
class CompileEvidence:
    """What ahead-of-time compilation of one launch says. `code_hash` covers the machine code alone."""

    kernel: str
    target: str
    launch: Launch
    registers: int | None
    stack_bytes: int | None
    shared_bytes: int | None
    code_bytes: int
    code_hash: str
    remarks: tuple[Remark, ...]
    seconds: float


@dataclass(frozen=True)
class CompileFailure:
    """A kernel that did not compile. `kind`: error, crash (signal), timeout, unavailable (no toolchain)."""

    kind: Literal["error", "crash", "timeout", "unavailable"]
    message: str
    kernel: str = ""


Compilation = tuple[CompileEvidence, ...] | CompileFailure


# ---- plan -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Promise:
    """What the compiler must say after an edit, relative to its parent; the effect gate checks it.

    `observation` is a name of `diagnose.observe.from_compilation` (e.g. `compile.tma_loads`), `change` how it
    must move. `at_line` restricts remark counts to one line of the edited source.
    """

    observation: str
    change: Literal["increases", "decreases", "is-zero", "not-worse"]
    text: str


@dataclass(frozen=True)
class Variant:
    """One setting of an optimization, e.g. G with tile_m=128. `name` is unique within the optimization."""

    optimization: str
    name: str
    settings: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Proposal:
    """What an executor offers for one variant. `source` is the whole edited file, None when skipped."""

    variant: Variant
    title: str
    safety: Safety
    source: str | None
    why_not: str | None
    where: Place | None
    diff: str = ""
    promises: tuple[Promise, ...] = ()


@dataclass(frozen=True)
class ExpectedSpeedup:
    """A ratio of times, parent over edited: 1.35 is 35 % faster, 0.2 five times slower."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True)
class Suggestion:
    """A ranked entry of a plan. `proposal` is None for an optimization without executor."""

    rank: int
    optimization: str
    variant: str
    title: str
    cause: str
    tier: int
    expected_speedup: ExpectedSpeedup
    confidence: float
    safety: Safety
    applicable: bool
    why_not: str | None
    where: Place | None
    evidence: tuple[Evidence, ...]
    explanation: str
    proposal: Proposal | None = None


# ---- run ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GateRecord:
    """What one gate said of a candidate, and why."""

    gate: str
    outcome: GateOutcome
    reason: str = ""


@dataclass(frozen=True)
class ConfigurationCheck:
    """Correctness of one configuration: the largest error against the reference, scaled to its tolerance."""

    configuration: str
    passed: bool
    error: float | None
    tolerance: float | None
    reason: str = ""


@dataclass(frozen=True)
class ConfigurationTiming:
    """Paired, interleaved timing of one configuration.

    `speedup` is the median of the paired ratios parent/candidate with its 95 % interval `low`..`high`;
    `noise_floor` the same statistic's distance from 1 for the parent against itself (A/A), as a ratio - 1.
    """

    configuration: str
    parent_ms: float
    candidate_ms: float
    speedup: float
    low: float
    high: float
    noise_floor: float
    samples: int


@dataclass(frozen=True)
class Verdict:
    """The decision on one candidate, by the precedence table of `executors/decide.py`."""

    name: VerdictName
    reason: str
    stop: bool = False
    lower_priority: bool = False


@dataclass(frozen=True)
class Iteration:
    """One row of a run. Row 0 is the baseline: `variant` is empty and `optimization` is "baseline"."""

    n: int
    optimization: str
    variant: str
    title: str
    correctness: Literal["PASS", "FAIL", "-"]
    latency_ms: float | None
    speedup: float | None
    verdict: VerdictName
    reason: str
    gates: tuple[GateRecord, ...] = ()
    timings: tuple[ConfigurationTiming, ...] = ()
    checks: tuple[ConfigurationCheck, ...] = ()
    source_hash: str = ""
    commit: str | None = None
    seconds: float = 0.0
