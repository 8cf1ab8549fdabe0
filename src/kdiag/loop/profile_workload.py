"""Profiles a workload: on a GPU by what is measured there, without one by what the compiler says."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kdiag import workload as workloads
from kdiag.diagnose.compiler.compile import compile_workload
from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.diagnose.profile import gpu_of, grid_of, launch_profile
from kdiag.diagnose.profile_compiled import profile_compiled
from kdiag.diagnose.report.read import ReportLaunch, read_launches
from kdiag.diagnose.source.observe import from_source
from kdiag.diagnose.source.read import read_source
from kdiag.errors import UsageError, WorkloadError
from kdiag.executors.bench import Source
from kdiag.executors.device_bench import probe_gpu
from kdiag.executors.host_timing import RunTiming, TimingRequest, time_runs
from kdiag.executors.ncu.collect import NoCounters, collect
from kdiag.executors.ncu.command import compute_capability
from kdiag.executors.pm_sampling.sample import PmCounters, request, sample
from kdiag.loop.compiler import TARGETS, TIMEOUT_S, of_kernel
from kdiag.loop.findings import choose_kernel
from kdiag.loop.least_work import least_work
from kdiag.records import (
    Compilation,
    CompileEvidence,
    CompileFailure,
    Evidence,
    Gpu,
    LaunchProfile,
    Profile,
)
from kdiag.rules.load_metric_sets import counters
from kdiag.rules.load_pm_sampling import load_metric_set
from kdiag.workload import CommandWorkload, Workload

WITHOUT_GPU = "sm_90"


@dataclass(frozen=True)
class WorkloadRequest:
    """What to profile: a workload, or a kernel file with its workload named or beside it.

    With `target` it is compiled for that architecture and judged without a GPU. `ncu` takes Nsight Compute in place
    of PM sampling.
    """

    what: Path
    workload: Path | None
    kernel: str | None
    configuration: int
    target: str | None
    ncu: bool


@dataclass(frozen=True)
class _Known:
    """What compiler, source and timing say of the kernel, and what could not be had."""

    observations: Mapping[str, Evidence]
    everything: Compilation
    compiled: CompileEvidence | None
    notes: tuple[str, ...]


def profile_workload(asked: WorkloadRequest, say: Callable[[str], object]) -> Profile:
    """Return the profile of one kernel of a workload. `say` gets lines for the user while it is made.

    Raises UsageError or WorkloadError for what cannot be profiled, and what compiling and measuring raise.
    """
    described = _described(asked.what, asked.workload)
    if asked.target is not None and asked.target not in TARGETS:
        raise UsageError(f"There is no target {asked.target!r}; choose one of {', '.join(TARGETS)}.")
    gpu = probe_gpu() if asked.target is None else None
    if gpu is None:
        target = asked.target or WITHOUT_GPU
        if asked.target is None:
            say(f"no GPU here: this is what the compiler says for {target} (--target chooses another)")
        return profile_compiled(described, target, asked.kernel)
    return _measured(asked, described, gpu)


def profile_report_with(path: Path, workload: Path, kernel: str | None, launch_index: int | None) -> Profile:
    """Return the profile of the launches of a report that the workload's kernel file defines, with all it tells.

    What compiler and source say of a kernel is taken together with its counters; what the kernel needs at least only
    where the grid tells which configuration was launched. Raises what reading and compiling raise.
    """
    described = _described(workload, None)
    launches = read_launches(path, kernel, launch_index)
    text = workloads.read_source(described.kernel_file)
    defined = {each.name for each in read_source(text, described.kernel_file.name).kernels}
    mine = [launch for launch in launches if launch.name in defined]
    if not mine:
        seen = ", ".join(dict.fromkeys(launch.name for launch in launches))
        raise UsageError(f"{path} holds no launch of a kernel of {described.kernel_file}: it has {seen}.")
    target = _target_of(mine[0])
    known = {name: _without_gpu(described, text, name, target) for name in {launch.name for launch in mine}}
    return Profile(
        source=str(path),
        gpu=gpu_of(mine),
        kernels=tuple(_together(launch, known[launch.name], described, target) for launch in mine),
        notes=tuple(dict.fromkeys(note for each in known.values() for note in each.notes)),
    )


def _together(launch: ReportLaunch, known: _Known, described: Workload, target: str) -> LaunchProfile:
    grid = grid_of(launch.observations)
    least = least_work(described, known.everything, launch.name, grid, target)
    return launch_profile(launch, {**known.observations, **least}, known.compiled)


def _target_of(launch: ReportLaunch) -> str:
    gpu = gpu_of([launch])
    return f"sm_{gpu.compute_capability.replace('.', '')}" if gpu.compute_capability else WITHOUT_GPU


def _described(what: Path, named: Path | None) -> Workload:
    if named is None and workloads.is_workload(what):
        found: Workload | CommandWorkload | None = workloads.read(what)
    else:
        found = workloads.of_kernel_file(what, named)
    if found is None:
        raise WorkloadError(
            f"{what} does not say how its kernels are launched; name a workload with --workload (docs/workload.md)."
        )
    if isinstance(found, CommandWorkload):
        bench = " ".join(found.bench)
        raise UsageError(
            f"{found.path} runs its kernel with a command; profile it under Nsight Compute: kdiag profile -- {bench}."
        )
    return found


def _measured(asked: WorkloadRequest, described: Workload, gpu: Gpu) -> Profile:
    text = workloads.read_source(described.kernel_file)
    kernel = choose_kernel(text, str(described.kernel_file), asked.kernel)
    target = f"sm_{(gpu.compute_capability or '').replace('.', '')}"
    counted = _by_ncu(described, kernel) if asked.ncu else _sampled(asked, described, kernel, target)
    known = _without_gpu(described, text, kernel, target, asked.configuration)
    timing = time_runs(TimingRequest(described, Source.of(described.kernel_file), asked.configuration))
    more, notes = dict(known.observations), list(known.notes)
    if known.compiled is not None:
        more |= least_work(described, known.everything, kernel, known.compiled.launch.grid, target)
    if isinstance(timing, RunTiming):
        more |= timing.observations()
    else:
        notes.append(f"not timed: {timing.message}")
    if isinstance(counted, NoCounters):
        notes.append(f"no counters: {counted.reason}")
        counted = ReportLaunch(0, kernel, kernel, gpu.name, {})
    elif isinstance(counted, PmCounters):
        notes += counted.notes
        notes.append(
            f"counters sampled over {counted.launches} launches back to back with L2 warm, the card busy "
            f"{counted.busy_pct:.0f} % of the time, SMs at {(counted.sm_clock_hz or 0) / 1e9:.2f} GHz"
            if counted.sm_clock_hz
            else f"counters sampled over {counted.launches} launches"
        )
        counted = ReportLaunch(0, kernel, kernel, gpu.name, counted.observations)
    found = launch_profile(counted, more, known.compiled)
    card = replace(gpu, limits=gpu_of([counted]).limits)
    return Profile(str(asked.what), card, (found,), notes=tuple(notes))


def _sampled(
    asked: WorkloadRequest, described: Workload, kernel: str, target: str
) -> PmCounters | NoCounters:
    """All passes there are: a diagnosis is worth the few seconds that the loop cannot spend at every step."""
    chosen = load_metric_set(target)
    passes = tuple(chosen.passes) if chosen is not None else ("default",)
    wanted = request(described, described.kernel_file, kernel, passes)
    return sample(replace(wanted, configuration=asked.configuration))


def _by_ncu(described: Workload, kernel: str) -> ReportLaunch | NoCounters:
    with tempfile.TemporaryDirectory(prefix="kdiag-ncu-") as folder:
        report = Path(folder) / "profile.ncu-rep"
        answer = collect(described, described.kernel_file, kernel, counters(compute_capability()), report)
        return answer if isinstance(answer, NoCounters) else read_launches(answer, f"^{kernel}$")[0]


def _without_gpu(
    described: Workload, text: str, kernel: str, target: str, configuration: int | None = None
) -> _Known:
    """What source and compiler say of one kernel; of one configuration, or of all."""
    observations = from_source(read_source(text, described.kernel_file.name), kernel)
    (answer,) = compile_workload(described, [described.kernel_file], target, timeout_s=TIMEOUT_S)
    compilation = of_kernel(answer, kernel)
    if isinstance(compilation, CompileFailure):
        return _Known(observations, answer, None, (f"no compiler evidence: {compilation.message}",))
    mine = [each for each in compilation if configuration in (None, each.launch.configuration)] or list(
        compilation
    )
    return _Known({**observations, **from_compilation(mine)}, answer, mine[0], ())
