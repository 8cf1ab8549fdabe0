"""In a child process on the GPU: several versions of one kernel, timed interleaved with it."""

from dataclasses import dataclass

from kdiag.executors import device_jobs
from kdiag.executors.bench import Source
from kdiag.executors.correctness.judging import label
from kdiag.executors.device_timing import Budget, Flush, interleaved
from kdiag.executors.paired_statistics import timing
from kdiag.workload import Workload


@dataclass(frozen=True)
class RaceRequest:
    """The versions to time; each was checked before."""

    workload: Workload
    parent: Source
    candidates: tuple[Source, ...]
    seconds: float = 0.8


def race(request: RaceRequest) -> tuple[tuple[tuple[float, ...], float], ...]:
    """For every candidate its speed-up in each configuration, and the spread of these, as in `Step`."""
    sources = (request.parent, request.parent, *request.candidates)
    workload, modules = device_jobs.versions(request.workload, sources)
    flush, rows = Flush(), []
    for config in workload.configs():
        arms = device_jobs.arms(workload, modules, config)
        parent, twin, *others = interleaved(arms, Budget(seconds=request.seconds), flush)
        rows.append([timing(label(config), parent, twin, candidate) for candidate in others])
    return tuple(
        (tuple(each.speedup for each in one), max((each.high - each.low) / 2 / each.speedup for each in one))
        for one in zip(*rows, strict=True)
    )
