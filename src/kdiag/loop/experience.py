"""What a run takes from earlier ones and leaves to later ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata

from kdiag import __version__
from kdiag.loop.findings import Findings
from kdiag.planner.experience import Experience, database
from kdiag.records import ArrayArgument, CompileFailure, Iteration, Observations, PastTrial
from kdiag.workload import source_hash

# What kind of kernel it is: the word that stands for a count above 0 of what its source holds.
FEATURES = {
    "mma": ("source.mma",),
    "gathers": ("source.gathers", "source.scatters"),
    "indirect": ("source.indirect_gathers",),
    "tile-accesses": ("source.loads", "source.stores"),
    "loads-in-loops": ("source.loads_in_loops",),
    "exponentials": ("source.exponentials",),
    "divisions": ("source.exact_divisions",),
    "atomics": ("source.atomics",),
    "persistent": ("source.persistent_loops",),
    "grouped-tiles": ("source.swizzles",),
}


@dataclass(frozen=True)
class Memory:
    """The trials of earlier runs as they were when this one began, and where its own are kept."""

    store: Experience
    known: tuple[PastTrial, ...]
    kernel: str
    target: str

    def remember(self, row: Iteration, findings: Findings, parent: str) -> None:
        """Keep what became of a candidate of the source `parent`; one that waits for a GPU has not been tried."""
        if row.verdict == "ready":
            return
        causes, timings = findings.diagnosis.causes, row.timings
        trial = PastTrial(
            time=datetime.now().astimezone().isoformat(timespec="seconds"),
            version=__version__,
            kernel=self.kernel,
            parent_hash=source_hash(parent),
            candidate_hash=row.source_hash,
            features=features(findings),
            cause=causes[0].id if causes else "",
            bottleneck=findings.diagnosis.bottleneck,
            architecture=self.target,
            toolchain=_toolchain(),
            optimization=row.optimization,
            variant=row.variant,
            verdict=row.verdict,
            speedup=row.speedup,
            low=min((timing.low for timing in timings if math.isfinite(timing.low)), default=None),
            high=max((timing.high for timing in timings if math.isfinite(timing.high)), default=None),
            configurations=len(timings),
        )
        self.store.record(trial)


def memory(kernel: str, target: str, warn: Callable[[str], None]) -> Memory:
    """The memory of a run, from the user's data folder. `warn` is told once if it cannot be used."""
    store = Experience(database(), warn)
    return Memory(store, store.known(), kernel, target)


def features(findings: Findings) -> tuple[str, ...]:
    """Words for what kind of kernel this is, in order: what its source holds, and the types of its arrays."""
    held = [word for word, names in FEATURES.items() if any(_count(findings.observations, n) for n in names)]
    launches = () if isinstance(findings.compilation, CompileFailure) else findings.compilation
    arrays = (each for evidence in launches for each in evidence.launch.arguments)
    return tuple(sorted({*held, *(each.dtype for each in arrays if isinstance(each, ArrayArgument))}))


def _count(observations: Observations, name: str) -> float:
    evidence = observations.get(name)
    return float(evidence.value) if evidence is not None and isinstance(evidence.value, int | float) else 0.0


def _toolchain() -> str:
    """The compiler's version, "" where there is none."""
    try:
        return f"cuda-tile {metadata.version('cuda-tile')}"
    except metadata.PackageNotFoundError:
        return ""
