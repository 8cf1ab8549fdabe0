"""What a run takes from earlier ones and leaves to later ones."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from operator import attrgetter

from kdiag import __version__
from kdiag.planner.experience import Experience, database
from kdiag.records import ArrayArgument, CompileFailure, Effect, Iteration, PastTrial, number
from kdiag.workload import source_hash

from .findings import Findings

# What a kernel's source can hold that makes it another kind of kernel; the words are the names of the observations.
FEATURES = (
    *("mma", "gathers", "scatters", "indirect_gathers", "loads", "loads_in_loops", "stores", "exponentials"),
    *("exact_divisions", "atomics", "persistent_loops", "swizzles"),
)
_same = attrgetter("kernel", "architecture", "toolchain", "parent_hash", "candidate_hash", "verdict")


@dataclass(frozen=True)
class Memory:
    """The trials of earlier runs as they were when this one began, and where its own are kept."""

    store: Experience
    known: tuple[PastTrial, ...]
    kernel: str
    target: str

    def remember(self, row: Iteration, findings: Findings, parent: str, effect: Effect) -> None:
        """Keep what became of a candidate of the source `parent`, and what it did; one that waits for a GPU has not been
        tried, and what ended again without a measurement is known.
        """
        if row.verdict == "ready":
            return
        causes = findings.diagnosis.causes
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
            low=min((each.low for each in row.timings if math.isfinite(each.low)), default=None),
            high=max((each.high for each in row.timings if math.isfinite(each.high)), default=None),
            configurations=len(row.timings),
            effect=effect,
        )
        if trial.speedup is not None or _same(trial) not in map(_same, self.known):
            self.store.record(trial)


def memory(kernel: str, target: str, warn: Callable[[str], None]) -> Memory:
    store = Experience(database(), warn)
    return Memory(store, store.known(), kernel, target)


def features(findings: Findings) -> tuple[str, ...]:
    """What kind of kernel this is, in order: what its source holds, and the types of its arrays."""
    launches = () if isinstance(findings.compilation, CompileFailure) else findings.compilation
    arguments = (each for evidence in launches for each in evidence.launch.arguments)
    types = {each.dtype for each in arguments if isinstance(each, ArrayArgument)}
    return tuple(sorted(types.union(w for w in FEATURES if number(findings.observations, f"source.{w}"))))


def _toolchain() -> str:
    try:
        return f"cuda-tile {metadata.version('cuda-tile')}"
    except metadata.PackageNotFoundError:
        return ""
