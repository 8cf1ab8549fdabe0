"""A heat of a race, in a child process on the GPU machine: many candidates beside one parent, few rounds."""

from dataclasses import dataclass

from kdiag.executors import device_jobs
from kdiag.executors.bench import Heat, Source
from kdiag.executors.device_timing import Budget, Flush, interleaved
from kdiag.executors.paired_statistics import paired_ratio
from kdiag.workload import Workload


@dataclass(frozen=True)
class RaceRequest:
    """Candidates that were found right: wrong code never takes part."""

    workload: Workload
    parent: Source
    candidates: tuple[Source, ...]
    rounds: int


def race(request: RaceRequest) -> Heat:
    """Each candidate's median paired ratio, the parent's time over its own, in as many rounds as asked for."""
    workload, modules = device_jobs.versions(request.workload, (request.parent, *request.candidates))
    flush, columns = Flush(), []
    for config in workload.configs():
        arms = device_jobs.arms(workload, modules, config)
        parent, *others = interleaved(arms, Budget(request.rounds, request.rounds, 0.0), flush)
        columns.append([paired_ratio(parent, other).median for other in others])
    return Heat(tuple(zip(*columns, strict=True)))
