"""What runs in a child process on the GPU machine: probe the card, take the baseline, try a candidate."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from kdiag.executors.bench import Baseline, ConfigurationBaseline, Source, Trial
from kdiag.executors.correctness import (
    judge,
    label,
    outputs_of,
    poisoned_allocations,
    require_controls_to_fail,
    tolerance_for,
)
from kdiag.executors.device_timing import Budget, Flush, compared, copy_gbs, interleaved, matrix_tflops
from kdiag.executors.paired_statistics import noise_floor, paired_ratio
from kdiag.records import ConfigurationCheck, ConfigurationTiming, Gpu
from kdiag.workload import Workload, load_kernel, load_part

SEEDS = (1, 2)
# The matrix product that bounds a workload, by the dtype of its inputs: float32 may use TF32 at best.
MATRIX_DTYPES = {torch.bfloat16: torch.bfloat16, torch.float16: torch.float16, torch.float32: torch.float32}

Config = dict[str, Any]


@dataclass(frozen=True)
class BaselineRequest:
    workload: Workload
    source: Source


@dataclass(frozen=True)
class TrialRequest:
    workload: Workload
    parent: Source
    candidate: Source


def probe(_: None) -> Gpu | None:
    """The current CUDA device as torch names it, or None if torch sees none."""
    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return Gpu(properties.name, f"{properties.major}.{properties.minor}", properties.multi_processor_count)


def devices(_: None) -> int:
    """How many CUDA devices torch sees."""
    return int(torch.cuda.device_count())


def configurations(workload: Workload) -> int:
    """How many configurations a workload has."""
    return len(load_part(workload).configs())


def baseline(request: BaselineRequest) -> Baseline:
    """Check every configuration of the unedited kernel, prove that the check can fail, then time it."""
    workload, module = _load(request.workload, request.source)
    checks = tuple(
        check
        for config in _all_configs(workload)
        for check in _check(workload, module, None, config, controls=True)
    )
    if not all(check.passed for check in checks):
        return Baseline(checks, ())
    flush = Flush()
    copy = copy_gbs(flush)
    rates = {dtype: matrix_tflops(dtype, flush) for dtype in _matrix_dtypes(workload)}
    rows = tuple(
        _baseline_row(workload, module, config, flush, (copy, rates)) for config in workload.configs()
    )
    return Baseline(checks, rows, copy, max(rates.values(), default=None))


def check(request: TrialRequest) -> Trial:
    """Check the candidate on fresh inputs, up to the first configuration that is wrong."""
    workload, parent = _load(request.workload, request.parent)
    _, candidate = _load(request.workload, request.candidate)
    return Trial(_checks(workload, parent, candidate), ())


def trial(request: TrialRequest) -> Trial:
    """Check the candidate on fresh inputs; if every check passes, time it beside its parent."""
    workload, parent = _load(request.workload, request.parent)
    _, twin = _load(request.workload, request.parent)
    _, candidate = _load(request.workload, request.candidate)
    checks = list(_checks(workload, parent, candidate))
    if not checks[-1].passed:
        return Trial(tuple(checks), ())
    flush, timings = Flush(), []
    for config in workload.configs():
        timing, again = _time(workload, (parent, twin, candidate), config, flush)
        timings.append(timing)
        checks.append(again)
    return Trial(tuple(checks), tuple(timings))


def _checks(
    workload: ModuleType, parent: ModuleType, candidate: ModuleType
) -> tuple[ConfigurationCheck, ...]:
    """The checks of every configuration, up to the first that is wrong."""
    checks: list[ConfigurationCheck] = []
    for config in _all_configs(workload):
        checks += _check(workload, candidate, parent, config, controls=False)
        if not checks[-1].passed:
            break
    return tuple(checks)


def _load(workload: Workload, source: Source) -> tuple[ModuleType, ModuleType]:
    module = load_kernel(workload.kernel_file, source.path, source_hash=source.hash)
    return load_part(workload), module


def _all_configs(workload: ModuleType) -> list[Config]:
    return [*workload.configs(), *(workload.edge_configs() if hasattr(workload, "edge_configs") else ())]


def _check(
    workload: ModuleType, module: ModuleType, parent: ModuleType | None, config: Config, *, controls: bool
) -> list[ConfigurationCheck]:
    declared = workload.tolerance(config) if hasattr(workload, "tolerance") else None
    checks = []
    for seed in SEEDS:
        pristine = workload.make_inputs(config, "cuda", seed)
        inputs = workload.make_inputs(config, "cuda", seed)
        with poisoned_allocations():
            outputs = outputs_of(workload.run(module, inputs))
        torch.cuda.synchronize()
        references = outputs_of(workload.reference(pristine))
        if controls and seed == SEEDS[0]:
            for output, reference in zip(outputs, references, strict=False):
                require_controls_to_fail(reference, tolerance_for(declared, output), label(config))
        check = judge(outputs, references, declared, f"{label(config)} seed={seed}")
        if (
            check.passed
            and parent is not None
            and (name := _changed_input(workload, parent, config, seed, inputs))
        ):
            check = ConfigurationCheck(
                check.configuration, False, None, None, f"it changes the input {name!r}"
            )
        checks.append(check)
    return checks


def _changed_input(
    workload: ModuleType, parent: ModuleType, config: Config, seed: int, after: Config
) -> str | None:
    """The first input tensor that the parent leaves alone and the candidate does not."""
    before, theirs = (workload.make_inputs(config, "cuda", seed) for _ in range(2))
    workload.run(parent, theirs)
    for name, tensor in before.items():
        if (
            isinstance(tensor, torch.Tensor)
            and torch.equal(theirs[name], tensor)
            and not torch.equal(after[name], tensor)
        ):
            return str(name)
    return None


def _time(
    workload: ModuleType, modules: tuple[ModuleType, ModuleType, ModuleType], config: Config, flush: Flush
) -> tuple[ConfigurationTiming, ConfigurationCheck]:
    inputs = [workload.make_inputs(config, "cuda", SEEDS[0]) for _ in modules]
    arms = [lambda m=module, i=own: workload.run(m, i) for module, own in zip(modules, inputs, strict=True)]
    parent, twin, candidate = compared(arms, Budget(), flush)
    ratio = paired_ratio(parent, candidate)
    timing = ConfigurationTiming(
        configuration=label(config),
        parent_ms=statistics.median(parent),
        candidate_ms=statistics.median(candidate),
        speedup=ratio.median,
        low=ratio.low,
        high=ratio.high,
        noise_floor=noise_floor(parent, twin),
        samples=len(candidate),
    )
    return timing, _check_again(workload, modules[-1], config)


def _check_again(workload: ModuleType, candidate: ModuleType, config: Config) -> ConfigurationCheck:
    """The candidate after its timed runs, on inputs it has not seen: a warm kernel must still be right."""
    declared = workload.tolerance(config) if hasattr(workload, "tolerance") else None
    inputs = workload.make_inputs(config, "cuda", SEEDS[-1] + 1)
    with poisoned_allocations():
        outputs = outputs_of(workload.run(candidate, inputs))
    references = outputs_of(workload.reference(workload.make_inputs(config, "cuda", SEEDS[-1] + 1)))
    return judge(outputs, references, declared, f"{label(config)} after timing")


def _matrix_dtypes(workload: ModuleType) -> set[torch.dtype]:
    return {dtype for config in workload.configs() if (dtype := _matrix_dtype(workload, config)) is not None}


def _matrix_dtype(workload: ModuleType, config: Config) -> torch.dtype | None:
    inputs = workload.make_inputs(config, "cuda", SEEDS[0])
    dtypes = {tensor.dtype for tensor in inputs.values() if isinstance(tensor, torch.Tensor)}
    known = [MATRIX_DTYPES[dtype] for dtype in dtypes if dtype in MATRIX_DTYPES]
    return min(known, key=lambda dtype: dtype.itemsize) if known and len(known) == len(dtypes) else None


def _baseline_row(
    workload: ModuleType,
    module: ModuleType,
    config: Config,
    flush: Flush,
    rates: tuple[float, dict[torch.dtype, float]],
) -> ConfigurationBaseline:
    inputs = workload.make_inputs(config, "cuda", SEEDS[0])
    (times,) = interleaved([lambda: workload.run(module, inputs)], Budget(), flush)
    ms, (lower, _, upper) = statistics.median(times), statistics.quantiles(times, n=4)
    moved, operations = workload.bytes_moved(config), workload.flops(config)
    dtype = _matrix_dtype(workload, config)
    limits = {"copy bandwidth": moved / rates[0] / 1e6 if moved else 0.0}
    if dtype is not None and operations:
        limits["matrix rate"] = operations / rates[1][dtype] / 1e9
    limited_by = max(limits, key=lambda name: limits[name])
    if not moved or (operations and dtype is None):
        return ConfigurationBaseline(label(config), ms, upper - lower)
    return ConfigurationBaseline(
        configuration=label(config),
        ms=ms,
        spread_ms=upper - lower,
        limit_ms=limits[limited_by],
        limited_by=limited_by,
        gbs=moved / ms / 1e6,
        tflops=operations / ms / 1e9,
    )
