"""Runs the configurations of a workload on the CPU: each is compared with its reference, and its faults are kept."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from kdiag import isolate
from kdiag.errors import UsageError, WorkloadError
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck, EmulatedConfiguration
from kdiag.workload import Workload, load_kernel, load_module

from ..bench import Source

SEED = 1


@dataclass(frozen=True)
class EmulationRequest:
    """What to emulate: a workload on a kernel source, as a card of `target` would run it.

    `configuration` is an index into `configs()`; None: the workload's `edge_configs()`, which are small, or all of
    `configs()` if it has none. `every`: all of both. `shuffle` is the seed of a random order of blocks; without
    `lockstep` blocks run one after the other.
    """

    workload: Workload
    source: Source
    target: str
    configuration: int | None = None
    every: bool = False
    shuffle: int | None = None
    lockstep: bool = True


def emulate_workload(request: EmulationRequest, *, timeout_s: float) -> tuple[EmulatedConfiguration, ...]:
    """Emulate each configuration in a child process of its own; one that fails does not hide the others.

    Raises UsageError for a configuration there is none of, WorkloadError if the workload cannot be read at all.
    """
    ends = time.monotonic() + timeout_s
    labels = isolate.run(labels_of, request, timeout_s=timeout_s)
    if isinstance(labels, Died):
        reason = labels.message.rstrip(".") + labels.raised_at
        raise WorkloadError(f"{request.workload.path} cannot be emulated: {reason}.")
    if not labels:
        raise WorkloadError(f"{request.workload.path} has no configuration; configs() must give at least one.")
    if request.configuration is not None:
        if request.configuration >= len(labels):
            last = len(labels) - 1
            raise UsageError(f"--configuration {request.configuration}: there are configurations 0 to {last}.")
        return (_isolated(request, request.configuration, labels, ends),)
    return tuple(_isolated(request, number, labels, ends) for number in range(len(labels)))


def _isolated(request: EmulationRequest, number: int, labels: Sequence[str], ends: float) -> EmulatedConfiguration:
    left = max(0.1, ends - time.monotonic())
    answer = isolate.run(run_configuration, (request, number), timeout_s=left)
    if not isinstance(answer, Died):
        return answer
    late = "; smaller shapes take less: edge_configs(), or more time: --timeout"
    reason = answer.message + (late if answer.kind == "timeout" else answer.raised_at)
    return EmulatedConfiguration(ConfigurationCheck(labels[number], False, None, None, reason), 0, 0.0, ())


def labels_of(request: EmulationRequest) -> tuple[str, ...]:
    """The configurations that the request chooses among, in words. Child processes only."""
    from ..correctness.judging import label

    return tuple(map(label, _configurations(request, _loaded(request)[0])))


def run_configuration(job: tuple[EmulationRequest, int]) -> EmulatedConfiguration:
    """Emulate one configuration. Child processes only."""
    import torch

    torch.set_num_threads(1)
    request, number = job
    described, module = _loaded(request)
    return _run(request, described, module, _configurations(request, described)[number])


def _loaded(request: EmulationRequest) -> tuple[ModuleType, ModuleType]:
    """The workload and the kernel file, which may look at the GPU when it is imported."""
    from .emulation import emulate

    with emulate(request.target):
        source, workload = request.source, request.workload
        module = load_kernel(workload.kernel_file, source.path, source_hash=source.hash)
        return load_module(workload.path, search=workload.path.parent), module


def _configurations(request: EmulationRequest, described: ModuleType) -> list[Mapping[str, Any]]:
    timed = list(described.configs())
    if request.configuration is not None:
        return timed
    edges = list(described.edge_configs()) if hasattr(described, "edge_configs") else []
    return timed + edges if request.every else edges or timed


def _run(
    request: EmulationRequest, described: ModuleType, module: ModuleType, config: Mapping[str, Any]
) -> EmulatedConfiguration:
    from cuda.tile._exception import TileError

    from ..correctness.judging import judge, label, outputs_of, terms_of
    from .emulation import emulate

    name = label(config)
    declared = described.tolerance(config) if hasattr(described, "tolerance") else None
    with emulate(request.target, shuffle=request.shuffle, lockstep=request.lockstep, on_fault="record") as emulation:
        pristine = described.make_inputs(config, "cuda", SEED)
        inputs = described.make_inputs(config, "cuda", SEED)
        began = time.perf_counter()
        try:
            outputs = outputs_of(described.run(module, inputs))
        except TileError as error:  # cuTile refuses the kernel: the fault says where
            check = ConfigurationCheck(name, False, None, declared, str(error).splitlines()[0])
            seconds = time.perf_counter() - began
            return EmulatedConfiguration(check, emulation.launches, seconds, emulation.faults)
        seconds = time.perf_counter() - began
    if not emulation.launches:
        raise WorkloadError("run(module, inputs) launches no cuTile kernel, and must")
    terms = terms_of(described.flops(config), outputs)
    check = judge(outputs, outputs_of(described.reference(pristine)), declared, name, terms)
    return EmulatedConfiguration(check, emulation.launches, seconds, emulation.faults)
