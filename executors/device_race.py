"""A race, in a child process on the GPU machine: many candidates beside one parent."""

from collections.abc import Sequence
from dataclasses import dataclass

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


def race(request: RaceRequest) -> Heat:
    """Each candidate's median paired ratio, the parent's time over its own: all heats in this one process."""
    workload, modules = device_jobs.versions(request.workload, (request.parent, *request.candidates))
    flush = Flush()

    def time(racers: Sequence[int], least: int) -> tuple[int, Speedups]:
        rounds, columns = ROUNDS, []
        for config in workload.configs():
            arms = device_jobs.arms(workload, [modules[0], *(modules[1 + racer] for racer in racers)], config)
            parent, *others = interleaved(arms, Budget(least, ROUNDS, HEAT_S), flush)
            rounds = min(rounds, len(parent))
            columns.append([paired_ratio(parent, other).median for other in others])
        return rounds, tuple(zip(*columns, strict=True))

    return halved(len(request.candidates), time, request.slower_pct)
