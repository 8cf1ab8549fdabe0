"""Runs the configurations of a workload on the CPU: each is compared with its reference, and its faults are kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from kdiag import isolate
from kdiag.errors import UsageError, WorkloadError
from kdiag.executors.bench import Source
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck, EmulatedConfiguration
from kdiag.workload import Workload, load_module

SEED = 1


@dataclass(frozen=True)
class EmulationRequest:
    """What to emulate: a workload on a kernel source, as a card of `target` would run it.

    `configuration` is an index into `configs()`; None: the workload's `edge_configs()`, which are small, or all of
    `configs()` if it has none. `every`: all of both. `shuffle` is the seed of a random order of blocks; without
    `in_step` blocks run one after the other.
    """

    workload: Workload
    source: Source
    target: str
    configuration: int | None = None
    every: bool = False
    shuffle: int | None = None
    in_step: bool = True


def emulate_workload(request: EmulationRequest, *, timeout_s: float) -> tuple[EmulatedConfiguration, ...]:
    """Emulate in a child process. Raises WorkloadError if that ends without a result, saying why."""
    answer = isolate.run(run_configurations, request, timeout_s=timeout_s)
    if isinstance(answer, Died):
        hint = (
            "; fewer or smaller shapes take less: edge_configs(), --configuration"
            if answer.kind == "timeout"
            else ""
        )
        raise WorkloadError(
            f"{request.workload.path} could not be emulated: {answer.message.rstrip('.')}{hint}."
        )
    return answer


def run_configurations(request: EmulationRequest) -> tuple[EmulatedConfiguration, ...]:
    """Emulate every configuration asked for. Child processes only.

    Raises UsageError for a configuration there is none of, WorkloadError for a workload that breaks its protocol.
    """
    import torch

    from kdiag.executors.emulator.emulation import emulate

    torch.set_num_threads(1)
    with emulate(request.target):  # kernel files may look at the card when they are imported
        source = request.source
        module = load_module(source.path, search=request.workload.kernel_file.parent, source_hash=source.hash)
        described = load_module(request.workload.path, search=request.workload.path.parent)
    return tuple(_run(request, described, module, config) for config in _chosen(request, described))


def _chosen(request: EmulationRequest, described: ModuleType) -> list[Mapping[str, Any]]:
    timed = list(described.configs())
    edges = list(described.edge_configs()) if hasattr(described, "edge_configs") else []
    if request.configuration is not None:
        if request.configuration >= len(timed):
            raise UsageError(
                f"--configuration {request.configuration}: the workload has configurations 0 to {len(timed) - 1}."
            )
        return [timed[request.configuration]]
    return timed + edges if request.every else edges or timed


def _run(
    request: EmulationRequest, described: ModuleType, module: ModuleType, config: Mapping[str, Any]
) -> EmulatedConfiguration:
    from cuda.tile._exception import TileError

    from kdiag.executors.correctness import judge, label, outputs_of
    from kdiag.executors.emulator.emulation import emulate

    declared = described.tolerance(config) if hasattr(described, "tolerance") else None
    began = time.perf_counter()
    with emulate(
        request.target, shuffle=request.shuffle, in_step=request.in_step, on_fault="record"
    ) as emulation:
        pristine = described.make_inputs(config, "cuda", SEED)
        inputs = described.make_inputs(config, "cuda", SEED)
        began = time.perf_counter()
        try:
            outputs = outputs_of(described.run(module, inputs))
        except TileError as error:  # cuTile refuses the kernel: the fault says where
            check = ConfigurationCheck(label(config), False, None, declared, str(error).splitlines()[0])
            seconds = time.perf_counter() - began
            return EmulatedConfiguration(check, emulation.launches, seconds, emulation.faults)
        seconds = time.perf_counter() - began
    if not emulation.launches:
        raise WorkloadError(f"{request.workload.path} launches no cuTile kernel; run(module, inputs) must.")
    check = judge(outputs, outputs_of(described.reference(pristine)), declared, label(config))
    return EmulatedConfiguration(check, emulation.launches, seconds, emulation.faults)
