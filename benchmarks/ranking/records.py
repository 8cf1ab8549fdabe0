"""What is measured of every step of every kernel, and where it stands between the GPU and the scores."""

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from ranking.columns import column, rows

from kdiag import workload as workloads
from kdiag.codec import decode, encode
from kdiag.executors.bench import Baseline
from kdiag.loop.compiler import Compiler
from kdiag.loop.findings import Findings, gather
from kdiag.records import ConfigurationTiming, Observations

ROOT = Path(__file__).parents[2]
ENDS = ("low", "high")
EXAMPLES = ("softmax", "rms_norm", "matmul_bf16", "matmul_fp32", "vector_add")


@dataclass(frozen=True)
class Step:
    """One applicable step. `outcome` is "timed", or why it was not; `timings` stand beside the unedited kernel."""

    optimization: str
    variant: str
    outcome: str
    timings: tuple[ConfigurationTiming, ...] = ()

    @property
    def speedup(self) -> float | None:
        """The geometric mean over configurations, None for a step that was not timed."""
        return geometric_mean(timing.speedup for timing in self.timings) if self.timings else None


@dataclass(frozen=True)
class KernelSteps:
    """All single steps of one kernel in the order in which its edits offer them, with what was known of it before: the
    baseline, and what was counted.
    """

    folder: str
    kernel: str
    baseline: Baseline
    observed: Observations
    steps: tuple[Step, ...]
    gpu_s: float

    def findings(self, scratch: Path) -> tuple[str, Compiler, Findings]:
        """The unedited source, a compiler of it that writes to `scratch`, and what was known of it."""
        workload = workloads.read(ROOT / self.folder)
        source = workloads.read_source(workload.kernel_file)
        compiler = Compiler(workload, workload.kernel_file.name, "sm_90", scratch)
        return source, compiler, gather(source, self.kernel, compiler, None, self.observed)

    @property
    def held_out(self) -> bool:
        """Whether no rule or prior was set in view of this kernel."""
        return "held_out" in self.folder


@dataclass(frozen=True)
class Measurements:
    """One run of `measure.py`."""

    gpu: str
    date: str
    kernels: tuple[KernelSteps, ...]


def folders() -> list[Path]:
    """The workloads: of the examples, others with a naive start, and those held out of any tuning."""
    found = [ROOT / "examples" / name for name in EXAMPLES]
    found += sorted(path.parent for path in (ROOT / "benchmarks/kernels").glob("*/workload.py"))
    return found + sorted(path.parent for path in Path(__file__).parent.glob("held_out/*/workload.py"))


def write(path: Path, measured: Measurements) -> None:
    """Write as columns of few digits, compressed if the name ends in .xz. Left out are sentences after an outcome's first,
    and a candidate's time, which nobody asks for: `read` takes it for the parent's over the speed-up. An interval is
    written as shares of the speed-up.
    """
    measured = replace(measured, kernels=tuple(map(_first_sentences, measured.kernels)))
    brief = _brief(encode(measured))
    for timing in _timings(brief):
        timing |= {end: round(timing[end] / timing["speedup"], 3) for end in ENDS}
        timing["noise_floor"] = float(f"{timing['noise_floor']:.1g}")
    text = json.dumps(column([brief]), separators=(",", ":")).encode()
    path.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME) if path.suffix == ".xz" else text)


def _first_sentences(found: KernelSteps) -> KernelSteps:
    return replace(found, steps=tuple(replace(s, outcome=s.outcome.partition(". ")[0]) for s in found.steps))


def _brief(value: Any, digits: int = 4) -> Any:
    """The value without long texts and digits that say nothing: but for the speed-up three of a timing."""
    if isinstance(value, dict):
        fewer = {"timings": 3, "speedup": 4}
        kept = {n: "" if n in ("text", "reason") else v for n, v in value.items() if n != "candidate_ms"}
        return {n: _brief(v, fewer.get(n, digits)) for n, v in kept.items()}
    if isinstance(value, list):
        return [_brief(item, digits) for item in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def read(path: Path) -> Measurements:
    data = path.read_bytes()
    (measured,) = rows(json.loads(lzma.decompress(data) if path.suffix == ".xz" else data))
    for timing in _timings(measured):
        timing |= {end: timing[end] * timing["speedup"] for end in ENDS}
        timing["candidate_ms"] = timing["parent_ms"] / timing["speedup"]
    return decode(Measurements, measured)


def _timings(measured: Any) -> Iterator[dict[str, Any]]:
    return (each for kernel in measured["kernels"] for step in kernel["steps"] for each in step["timings"])
