"""What runs in a child process on the GPU machine: probe the card, take the baseline, try a candidate."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType

import torch

from kdiag.cutile.hooks import launching_through
from kdiag.records import STAGES, ConfigurationCheck, ConfigurationTiming, Gpu, NotEvaluated
from kdiag.workload import Workload, load_kernel, load_part

from .bench import Baseline, ConfigurationBaseline, Source, Trial
from .correctness import stages
from .correctness.configurations import smallest_of
from .correctness.controls import prove
from .correctness.judging import label
from .correctness.searches import EachOnce
from .correctness.subject import SEEDS, Config, Subject
from .device_timing import Budget, Flush, Turns, by_turns, compared, copy_gbs, interleaved, matrix_tflops, shortest_ms
from .paired_statistics import timing

# The matrix product that bounds a workload, by the dtype of its inputs: float32 may use TF32 at best.
MATRIX_DTYPES = (torch.bfloat16, torch.float16, torch.float32)


@dataclass(frozen=True)
class BaselineRequest:
    workload: Workload
    source: Source


@dataclass(frozen=True)
class TrialRequest:
    """`admitted` names the cases beyond the required ones that the unedited kernel passes."""

    workload: Workload
    parent: Source
    candidate: Source
    admitted: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ShareRequest:
    """Of what `source` searches every `of`-th configuration, from number `first` on."""

    workload: Workload
    source: Source
    first: int
    of: int


def probe(_: None) -> Gpu | None:
    """The current CUDA device as torch names it, or None if torch sees none."""
    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties()
    return Gpu(properties.name, f"{properties.major}.{properties.minor}", properties.multi_processor_count)


def devices(_: None) -> int:
    return int(torch.cuda.device_count())


def copy_bandwidth(_: None) -> float:
    """`copy_gbs` of the current CUDA device; 3 GiB of its memory."""
    return copy_gbs(Flush())


def configurations(workload: Workload) -> int:
    return len(load_part(workload).configs())


def baseline(request: BaselineRequest) -> Baseline:
    """Check every configuration of the unedited kernel, prove that the check can fail, then time it."""
    workload, module = loaded(request.workload, request.source)
    subject = Subject(workload)
    checks = tuple(stages.run(stages.required(subject), module))
    if not all(check.passed for check in checks):
        return Baseline(checks, ())
    for _, config in stages.configurations(subject):
        prove(subject, module, config)
    flush = Flush()
    copy = copy_gbs(flush)
    rates = {dtype: matrix_tflops(dtype, flush) for dtype in _matrix_dtypes(workload)}
    rows = tuple(_baseline_row(workload, module, config, flush, (copy, rates)) for config in workload.configs())
    return Baseline(checks, rows, copy, max(rates.values(), default=None))


def survey(request: BaselineRequest) -> tuple[ConfigurationCheck | NotEvaluated, ...]:
    """Try the unedited kernel in all that is not required of it."""
    workload, module = loaded(request.workload, request.source)
    return tuple(stages.survey(stages.beyond(Subject(workload)), module))


def compile_share(request: ShareRequest) -> None:
    """Launch a share of what is searched where it will be timed, and watched by memcheck, so that cuTile's cache holds it:
    the search of a process compiles one configuration after the other.
    """
    workload, module = loaded(request.workload, request.source)
    with launching_through(EachOnce(first=request.first, step=request.of)):
        for config in (*workload.configs(), smallest_of(workload)):
            workload.run(module, workload.make_inputs(config, "cuda", SEEDS[0]))


def check(request: TrialRequest) -> Trial:
    """Check the candidate on fresh inputs, up to the first check that it does not pass; nothing is timed."""
    subject, (parent, candidate) = _subject(request)
    cases = [*stages.required(subject, parent), *_admitted(subject, request)]
    return Trial(tuple(stages.run(cases, candidate, untimed=STAGES)), ())


def trial(request: TrialRequest) -> Trial:
    """Check the candidate on fresh inputs; if every check passes, time it beside its parent.

    The dear stages follow the timing, and only for a candidate that is faster somewhere: no other is ever kept.
    """
    subject, (parent, candidate) = _subject(request)
    admitted = _admitted(subject, request)
    cheap = [case for case in admitted if case.stage not in stages.DEAR]
    checks = stages.run([*stages.required(subject, parent), *cheap], candidate)
    if not checks[-1].passed:
        return Trial(tuple(checks), ())
    _, twin = loaded(request.workload, request.parent)
    flush, timings = Flush(), []
    for config in subject.workload.configs():
        timed, again = _time(subject.workload, (parent, twin, candidate), config, flush)
        timings.append(timed)
        checks.append(again)
    if any(each.low > 1 + each.noise_floor for each in timings):
        checks += stages.run([case for case in admitted if case.stage in stages.DEAR], candidate)
    return Trial(tuple(checks), tuple(timings))


def _subject(request: TrialRequest) -> tuple[Subject, tuple[ModuleType, ModuleType]]:
    workload, parent = loaded(request.workload, request.parent)
    return Subject(workload), (parent, loaded(request.workload, request.candidate)[1])


def _admitted(subject: Subject, request: TrialRequest) -> list[stages.Case]:
    return [case for case in stages.beyond(subject) if case.name in request.admitted]


def versions(workload: Workload, sources: Sequence[Source]) -> tuple[ModuleType, list[ModuleType]]:
    """The part of the workload that is meant, and versions of its kernel file that are to be timed beside each other."""
    module, file = load_part(workload), workload.kernel_file
    return module, [load_kernel(file, source.path, source_hash=source.hash) for source in sources]


def loaded(workload: Workload, source: Source) -> tuple[ModuleType, ModuleType]:
    """The workload, the part that is meant, and a version of its kernel file."""
    module = load_kernel(workload.kernel_file, source.path, source_hash=source.hash)
    return load_part(workload), module


def _time(
    workload: ModuleType, modules: tuple[ModuleType, ModuleType, ModuleType], config: Config, flush: Flush
) -> tuple[ConfigurationTiming, ConfigurationCheck]:
    parent, twin, candidate = compared(arms(workload, modules, config), Budget(), flush)
    # On inputs that it has not seen: a warm kernel must still be right.
    name = f"{label(config)} after timing"
    checked = Subject(workload).check(modules[-1], config, name, SEEDS[-1] + 1)
    return replace(timing(label(config), parent, twin, candidate), clocks=flush.clocks), checked


def arms(workload: ModuleType, modules: Sequence[ModuleType], config: Config) -> list[Turns[dict[str, object]]]:
    """What runs each module on a configuration's inputs."""
    return by_turns(
        [partial(workload.run, module) for module in modules], lambda: workload.make_inputs(config, "cuda", SEEDS[0])
    )


