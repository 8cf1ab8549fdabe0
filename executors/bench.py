"""The measuring interface: what the loop asks of a bench, and what a bench answers.

A bench is a GPU with a Python workload (`device_bench`), a pair of commands (`command_bench`) or a recorded run
(`replay`). The loop cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from kdiag.errors import KdiagError
from kdiag.isolate import Died
from kdiag.records import Clocks, ConfigurationCheck, ConfigurationTiming, Gpu, NotEvaluated, Observations
from kdiag.workload import Call, source_hash


@dataclass(frozen=True)
class Source:
    """A kernel file and the SHA-256 its text must have when a child imports it."""

    path: Path
    hash: str

    @classmethod
    def of(cls, path: Path) -> Source:
        """The source as it is on disk now."""
        return cls(path, source_hash(path.read_bytes().decode()))


@dataclass(frozen=True)
class ConfigurationBaseline:
    """One configuration of the unedited kernel.

    `ms` is the median device time, `spread_ms` its interquartile range. `limit_ms` is the shortest time that the
    workload's own bytes and operations allow at the copy bandwidth and matrix rate measured on this card in the
    same process; None when the workload does not say or nothing was measured. `least_ms` is what no correct kernel
    can undercut (see `physical_limit`).
    """

    configuration: str
    ms: float
    spread_ms: float
    limit_ms: float | None = None
    limited_by: str | None = None
    gbs: float | None = None
    tflops: float | None = None
    least_ms: float | None = None
    clocks: Clocks | None = None


@dataclass(frozen=True)
class Baseline:
    """Iteration 0: correctness and time of the kernel as it is. `copy_gbs` counts bytes read and written; `copy_unknown`
    says why commands have none.

    `not_evaluated` is what no candidate of the run is asked, because this kernel does not pass it. `calls` are those
    that a benchmark made of the kernel file, where somebody listened.
    """

    checks: tuple[ConfigurationCheck, ...]
    configurations: tuple[ConfigurationBaseline, ...]
    copy_gbs: float | None = None
    matrix_tflops: float | None = None
    not_evaluated: tuple[NotEvaluated, ...] = ()
    calls: tuple[Call, ...] = ()
    copy_unknown: str = ""

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)


@dataclass(frozen=True)
class Trial:
    """One candidate against its parent. `timings` is empty when a check failed: wrong code is not timed.

    `not_evaluated` as in `Baseline`, where it was found out for this candidate alone.
    """

    checks: tuple[ConfigurationCheck, ...]
    timings: tuple[ConfigurationTiming, ...]
    not_evaluated: tuple[NotEvaluated, ...] = ()

    @property
    def passed(self) -> bool:
        return bool(self.checks) and all(check.passed for check in self.checks)


@dataclass(frozen=True)
class Counters:
    """What a profiler measured of one launch of the kernel, by canonical metric name."""

    observations: Observations


def counters_in(report: Path, kernel: str, read: Callable[[Path, str], Observations]) -> Counters | Died:
    """What `read` finds in a profiler's report. One that is damaged, as on a full disk, costs a run its counters only."""
    try:
        return Counters(read(report, kernel))
    except KdiagError as error:
        return Died("error", str(error))


@dataclass(frozen=True)
class Heat:
    """Candidates beside one parent, in the order asked: their median speed-ups by configuration, in how many rounds."""

    speedups: tuple[tuple[float, ...], ...]
    rounds: tuple[int, ...]


class Bench(Protocol):
    """Measures kernel sources. Paths are files whose text is exactly the source to run."""

    def gpu(self) -> Gpu | None:
        """The card that measures, or None where there is none."""
        ...

    def baseline(self, source: Path) -> Baseline | Died:
        """Check and time one source."""
        ...

    def counters(self, source: Path, kernel: str) -> Counters | Died:
        """Profile one launch of `kernel`; Died says why there are no counters and what to do."""
        ...

    def trial(self, parent: Path, candidate: Path) -> Trial | Died:
        """Check `candidate`, then time it interleaved with `parent` and with `parent` against itself."""
        ...


@runtime_checkable
class Races(Protocol):
    """A bench that also checks and times many candidates at once, roughly, to find out which deserves a trial."""

    def checks(self, parent: Path, candidates: Sequence[Path]) -> tuple[Trial | Died, ...]:
        """What is required of every version, checked of each candidate; nothing is timed."""
        ...

    def race(self, parent: Path, candidates: Sequence[Path], slower_pct: float) -> Heat | Died:
        """Time candidates that are right interleaved with `parent`; `slower_pct` as in `halving.score`."""
        ...


@runtime_checkable
class Samples(Protocol):
    """A bench that also counts what the hardware does, in about a second."""

    def samples(self, source: Path, kernel: str) -> Counters | Died:
        """The counters of `kernel`, by canonical metric name."""
        ...
