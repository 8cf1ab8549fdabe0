"""From the arguments of a launch to the signature cuTile compiles for, without libcuda.

The rules are those of cuda-tile 1.7 (see `parameters` and `arrays`); they give the symbols that it gave the same
launches on an H200 (`softmax_k_Kt1_A2bf16_1v8l0_...`).
"""

import inspect
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from types import FunctionType
from typing import Any

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, TupleConstraint

from kdiag.errors import ToolMissing, WorkloadError
from kdiag.records import Argument

from .parameters import arguments, constraint


def kernel_name(kernel: Any) -> str:
    """The name of the kernel's Python function. Raises WorkloadError for what is no kernel."""
    return kernel_function(kernel).__name__


def kernel_function(kernel: Any) -> FunctionType:
    """The kernel's Python function, which it shares with those made of it by `replace_hints`.

    Raises WorkloadError for what is no kernel.
    """
    if not isinstance(kernel, ct.kernel):
        raise WorkloadError(f"ct.launch is called with a {type(kernel).__name__}, which is no @ct.kernel.")
    function: FunctionType = _annotated(kernel).pyfunc
    return function


def describe(kernel: Any, values: Sequence[Any]) -> tuple[Argument, ...]:
    """The arguments as records; the items of a list or tuple are named `name[0]`, `name[1]`, ...

    Raises WorkloadError for a value that a kernel cannot be given.
    """
    return tuple(argument for bound in _bound(kernel, values) for argument in arguments(*bound))


def signature(kernel: Any, values: Sequence[Any]) -> KernelSignature:
    """The signature of a launch, its symbol included. Raises WorkloadError for a launch that would fail."""
    parameters = [constraint(*bound) for bound in _bound(kernel, values)]
    newer = any(map(_needs_version_2, parameters))
    convention = CallingConvention.cutile_python_v2() if newer else CallingConvention.cutile_python_v1()
    return KernelSignature(parameters, convention).with_mangled_symbol(kernel_name(kernel))


def _bound(kernel: Any, values: Sequence[Any]) -> Iterator[tuple[str, Any, Any]]:
    """The name, value and annotation of each parameter."""
    names = list(inspect.signature(kernel_function(kernel)).parameters)
    if len(names) != len(values):
        raise WorkloadError(f"{kernel_name(kernel)} takes {len(names)} arguments and its launch passes {len(values)}.")
    return zip(names, values, _annotated(kernel).parameter_annotations, strict=True)


def _annotated(kernel: Any) -> Any:
    try:
        return kernel._annotated_function
    except AttributeError:
        raise ToolMissing(
            f"kdiag cannot read the kernels of cuda-tile {version('cuda-tile')}; install cuda-tile 1.7."
        ) from None


def _needs_version_2(parameter: Any) -> bool:
    if isinstance(parameter, TupleConstraint):
        return True
    array = getattr(parameter, "element", parameter)
    return isinstance(array, ArrayConstraint) and any(size is not None for size in array.shape_constant)
