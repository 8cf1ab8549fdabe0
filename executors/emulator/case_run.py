"""What one kernel file does with the cases of a workload: runs in a child of `executors.emulator.cases`.

The result of each case is stored when it is known, so that a case that kills the child costs itself alone.
"""

import hashlib
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from cuda.tile._exception import TileError

import kdiag
from kdiag.errors import WorkloadError
from kdiag.records import ConfigurationCheck, EmulatedCase, EmulationCase, Fault
from kdiag.workload import Workload, load_module

from ..correctness.judging import judge, label, outputs_of, terms_of
from .case_request import CasesRequest, Sized
from .emulation import Emulations, emulations
from .faults import NotEmulated
from .perturbations import perturb
from .results import Stored, key_of, store

INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")


def run_cases(request: CasesRequest) -> None:
    """Run and store each case. Child processes only."""
    torch.set_num_threads(1)
    began = time.process_time()
    with emulations(request.target) as made:
        before = set(sys.modules)
        described, module = _modules(request)
        named = {request.source.path, request.workload.path}
        for case in request.cases:
            if case in request.optional and time.process_time() - began > request.optional_s:
                break
            stored = _run(case, described, module, made)
            files = _imported(before, named)
            store(request.folder, key_of(request, case), replace(stored, files=files))


def load(request: CasesRequest) -> None:
    """Import the files and nothing else. Child processes only."""
    with emulations(request.target):
        _modules(request)


def _modules(request: CasesRequest) -> tuple[ModuleType, ModuleType]:
    """The workload and the kernel file, which may look at the GPU when it is imported."""
    source, workload = request.source, request.workload
    module = load_module(source.path, search=workload.kernel_file.parent, source_hash=source.hash)
    return load_module(workload.path, search=workload.path.parent), module


def _run(case: EmulationCase, described: ModuleType, module: ModuleType, made: Emulations) -> Stored:
    """One case; what the emulator does not know is an answer as well."""
    try:
        return Stored(emulated(case, described, module, made))
    except NotEmulated as error:
        return Stored(None, str(error))


def emulated(case: EmulationCase, described: ModuleType, module: ModuleType, made: Emulations) -> EmulatedCase:
    """Run one case. Raises NotEmulated, and whatever the workload and the wrapper raise."""
    config = (described.edge_configs() if case.edge else described.configs())[case.index]
    declared = described.tolerance(config) if hasattr(described, "tolerance") else None
    name, failure = str(case), ""
    outputs: tuple[torch.Tensor, ...] = ()
    with made.emulation(shuffle=case.shuffle, on_fault="record") as emulation:
        pristine, inputs = (_inputs(described, config, case) for _ in range(2))
        began = time.perf_counter()
        try:
            outputs = outputs_of(described.run(module, inputs))
        except TileError as error:  # cuTile refuses the kernel: the fault says where
            failure = str(error).splitlines()[0]
        seconds = time.perf_counter() - began
    faults: tuple[Fault, ...] = emulation.faults
    if failure:
        return EmulatedCase(ConfigurationCheck(name, False, None, declared, failure), (), (), faults, seconds, failure)
    if not emulation.launches:
        raise WorkloadError("run(module, inputs) launches no cuTile kernel, and must")
    changed = tuple(key for key in pristine if _bits(pristine[key]) != _bits(inputs.get(key)))
    terms = terms_of(described.flops(config), outputs)
    check = judge(outputs, outputs_of(described.reference(pristine)), declared, name, terms)
    return EmulatedCase(check, tuple(map(_bits, outputs)), changed, faults, seconds)


def _inputs(described: ModuleType, config: Mapping[str, Any], case: EmulationCase) -> dict[str, Any]:
    inputs: dict[str, Any] = described.make_inputs(config, "cuda", case.seed)
    perturb(inputs, case.perturbation)
    return inputs


def _bits(value: object) -> str:
    """SHA-256 of a tensor's shape, type and bits, in which every NaN is alike; "" for anything else."""
    if not isinstance(value, torch.Tensor):
        return ""
    tensor = value.detach().contiguous()
    if tensor.is_floating_point() and tensor.dtype.itemsize > 1:
        tensor = torch.where(torch.isnan(tensor), torch.full_like(tensor, torch.nan), tensor)
    digest = hashlib.sha256(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
    digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
    return digest.hexdigest()


def _imported(before: set[str], named: set[Path]) -> dict[str, str]:
    """The files of the user's own that were imported beside the two named ones, with SHA-256 of their text."""
    installed = (*(sysconfig.get_paths()[name] for name in INSTALLED), str(Path(kdiag.__file__).parents[1]))
    files = {
        Path(file).resolve()
        for name in set(sys.modules) - before
        if (file := getattr(sys.modules[name], "__file__", None)) and not file.startswith(installed)
    }
    mine = files - {path.resolve() for path in named}
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(mine) if file.is_file()}


def survey(workload: Workload) -> tuple[Sized, ...]:
    """The configurations of a workload that the emulation gate chooses among. Child processes only."""
    with emulations("sm_90"):
        described = load_module(workload.path, search=workload.path.parent)
        edges: Sequence[Mapping[str, Any]] = getattr(described, "edge_configs", tuple)()
        found = [Sized(label(config), True, index, 0.0) for index, config in enumerate(edges)]
        if found:
            return tuple(found)
        return tuple(
            Sized(label(config), False, index, max(described.bytes_moved(config), described.flops(config) / 16))
            for index, config in enumerate(described.configs())
        )
