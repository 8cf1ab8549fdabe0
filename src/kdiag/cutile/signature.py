"""From the arguments of a launch to the signature cuTile compiles for, without libcuda.

The run time specializes a kernel by what it sees of each argument: strides that are 1 or a multiple of 16 bytes,
extents that are 1 or a multiple of 16 elements, the alignment of the address, overlapping elements. These rules are
those of cuda-tile 1.7; they give the symbols that it gave the same launches on an H200 (`softmax_k_Kt1_A2bf16_1v8l0_...`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise
from types import FunctionType
from typing import Any

import cuda.tile as ct
import torch
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
)

from kdiag.errors import ToolMissing, WorkloadError
from kdiag.records import Argument, ArrayArgument, ScalarArgument

ALIGNMENT = 16  # bytes for addresses and strides, elements for extents
MAX_RANK = 5  # of a tensor map; arrays of higher rank are not specialized by stride and extent
INT32_MAX = 2**31 - 1


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
    bound = zip(_names(kernel, values), values, _annotations(kernel), strict=True)
    return tuple(argument for name, value, note in bound for argument in _arguments(name, value, note))


def signature(kernel: Any, values: Sequence[Any]) -> KernelSignature:
    """The signature of a launch, its symbol included. Raises WorkloadError for a launch that would fail."""
    bound = zip(_names(kernel, values), values, _annotations(kernel), strict=True)
    parameters = [_constraint(name, value, note) for name, value, note in bound]
    newer = any(map(_needs_version_2, parameters))
    convention = CallingConvention.cutile_python_v2() if newer else CallingConvention.cutile_python_v1()
    return KernelSignature(parameters, convention).with_mangled_symbol(kernel_name(kernel))


def _names(kernel: Any, values: Sequence[Any]) -> list[str]:
    names = list(inspect.signature(kernel_function(kernel)).parameters)
    if len(names) != len(values):
        raise WorkloadError(
            f"{kernel_name(kernel)} takes {len(names)} arguments and its launch passes {len(values)}."
        )
    return names


def _annotations(kernel: Any) -> Sequence[Any]:
    notes: Sequence[Any] = _annotated(kernel).parameter_annotations
    return notes


def _annotated(kernel: Any) -> Any:
    try:
        return kernel._annotated_function
    except AttributeError:
        raise ToolMissing(
            f"kdiag cannot read the kernels of cuda-tile {version('cuda-tile')}; install cuda-tile 1.7."
        ) from None


def _item_notes(note: Any, count: int) -> Sequence[Any]:
    """The annotation of each item of a tuple: its own, or the one that all share."""
    items: Sequence[Any] = getattr(note, "items", ())
    return items if len(items) == count else (getattr(note, "each", note),) * count


def _arguments(name: str, value: Any, note: Any) -> Iterator[Argument]:
    if isinstance(value, torch.Tensor):
        yield _array_argument(name, value)
    elif isinstance(value, bool | int | float):
        yield ScalarArgument(name, value, constant=bool(getattr(note, "constant", False)))
    elif isinstance(value, list | tuple):
        for index, (item, item_note) in enumerate(zip(value, _item_notes(note, len(value)), strict=True)):
            yield from _arguments(f"{name}[{index}]", item, item_note)
    else:
        raise _no_argument(name, value)


def _array_argument(name: str, tensor: torch.Tensor) -> ArrayArgument:
    """A CUDA allocation is aligned to 512 bytes (torch's allocator), so the offset into it decides."""
    offset = tensor.storage_offset() * tensor.element_size()
    dtype = str(tensor.dtype).removeprefix("torch.")
    alignment = ALIGNMENT if offset % ALIGNMENT == 0 else 1
    return ArrayArgument(name, dtype, tuple(tensor.shape), tuple(tensor.stride()), alignment)


def _constraint(name: str, value: Any, note: Any) -> Any:
    constant = bool(getattr(note, "constant", False))
    match value:
        case torch.Tensor():
            return _array(_array_argument(name, value), getattr(note, "array", None))
        case tuple():
            notes = _item_notes(note, len(value))
            return TupleConstraint([_constraint(name, *pair) for pair in zip(value, notes, strict=True)])
        case list():
            element = getattr(getattr(note, "list", None), "element", None)
            return ListConstraint(_shared(name, value, element), alias_groups=(), elements_may_alias=True)
        case bool() | int() | float():
            return value if constant else ScalarConstraint(_scalar_dtype(name, value, note))
    raise _no_argument(name, value)


def _no_argument(name: str, value: object) -> WorkloadError:
    return WorkloadError(
        f"The argument {name} is a {type(value).__name__}; kernels take tensors and numbers."
    )


def _scalar_dtype(name: str, value: bool | int | float, note: Any) -> Any:
    if isinstance(value, bool | float):
        return ct.bool_ if isinstance(value, bool) else ct.float32
    annotated = getattr(note, "scalar", None)
    if annotated is not None:
        return annotated.dtype
    if not -INT32_MAX - 1 <= value <= INT32_MAX:
        raise WorkloadError(f"{name} = {value} does not fit 32 bits; annotate the parameter ct.ScalarInt64.")
    return ct.int32


def _array(argument: ArrayArgument, note: Any) -> ArrayConstraint:
    dtype = _dtype(argument)
    step = max(1, ALIGNMENT * 8 // dtype.bitwidth)
    rank = len(argument.shape)
    small = rank <= MAX_RANK
    return ArrayConstraint(
        dtype,
        rank,
        index_dtype=_index_dtype(argument, note),
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=_overlaps(argument),
        stride_constant=_constants(argument.strides, getattr(note, "static_stride_dims", ())),
        shape_constant=_constants(argument.shape, getattr(note, "static_shape_dims", ())),
        stride_divisible_by=[step if small and stride % step == 0 else 1 for stride in argument.strides],
        shape_divisible_by=[ALIGNMENT if small and size % ALIGNMENT == 0 else 1 for size in argument.shape],
        base_addr_divisible_by=argument.alignment,
    )


def _dtype(argument: ArrayArgument) -> Any:
    dtype = getattr(ct, "bool_" if argument.dtype == "bool" else argument.dtype, None)
    if dtype is None:
        raise WorkloadError(
            f"The argument {argument.name} is of type {argument.dtype}, which cuTile does not know."
        )
    return dtype


def _index_dtype(argument: ArrayArgument, note: Any) -> Any:
    dtype = getattr(note, "index_dtype", ct.int32)
    if dtype == ct.int32 and max((*argument.shape, *argument.strides), default=0) > INT32_MAX:
        raise WorkloadError(
            f"The argument {argument.name} is too large for 32-bit indices; annotate it ct.IndexedWithInt64."
        )
    return dtype


def _constants(values: Sequence[int], axes: Sequence[int]) -> list[int | None]:
    """What is known when compiling: the annotated axes if there are any, else every value that is 1."""
    rank = len(values)
    fixed = {axis % rank for axis in axes if -rank <= axis < rank}
    if axes:
        return [value if axis in fixed else None for axis, value in enumerate(values)]
    return [1 if value == 1 and rank <= MAX_RANK else None for value in values]


def _overlaps(argument: ArrayArgument) -> bool:
    """Whether two elements may share an address: a stride shorter than the axis inside it spans, or no stride."""
    axes = sorted(zip(argument.strides, argument.shape, strict=True))
    outer = pairwise(axes)
    return any(stride <= 0 for stride, _ in axes) or any(
        stride < inner * size for (inner, size), (stride, _) in outer
    )


def _shared(name: str, values: Sequence[Any], note: Any) -> ArrayConstraint:
    """What holds for every array of a list."""
    if not values or not all(isinstance(value, torch.Tensor) for value in values):
        raise WorkloadError(f"The argument {name} is a list of something else than tensors, or empty.")
    arrays = [_array(_array_argument(name, value), note) for value in values]
    first = arrays[0]
    if any((array.dtype, array.ndim) != (first.dtype, first.ndim) for array in arrays):
        raise WorkloadError(f"The tensors of the list {name} differ in type or rank.")

    def common(field: str) -> list[int | None]:
        columns = zip(*(getattr(array, field) for array in arrays), strict=True)
        return [column[0] if len(set(column)) == 1 else None for column in columns]

    return ArrayConstraint(
        first.dtype,
        first.ndim,
        index_dtype=first.index_dtype,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=any(array.may_alias_internally for array in arrays),
        stride_constant=common("stride_constant"),
        shape_constant=common("shape_constant"),
        stride_divisible_by=[known or 1 for known in common("stride_divisible_by")],
        shape_divisible_by=[known or 1 for known in common("shape_divisible_by")],
        base_addr_divisible_by=min(array.base_addr_divisible_by for array in arrays),
    )


def _needs_version_2(parameter: Any) -> bool:
    if isinstance(parameter, TupleConstraint):
        return True
    array = getattr(parameter, "element", parameter)
    return isinstance(array, ArrayConstraint) and any(size is not None for size in array.shape_constant)