def _matrix_dtypes(workload: ModuleType) -> set[torch.dtype]:
    return {dtype for config in workload.configs() if (dtype := matrix_dtype(workload, config)) is not None}


def matrix_dtype(workload: ModuleType, config: Config) -> torch.dtype | None:
    """The dtype of the matrix product that bounds a configuration, None where its inputs say nothing of one."""
    inputs = workload.make_inputs(config, "cuda", SEEDS[0])
    dtypes = {tensor.dtype for tensor in inputs.values() if isinstance(tensor, torch.Tensor)}
    known = [dtype for dtype in dtypes if dtype in MATRIX_DTYPES]
    return min(known, key=lambda dtype: dtype.itemsize) if known and len(known) == len(dtypes) else None


def _baseline_row(
    workload: ModuleType,
    module: ModuleType,
    config: Config,
    flush: Flush,
    rates: tuple[float, dict[torch.dtype, float]],
) -> ConfigurationBaseline:
    (times,) = interleaved(arms(workload, [module], config), Budget(), flush)
    ms, (lower, _, upper) = statistics.median(times), statistics.quantiles(times, n=4)
    moved, operations = workload.bytes_moved(config), workload.flops(config)
    dtype = matrix_dtype(workload, config)
    rate = rates[1][dtype] if dtype is not None and operations else None
    limits = {"copy bandwidth": moved / rates[0] / 1e6 if moved else 0.0}
    if rate is not None:
        limits["matrix rate"] = operations / rate / 1e9
    limited_by = max(limits, key=lambda name: limits[name])
    cache = torch.cuda.get_device_properties().L2_cache_size
    least = shortest_ms(moved - cache, rates[0], operations, rate)
    # What the unedited kernel itself falls short of is no limit: bytes_moved() or flops() says too much.
    least_ms = least if least < ms else None
    row = ConfigurationBaseline(label(config), ms, upper - lower, least_ms=least_ms, clocks=flush.clocks)
    if not moved or (operations and dtype is None):
        return row
    gbs, tflops = moved / ms / 1e6, operations / ms / 1e9
    return replace(row, limit_ms=limits[limited_by], limited_by=limited_by, gbs=gbs, tflops=tflops)
