"""A heat of a race, in a child process on the GPU machine: many candidates beside one parent, few rounds.

All of them are checked before any is timed: wrong code never takes part.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from kdiag.executors import device_jobs
from kdiag.executors.bench import Heat, Source, Trial
from kdiag.executors.device_timing import Budget, Flush, interleaved
from kdiag.executors.paired_statistics import paired_ratio
from kdiag.workload import Workload, load_kernel, load_module


@dataclass(frozen=True)
class RaceRequest:
    """`check` is False for candidates that an earlier heat has checked."""

    workload: Workload
    parent: Source
    candidates: tuple[Source, ...]
    rounds: int
    check: bool


def race(request: RaceRequest) -> Heat:
    """Check the candidates and time those that are right, each configuration in as many rounds as asked for."""
    trials = tuple(_checked(request, candidate) for candidate in request.candidates)
    right = [n for n, trial in enumerate(trials) if not request.check or trial.passed]
    workload = load_module(request.workload.path, search=request.workload.path.parent)
    sources = (request.parent, *(request.candidates[n] for n in right))
    kernel = request.workload.kernel_file
    modules = [load_kernel(kernel, source.path, source_hash=source.hash) for source in sources]
    flush = Flush()
    columns = [_speedups(workload, modules, config, request.rounds, flush) for config in workload.configs()]
    speedups = dict(zip(right, zip(*columns, strict=True), strict=False))
    return Heat(trials, tuple(speedups.get(n, ()) for n in range(len(trials))))


def _checked(request: RaceRequest, candidate: Source) -> Trial:
    if not request.check:
        return Trial((), ())
    return device_jobs.check(device_jobs.TrialRequest(request.workload, request.parent, candidate))


def _speedups(
    workload: ModuleType, modules: list[ModuleType], config: dict[str, Any], rounds: int, flush: Flush
) -> list[float]:
    """The median paired ratio, parent over candidate, of every module but the first, which is the parent."""
    arms = device_jobs.arms(workload, modules, config)
    parent, *others = interleaved(arms, Budget(rounds, rounds, 0.0), flush)
    return [paired_ratio(parent, other).median for other in others]
