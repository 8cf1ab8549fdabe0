"""Makes the calls again that a benchmark was heard making of the kernel file (`executors/recorded_calls`).

Child processes only, where "cuda" stands for a device without a GPU. A function is looked up by its name in the version
of the file at hand, so that what an edit does to the launch wrapper shows.
"""

import json
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import torch

from kdiag.errors import WorkloadError
from kdiag.workload import Call

from .call import member

SEQUENCES: dict[str, Callable[..., Any]] = {"list": list, "tuple": tuple, "Size": torch.Size}


def jobs(module: ModuleType, calls: tuple[Call, ...]) -> list[Callable[[], object]]:
    """What makes each call, in order, its arguments included: tensors without values are of zeros.

    Raises WorkloadError for a call whose function cannot be had, and if the arguments of none can.
    """
    told = [(call, json.loads(call.arguments)) for call in calls]
    known = [(call, arguments) for call, arguments in told if not isinstance(arguments, str)]
    if not known:
        call, why = told[0]
        raise WorkloadError(f"{call.function}, which {call.test} calls, cannot be called again: {why}.")
    return [partial(_make, _function(module, call), arguments) for call, arguments in known]


def _function(module: ModuleType, call: Call) -> Callable[..., object]:
    found = member(module, call.function)
    if not callable(found):
        raise WorkloadError(f"the file has no {call.function}, which {call.test} calls.")
    function: Callable[..., object] = found
    return function


def _make(function: Callable[..., object], arguments: tuple[Any, Any]) -> object:
    positional, keywords = arguments
    return function(*map(_value, positional), **_value(keywords))


def _value(told: Any) -> Any:
    match told:
        case {"tensor": shape, "strides": strides, "dtype": dtype, "device": device, "grad": grad, **rest}:
            kind = getattr(torch, dtype)
            span = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if all(shape) else 0
            made = torch.zeros(span, dtype=kind, device=device).as_strided(shape, strides)  # no page of it is touched
            if "values" in rest:
                once = tuple(slice(None if step else 1) for step in strides)
                made[once].copy_(torch.tensor(rest["values"], dtype=kind, device=device)[once])
            return made.requires_grad_(grad)
        case {"dtype": name}:
            return getattr(torch, name)
        case {"device": name}:
            return torch.device(name)
        case {"list": items} | {"tuple": items} | {"Size": items}:
            return SEQUENCES[next(iter(told))](map(_value, items))
        case {"dict": items}:
            return {name: _value(each) for name, each in items.items()}
    return told
