"""Can the check fail? Outputs that are plainly wrong, and inputs that have changed, must be noticed."""

from collections.abc import Iterator
from types import ModuleType

import torch

from kdiag.errors import WorkloadError

from .judging import label, outputs_of, scaled_error
from .subject import Config, Outputs, Subject


def prove(subject: Subject, module: ModuleType, config: Config) -> None:
    """Prove on a kernel that is right that its check can fail. Raises WorkloadError if it cannot."""
    outputs = subject.run(module, subject.make(config))
    tolerance = subject.judge(outputs, subject.make(config), config, "").tolerance or 0.0
    for reference in outputs_of(subject.workload.reference(subject.make(config))):
        require_controls_to_fail(reference, tolerance, label(config))
    floats = [name for name, value in subject.make(config).items() if _can_change(value)]
    if floats and not any(_noticed(subject, outputs, config, name) for name in floats):
        raise WorkloadError(
            f"The check of {label(config)} does not notice when an input changes; reference(inputs) must compute from "
            "its inputs what run(module, inputs) returns."
        )


def require_controls_to_fail(reference: torch.Tensor, tolerance: float, label: str) -> None:
    """Check that plainly wrong outputs are rejected. Raises WorkloadError naming the one that was accepted."""
    for name, wrong in _wrong_outputs(reference):
        if scaled_error(wrong, reference) <= tolerance:
            raise WorkloadError(
                f"With tolerance {tolerance:g} the check of {label} accepts {name} as correct; "
                "declare a smaller tolerance(config) or inputs whose result is not constant."
            )


def _wrong_outputs(reference: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    yield "an output of zeros", torch.zeros_like(reference)
    flat = reference.reshape(-1)
    if flat.numel() >= 64:
        tail = flat.clone()
        tail[-(flat.numel() // 64) :] = 0
        yield "an output without its last part", tail.reshape(reference.shape)
        half = flat.clone()
        half[: flat.numel() // 2] = 0
        yield "an output with its first half missing", half.reshape(reference.shape)
        yield "an output shifted by one element", flat.roll(1).reshape(reference.shape)


def _can_change(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 0


def _noticed(subject: Subject, outputs: Outputs, config: Config, name: str) -> bool:
    """Whether old outputs fail once a part of an input, or, as nothing may refer to that part, all of it has changed."""
    for part in (64, 1):
        inputs = subject.make(config)
        flat = inputs[name].double().flatten().clone()
        block = flat[: max(1, flat.numel() // part)]
        block[::2] += 4 * flat.square().mean().sqrt().clamp(min=1e-3)
        block[1::2] *= -4
        inputs[name] = flat.reshape(inputs[name].shape).to(inputs[name].dtype)
        if not subject.judge(outputs, inputs, config, name).passed:
            return True
    return False
