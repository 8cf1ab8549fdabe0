"""What runs in the sampling child: capture the launch, repeat it, sample it. It answers with PmCounters."""

import time
from collections.abc import Mapping

import torch

from kdiag.records import Evidence
from kdiag.rules.load_metrics import load_metrics

from ..device_jobs import loaded
from .collector import CuptiSampler
from .launches import GpuLaunch, Repeater, fingerprint, recorded_launches
from .records import PmCounters, PmRequest, SamplingFailed
from .windows import Accepted, accepted, data_notes, metric_set, runs_of, sampled_values

SEED = 1


def collect(request: PmRequest) -> PmCounters:
    """Sample the counters of one launch. Raises SamplingFailed with what to do."""
    chosen = metric_set(torch.cuda.get_device_capability())
    runs = runs_of(chosen, request.passes)
    launch, notes = captured(request)
    started = time.perf_counter()
    before = fingerprint(launch)
    repeater = Repeater(launch)
    sampler = CuptiSampler(torch.cuda.current_device())
    windows = [(accepted(sampler, repeater, chosen, metrics), metrics) for metrics in runs]
    notes += data_notes(before, fingerprint(launch))
    first = windows[0][0]
    observations = {**sampled_values(windows), **launch_facts(launch, first)}
    clock = observations["sm_clock_hz"].value if "sm_clock_hz" in observations else None
    return PmCounters(
        kernel=launch.name,
        grid=launch.grid,
        observations=observations,
        duration_us=first.launched.launch_ms * 1e3,
        sm_clock_hz=clock if isinstance(clock, float) else None,
        launches=first.launched.launches,
        seconds=time.perf_counter() - started,
        interval_ns=max(window.interval_ns for window, _ in windows),
        busy_pct=min(window.trimmed.busy_pct for window, _ in windows),
        notes=notes,
    )


def captured(request: PmRequest) -> tuple[GpuLaunch, tuple[str, ...]]:
    """The last launch of the kernel in one run of the workload, and what to note. Raises SamplingFailed.

    The last, because a wrapper that tunes launches its candidates first.
    """
    with recorded_launches() as launches:
        workload, module = loaded(request.workload, request.source)
        config = workload.configs()[request.configuration]
        workload.run(module, workload.make_inputs(config, "cuda", SEED))
    torch.cuda.synchronize()
    mine = [launch for launch in launches if request.kernel in ("", launch.name)]
    names = sorted({launch.name for launch in launches})
    if not mine:
        seen = f"it launched {', '.join(names)}" if names else "it launched no cuTile kernel"
        raise SamplingFailed(f"The workload did not launch {request.kernel or 'a kernel'}: {seen}.")
    if not request.kernel and len(names) > 1:
        raise SamplingFailed(f"The workload launches {', '.join(names)}; say which one to sample.")
    several = f"run() launches {mine[-1].name} {len(mine)} times; the last launch was sampled."
    return mine[-1], (several,) if len(mine) > 1 else ()


def launch_facts(launch: GpuLaunch, window: Accepted) -> Mapping[str, Evidence]:
    """What the launch and the card say themselves, under the names of Nsight Compute's `launch__` metrics."""
    card = torch.cuda.get_device_properties()
    grid = (*launch.grid, 1, 1)[:3]
    count = window.launched.launches
    facts: Mapping[str, tuple[float, str]] = {
        "duration_us": (window.launched.launch_ms * 1e3, f"CUDA events over {count} launches back to back, L2 warm"),
        "grid_size": (launch.blocks, "the captured launch"),
        "grid_x": (grid[0], "the captured launch"),
        "grid_y": (grid[1], "the captured launch"),
        "grid_z": (grid[2], "the captured launch"),
        "sm_count": (card.multi_processor_count, "the driver"),
        "capability_major": (card.major, "the driver"),
        "capability_minor": (card.minor, "the driver"),
    }
    return {
        name: Evidence("metric", name, value, load_metrics()[name].unit, text=text)
        for name, (value, text) in facts.items()
    }
