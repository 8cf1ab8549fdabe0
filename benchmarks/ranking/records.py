"""What is measured of every step of every kernel, and where it stands between the GPU and the scores."""

import json
import lzma
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
from kdiag.records import Observations

ROOT = Path(__file__).parents[2]
DIGITS = {"spread": 1, "observed": 3}
EXAMPLES = ("softmax", "rms_norm", "matmul_bf16", "matmul_fp32", "vector_add")


@dataclass(frozen=True)
class Step:
    """One applicable step. `outcome` is "timed", or why it was not; `speedups` over the unedited kernel by configuration,
    `spread` the widest half of their intervals, as a share.
    """

    optimization: str
    variant: str
    outcome: str
    speedups: tuple[float, ...] = ()
    spread: float = 0.0

    @property
    def speedup(self) -> float | None:
        """The geometric mean over configurations, None for a step that was not timed."""
        return geometric_mean(self.speedups) if self.speedups else None


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
    """Write as columns of few digits, compressed if the name ends in .xz. Sentences after an outcome's first are left out."""
    measured = replace(measured, kernels=tuple(map(_first_sentences, measured.kernels)))
    text = json.dumps(column([_brief(encode(measured))]), separators=(",", ":")).encode()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 2, "pb": 0}]
    path.write_bytes(lzma.compress(text, check=lzma.CHECK_CRC32, filters=filters) if path.suffix == ".xz" else text)


def _first_sentences(found: KernelSteps) -> KernelSteps:
    return replace(found, steps=tuple(replace(s, outcome=s.outcome.partition(". ")[0]) for s in found.steps))


def _brief(value: Any, digits: int = 4) -> Any:
    """The value without long texts and digits that say nothing."""
    if isinstance(value, dict):
        return {n: "" if n in ("text", "reason") else _brief(v, DIGITS.get(n, digits)) for n, v in value.items()}
    if isinstance(value, list):
        return [_brief(item, digits) for item in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def read(path: Path) -> Measurements:
    data = path.read_bytes()
    (measured,) = rows(json.loads(lzma.decompress(data) if path.suffix == ".xz" else data))
    return decode(Measurements, measured)
