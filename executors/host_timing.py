"""How much of a run is the GPU's and how much the host's, measured without a profiler.

Runs that follow each other are timed twice: as the host makes them, and queued up behind a kernel that only waits, so
that the GPU finds all of them ready. The difference is time in which the GPU waits for the host.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from kdiag import isolate
from kdiag.isolate import Died
from kdiag.records import Evidence
from kdiag.workload import Workload

from .bench import Source

TIMEOUT_S = 120.0  # compilation of the kernel included
SEED = 1
MOST_RUNS = 20
QUEUE = 800  # launches that fit a stream's queue of 1024 with room for what else the wrapper launches
REPEATS = 7
WAIT_CYCLES = 200_000_000  # about 0.1 s at 2 GHz: longer than the host takes to queue the runs


@dataclass(frozen=True)
class TimingRequest:
    """Time one configuration of a workload with the kernel file `source`."""

    workload: Workload
    source: Source
    configuration: int = 0


@dataclass(frozen=True)
class RunTiming:
    """One run: `period_us` from one to the next as the host makes them, `device_us` with all of them queued.

    `device_us` is None where runs cannot be queued, because one waits for the GPU itself. `launches` counts cuTile
    launches alone, those of a first run (which may tune) left out.
    """

    period_us: float
    device_us: float | None
    launches: int

    def observations(self) -> dict[str, Evidence]:
        found = [("timing.launches", float(self.launches), "", "cuTile launches a run")]
        if self.device_us is not None:
            idle = max(0.0, 100 * (1 - self.device_us / self.period_us))
            found.append(("timing.host_share_pct", idle, "%", "time between runs in which the GPU is idle"))
            if self.launches:
                each = self.device_us / self.launches
                found.append(("timing.mean_launch_us", each, "us", "time on the GPU for each cuTile launch"))
        return {name: Evidence("timing", name, value, unit, text=text) for name, value, unit, text in found}


def time_runs(request: TimingRequest, *, timeout_s: float = TIMEOUT_S) -> RunTiming | Died:
    return isolate.run(_time_runs, request, timeout_s=timeout_s)


def _time_runs(request: TimingRequest) -> RunTiming:
    from .device_jobs import loaded
    from .pm_sampling.launches import recorded_launches

    with recorded_launches() as launches:
        workload, module = loaded(request.workload, request.source)
        config = workload.configs()[request.configuration]
        inputs = workload.make_inputs(config, "cuda", SEED)
        workload.run(module, inputs)
        launches.clear()
        workload.run(module, inputs)
        count = len(launches)

    def run() -> object:
        return workload.run(module, inputs)

    runs = max(1, min(MOST_RUNS, QUEUE // max(1, count)))
    _period_us(run, runs)  # a warm-up
    return RunTiming(
        period_us=statistics.median(_period_us(run, runs) for _ in range(REPEATS)),
        device_us=_device_us(run, runs),
        launches=count,
    )


def _period_us(run: Callable[[], object], runs: int) -> float:
    """Wall time from run to run, the last one's work included."""
    import torch

    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(runs):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) * 1e6 / runs


def _device_us(run: Callable[[], object], runs: int) -> float | None:
    """Time on the GPU from run to run; with fewer of them where the host cannot queue so many in time."""
    while runs:
        times = [_queued_us(run, runs) for _ in range(REPEATS)]
        known = [each for each in times if each is not None]
        if len(known) == REPEATS:
            return statistics.median(known)
        runs //= 2
    return None


def _queued_us(run: Callable[[], object], runs: int) -> float | None:
    """Time on the GPU from run to run, all of them queued while it was kept waiting; None if it did not wait that long."""
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(WAIT_CYCLES)
    start.record()
    for _ in range(runs):
        run()
    waited = not start.query()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) * 1e3 / runs if waited else None
