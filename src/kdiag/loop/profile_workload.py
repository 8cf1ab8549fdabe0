"""Profiles a workload: on a GPU by what is measured there, without one by what the compiler says."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kdiag import isolate
from kdiag import workload as workloads
from kdiag.diagnose.profile import gpu_of, launch_profile
from kdiag.diagnose.profile_compiled import profile_compiled
from kdiag.diagnose.report.read import ReportLaunch, read_launches
from kdiag.errors import UsageError
from kdiag.executors.bench import Baseline, Source
from kdiag.executors.device_bench import probe_gpu
from kdiag.executors.host_timing import RunTiming, TimingRequest, time_runs
from kdiag.executors.ncu.collect import NoCounters, collect
from kdiag.executors.ncu.command import compute_capability
from kdiag.executors.pm_sampling.sample import request, sample
from kdiag.isolate import Died
from kdiag.records import Gpu, Observations, Profile, architecture
from kdiag.rules.load_metric_sets import counters
from kdiag.rules.load_pm_sampling import load_metric_set
from kdiag.workload import Workload

from . import headroom
from .compiler import TARGETS
from .findings import choose_kernel
from .kernel_evidence import WITHOUT_GPU, kernel_evidence, python_workload
from .least_work import least_work

BASELINE_S = 120.0


@dataclass(frozen=True)
class WorkloadRequest:
    """What to profile: a workload, or a kernel file with its workload named or beside it.

    `configuration` None is the first on a GPU, and all of them without. With `target` it is compiled for that architecture and judged without a GPU. `ncu` takes Nsight Compute in place
    of PM sampling.
    """

    what: Path
    workload: Path | None
    kernel: str | None
    configuration: int | None
    target: str | None
    ncu: bool


@dataclass(frozen=True)
class _Measured:
    """What was counted or timed, nothing if it could not be, and what qualifies it."""

    observations: Observations
    notes: tuple[str, ...]


def profile_workload(asked: WorkloadRequest, say: Callable[[str], object]) -> Profile:
    """Return the profile of one kernel of a workload. `say` gets lines for the user while it is made.

    Raises UsageError or WorkloadError for what cannot be profiled, and what compiling and measuring raise.
    """
    described = python_workload(asked.what, asked.workload)
    if asked.target is not None and asked.target not in TARGETS:
        raise UsageError(f"There is no target {asked.target!r}; choose one of {', '.join(TARGETS)}.")
    if asked.ncu and asked.configuration:
        raise UsageError("--ncu profiles the first configuration; leave --configuration out.")
    gpu = probe_gpu() if asked.target is None else None
    if gpu is not None:
        return _on_gpu(asked, described, gpu)
    target = asked.target or WITHOUT_GPU
    if asked.ncu:
        raise UsageError("--ncu needs a GPU, and there is none here or --target leaves it out.")
    where = "" if asked.target else "no GPU here (--target chooses another architecture); "
    say(f"{where}compiling for {target}")
    profile = profile_compiled(described, target, asked.kernel)
    return profile if asked.configuration is None else _of_configuration(profile, asked.configuration)


def _of_configuration(profile: Profile, configuration: int) -> Profile:
    """Only the launches of one configuration. Raises UsageError when there are none."""
    launched = [each.compiled.launch.configuration for each in profile.kernels if each.compiled is not None]
    if configuration not in launched:
        raise UsageError(_no_configuration(configuration, max(launched, default=0)))
    chosen = [each for each, of in zip(profile.kernels, launched, strict=True) if of == configuration]
    return replace(profile, kernels=tuple(chosen))


def _no_configuration(configuration: int, last: int) -> str:
    return f"--configuration {configuration}: the workload launches its kernel in configurations 0 to {last}."


def _on_gpu(asked: WorkloadRequest, described: Workload, gpu: Gpu) -> Profile:
    text = workloads.read_source(described.kernel_file)
    kernel = choose_kernel(text, str(described.kernel_file), asked.kernel)
    target = architecture(gpu.compute_capability or "")
    configuration = asked.configuration or 0
    known = kernel_evidence(described, kernel, target, configuration)
    if known.last is not None and configuration > known.last:
        raise UsageError(_no_configuration(configuration, known.last))
    counted = _by_ncu(described, kernel) if asked.ncu else _sampled(described, kernel, target, configuration)
    timed = _timed(described, configuration)
    limited = _Measured({}, ()) if counted.observations else _against_the_card(described, configuration)
    least = least_work(described, known.everything, kernel, target, configuration)
    launch = ReportLaunch(0, kernel, kernel, gpu.name, counted.observations)
    found = launch_profile(
        launch, {**known.observations, **least, **timed.observations, **limited.observations}, known.compiled
    )
    card = replace(gpu, limits=gpu_of([launch]).limits)
    return Profile(str(asked.what), card, (found,), notes=(*known.notes, *counted.notes, *timed.notes, *limited.notes))


def _sampled(described: Workload, kernel: str, target: str, configuration: int) -> _Measured:
    """All passes there are: a diagnosis is worth the few seconds that the loop cannot spend at every step."""
    chosen = load_metric_set(target)
    passes = tuple(chosen.passes) if chosen is not None else ("default",)
    wanted = request(described, described.kernel_file, kernel, passes)
    answer = sample(replace(wanted, configuration=configuration))
    if isinstance(answer, NoCounters):
        return _Measured({}, (f"no counters: {answer.reason}",))
    clock = f", SMs at {answer.sm_clock_hz / 1e9:.2f} GHz" if answer.sm_clock_hz else ""
    window = (
        f"counters sampled over {answer.launches} launches back to back with L2 warm, the card busy "
        f"{answer.busy_pct:.0f} % of the time{clock}"
    )
    return _Measured(answer.observations, (*answer.notes, window))


def _by_ncu(described: Workload, kernel: str) -> _Measured:
    with tempfile.TemporaryDirectory(prefix="kdiag-ncu-") as folder:
        report = Path(folder) / "profile.ncu-rep"
        answer = collect(described, described.kernel_file, kernel, counters(compute_capability()), report)
        if isinstance(answer, NoCounters):
            return _Measured({}, (f"no counters: {answer.reason}",))
        return _Measured(read_launches(answer, f"^{kernel}$")[0].observations, ())


def _against_the_card(described: Workload, configuration: int) -> _Measured:
    """Where no counter says what limits the kernel: how near its time comes to a copy's or a matrix product's rate."""
    answer = isolate.run(_baseline, described, timeout_s=BASELINE_S)
    if isinstance(answer, Died):
        return _Measured({}, (f"not set beside the card's measured rates: {answer.message}",))
    wrong = next((check for check in answer.checks if not check.passed), None)
    if wrong is not None:
        return _Measured({}, (f"wrong in {wrong.configuration}, so its time says nothing: {wrong.reason}",))
    alone = replace(answer, configurations=answer.configurations[configuration : configuration + 1])
    now = headroom.times(alone)
    return _Measured(headroom.observations(alone, now), tuple(headroom.describe(alone, now)))


def _baseline(described: Workload) -> Baseline:
    """Child processes only: check and time the kernel, a copy and a matrix product."""
    from kdiag.executors.device_jobs import BaselineRequest, baseline

    return baseline(BaselineRequest(described, Source.of(described.kernel_file)))


def _timed(described: Workload, configuration: int) -> _Measured:
    answer = time_runs(TimingRequest(described, Source.of(described.kernel_file), configuration))
    if not isinstance(answer, RunTiming):
        return _Measured({}, (f"not timed: {answer.message}",))
    waits = "a run waits for the GPU itself, so the host's part of the time is unknown"
    return _Measured(answer.observations(), (waits,) if answer.device_us is None else ())
