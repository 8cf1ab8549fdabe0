"""A race, in child processes on the GPU machine: many candidates beside one parent."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from kdiag.isolate import Died
from kdiag.workload import Workload

from . import device_jobs
from .bench import Heat, Source
from .device_timing import Budget, Flush, interleaved
from .halving import ROUNDS, Speedups, halved
from .paired_statistics import paired_ratio

HEAT_S = 1.0  # for one configuration of a heat that could do with fewer rounds


@dataclass(frozen=True)
class RaceRequest:
    """Candidates that were found right: wrong code never takes part. `slower_pct` as in `halving.score`."""

    workload: Workload
    parent: Source
    candidates: tuple[Source, ...]
    slower_pct: float


@dataclass(frozen=True)
class HeatRequest:
    """One heat by itself: `racers` beside their parent, in at least so many rounds."""

    workload: Workload
    parent: Source
    racers: tuple[Source, ...]
    least: int


def race(request: RaceRequest) -> Heat | Died:
    """Each candidate's median paired ratio, the parent's time over its own: all heats in this one process."""
    workload, (parent, *modules) = device_jobs.versions(request.workload, (request.parent, *request.candidates))
    flush = Flush()

    def time(racers: Sequence[int], least: int) -> tuple[int, Speedups]:
        return _timed(workload, [parent, *(modules[racer] for racer in racers)], least, flush)

    return halved(len(request.candidates), time, request.slower_pct)


def heat(request: HeatRequest) -> tuple[int, Speedups]:
    """In how many rounds a part of the configurations was timed, and each racer's median paired ratios."""
    workload, modules = device_jobs.versions(request.workload, (request.parent, *request.racers))
    return _timed(workload, modules, request.least, Flush())


def _timed(workload: ModuleType, modules: Sequence[ModuleType], least: int, flush: Flush) -> tuple[int, Speedups]:
    rounds, columns = ROUNDS, []
    for config in workload.configs():
        parent, *others = interleaved(device_jobs.arms(workload, modules, config), Budget(least, ROUNDS, HEAT_S), flush)
        rounds = min(rounds, len(parent))
        columns.append([paired_ratio(parent, other).median for other in others])
    return rounds, tuple(zip(*columns, strict=True))
