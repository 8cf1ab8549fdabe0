"""Stress: inputs that normal numbers spare a kernel, poison beside them, launches that do not wait for each other."""

from collections.abc import Callable, Mapping
from types import ModuleType

import torch

from kdiag.records import ConfigurationCheck

from ..emulator.perturbations import PERTURBATIONS, change_floats
from .poison import guarded
from .subject import Config, Subject

REPETITIONS = 16


def _denormals_between(values: torch.Tensor) -> torch.Tensor:
    """Every third element denormal: among normal ones, or flushing them to zero, which is allowed, would be wrong."""
    flat = values.flatten().clone()
    flat[::3] = torch.finfo(values.dtype).tiny / 4
    return flat.reshape(values.shape)


INPUTS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "zeros": torch.zeros_like,
    "constant rows": lambda values: values[..., :1].expand_as(values) if values.dim() else values,
    "large values": PERTURBATIONS["large values"],
    "denormals": _denormals_between,
    "infinities and NaN": PERTURBATIONS["infinities and NaN"],
}
GUARDS, REPEATED = "poison beside the inputs", f"after {REPETITIONS} runs in a row"
KINDS = (*INPUTS, GUARDS, REPEATED)


def check(kind: str, subject: Subject, module: ModuleType, config: Config, name: str) -> ConfigurationCheck:
    """One of KINDS on one configuration."""
    inputs, pristine = subject.make(config), subject.make(config)
    if kind == GUARDS:
        inputs, written = guarded(inputs)
        outputs = subject.run(module, inputs)
        if (beside := written()) is not None:
            return ConfigurationCheck(name, False, None, None, f"it writes beside the input {beside!r}")
        return subject.judge(outputs, pristine, config, name)
    if kind == REPEATED:
        for again in [subject.make(config) for _ in range(REPETITIONS)]:
            subject.run(module, again)
    else:
        for one in (inputs, pristine):
            change_floats(one, INPUTS[kind])
    return subject.judge(subject.run(module, inputs), pristine, config, name)
