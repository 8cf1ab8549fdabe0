"""In a child process on the GPU: several versions of one kernel, timed interleaved with it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import partial

from kdiag.executors.bench import Source
from kdiag.executors.correctness.judging import label
from kdiag.executors.device_timing import Budget, Flush, interleaved
from kdiag.executors.paired_statistics import noise_floor, paired_ratio
from kdiag.records import ConfigurationTiming
from kdiag.workload import Workload, load_kernel, load_module


@dataclass(frozen=True)
class RaceRequest:
    """The versions to time; each was checked before."""

    workload: Workload
    parent: Source
    candidates: tuple[Source, ...]
    seconds: float = 0.8


def race(request: RaceRequest) -> tuple[tuple[ConfigurationTiming, ...], ...]:
    """For every candidate its timing in each configuration."""
    workload = load_module(request.workload.path, search=request.workload.path.parent)
    sources = (request.parent, request.parent, *request.candidates)
    kernel_file = request.workload.kernel_file
    modules = [load_kernel(kernel_file, each.path, source_hash=each.hash) for each in sources]
    flush, rows = Flush(), []
    for config in workload.configs():
        inputs = [workload.make_inputs(config, "cuda", 1) for _ in modules]
        arms = [partial(workload.run, module, own) for module, own in zip(modules, inputs, strict=True)]
        parent, twin, *others = interleaved(arms, Budget(seconds=request.seconds), flush)
        rows.append([_timing(label(config), parent, twin, candidate) for candidate in others])
    return tuple(zip(*rows, strict=True))


def _timing(name: str, parent: list[float], twin: list[float], candidate: list[float]) -> ConfigurationTiming:
    ratio = paired_ratio(parent, candidate)
    return ConfigurationTiming(
        configuration=name,
        parent_ms=statistics.median(parent),
        candidate_ms=statistics.median(candidate),
        speedup=ratio.median,
        low=ratio.low,
        high=ratio.high,
        noise_floor=noise_floor(parent, twin),
        samples=len(candidate),
    )
