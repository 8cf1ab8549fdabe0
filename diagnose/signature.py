"""From the arguments of a launch to the signature cuTile compiles for, without libcuda.

The run time specializes a kernel by what it sees of each argument: strides that are 1 or a multiple of 16 bytes,
extents that are a multiple of 16 elements, the alignment of the address. The rules here give the symbol names that
cuda-tile 1.7 gave the same launches on an H200 (`softmax_k_Kt1_A2bf16_1v8l0_2t1_3i16_p16_...`).
"""

from __future__ import annotations

import inspect
from typing import Any

import cuda.tile as ct
import torch
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, ScalarConstraint

from kdiag.errors import WorkloadError
from kdiag.records import Argument, ArrayArgument, ScalarArgument

ALIGNMENT = 16  # bytes for addresses and strides, elements for extents
INT32_MAX = 2**31 - 1


def describe(kernel: Any, arguments: tuple[Any, ...]) -> tuple[Argument, ...]:
    """The arguments as records. Raises WorkloadError for a kind that ahead-of-time compilation does not take here."""
    names = list(inspect.signature(kernel._annotated_function.pyfunc).parameters)
    if len(names) != len(arguments):
        raise WorkloadError(
            f"The launch passes {len(arguments)} arguments to a kernel that takes {len(names)}."
        )
    leaves = kernel._annotated_function.parameter_annotations
    return tuple(map(_argument, names, arguments, leaves))


def _argument(name: str, value: Any, leaf: Any) -> Argument:
    if isinstance(value, torch.Tensor):
        offset = value.storage_offset() * value.element_size()
        dtype = str(value.dtype).removeprefix("torch.")
        # A CUDA allocation is aligned to 512 bytes, so the offset into it decides.
        alignment = ALIGNMENT if offset % ALIGNMENT == 0 else 1
        return ArrayArgument(name, dtype, tuple(value.shape), tuple(value.stride()), alignment)
    if isinstance(value, bool | int | float):
        return ScalarArgument(name, value, constant=bool(getattr(leaf, "constant", False)))
    raise WorkloadError(
        f"The argument {name!r} is a {type(value).__name__}; only tensors and numbers can be compiled."
    )


def signature(kernel: Any, arguments: tuple[Argument, ...]) -> KernelSignature:
    """The signature of a launch, its symbol included."""
    leaves = kernel._annotated_function.parameter_annotations
    parameters = [_constraint(argument, leaf) for argument, leaf in zip(arguments, leaves, strict=True)]
    newer = any(
        isinstance(p, ArrayConstraint) and any(s is not None for s in p.shape_constant) for p in parameters
    )
    convention = CallingConvention.cutile_python_v2() if newer else CallingConvention.cutile_python_v1()
    name = kernel._annotated_function.pyfunc.__name__
    return KernelSignature(parameters, convention).with_mangled_symbol(name)


def _constraint(argument: Argument, leaf: Any) -> Any:
    if isinstance(argument, ArrayArgument):
        return _array(argument, getattr(leaf, "array", None))
    if argument.constant:
        return argument.value
    if isinstance(argument.value, bool):
        return ScalarConstraint(ct.bool_)
    if isinstance(argument.value, float):
        return ScalarConstraint(ct.float32)
    annotated = getattr(leaf, "scalar", None)
    return ScalarConstraint(annotated.dtype if annotated is not None else ct.int32)


def _array(argument: ArrayArgument, annotation: Any) -> ArrayConstraint:
    dtype = getattr(ct, "bool_" if argument.dtype == "bool" else argument.dtype)
    step = max(1, ALIGNMENT * 8 // dtype.bitwidth)
    fixed_shape = {axis % len(argument.shape) for axis in getattr(annotation, "static_shape_dims", ())}
    fixed_stride = {axis % len(argument.shape) for axis in getattr(annotation, "static_stride_dims", ())}
    index = getattr(annotation, "index_dtype", None) or ct.int32
    if max((*argument.shape, *argument.strides), default=0) > INT32_MAX:
        index = ct.int64
    return ArrayConstraint(
        dtype,
        len(argument.shape),
        index_dtype=index,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=any(
            stride == 0 < size - 1 for size, stride in zip(argument.shape, argument.strides, strict=True)
        ),
        stride_constant=[
            stride if axis in fixed_stride or (stride == 1 and not fixed_stride) else None
            for axis, stride in enumerate(argument.strides)
        ],
        shape_constant=[
            size if axis in fixed_shape or (size == 1 and not fixed_shape) else None
            for axis, size in enumerate(argument.shape)
        ],
        stride_divisible_by=[step if stride % step == 0 else 1 for stride in argument.strides],
        shape_divisible_by=[ALIGNMENT if size % ALIGNMENT == 0 else 1 for size in argument.shape],
        base_addr_divisible_by=argument.alignment,
    )
