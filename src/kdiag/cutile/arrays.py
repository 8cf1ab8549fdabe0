"""What the run time sees of an array and of a list of arrays: NumPy arrays and torch tensors.

It specializes a kernel for strides that are 1 or a multiple of 16 bytes, extents that are 1 or a multiple of 16
elements, the alignment of the address, and overlapping elements. These rules are those of cuda-tile 1.7.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

import cuda.tile as ct
import numpy as np
from cuda.tile.compilation import ArrayConstraint, ListConstraint

from kdiag.errors import WorkloadError
from kdiag.records import ArrayArgument

ALIGNMENT = 16  # bytes for addresses and strides, elements for extents
MAX_RANK = 5  # of a tensor map; arrays of higher rank are not specialized by stride and extent
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
# What a kernel can be given arrays of. Tiles have more types (float4_e2m1fn, tfloat32).
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"),
)


def is_array(value: object) -> bool:
    """Whether the value is a NumPy array or a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return isinstance(value, np.ndarray) or (torch is not None and isinstance(value, torch.Tensor))


def array_argument(name: str, array: Any) -> ArrayArgument:
    """The record of an array. Raises WorkloadError for one that a kernel cannot be given."""
    dtype = str(array.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise WorkloadError(f"The argument {name} is of type {dtype}, of which a kernel takes no arrays.")
    if isinstance(array, np.ndarray):
        return _numpy_argument(name, dtype, array)
    # A CUDA allocation is aligned to 512 bytes (torch's allocator), so the offset into it decides.
    offset = array.storage_offset() * array.element_size()
    alignment = ALIGNMENT if offset % ALIGNMENT == 0 else 1
    return ArrayArgument(name, dtype, tuple(array.shape), tuple(array.stride()), alignment)


def overlaps(arguments: Any) -> tuple[tuple[int, int], ...]:
    """Pairs of arrays of a launch whose elements lie between the same addresses, by their positions among all arrays."""
    places = list(enumerate(map(_place, _arrays(arguments))))
    return tuple(
        (i, j)
        for (i, (one, first, end)), (j, (other, begin, last)) in combinations(places, 2)
        if one == other and first < last and begin < end
    )


def _arrays(value: Any) -> Iterator[Any]:
    if is_array(value):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _arrays(item)


def _place(array: Any) -> tuple[int, int, int]:
    """The memory that an array lies in, and where in it the elements begin and end, in bytes."""
    if isinstance(array, np.ndarray):
        return (0, *np.lib.array_utils.byte_bounds(array))
    first, size = array.storage_offset() * array.element_size(), array.element_size()
    reach = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.stride(), strict=True))
    # A tensor that is only captured has no address, but it has a storage.
    return array.untyped_storage()._cdata, first, first + (reach + 1) * size if array.numel() else first


def _numpy_argument(name: str, dtype: str, array: np.ndarray[Any, Any]) -> ArrayArgument:
    """The address is the array's own: it may be a view into a larger one, or made to lie anywhere."""
    if any(stride % array.itemsize for stride in array.strides):
        raise WorkloadError(f"The strides of the argument {name}, {array.strides} bytes, are no whole elements.")
    strides = tuple(stride // array.itemsize for stride in array.strides)
    alignment = ALIGNMENT if array.ctypes.data % ALIGNMENT == 0 else 1
    return ArrayArgument(name, dtype, array.shape, strides, alignment)


def array_constraint(argument: ArrayArgument, note: Any) -> ArrayConstraint:
    """What the kernel is compiled for. `note` is the parameter's `ct.ArrayAnnotation`, if it has one.

    Raises WorkloadError for an array that does not fit its annotation.
    """
    dtype = getattr(ct, "bool_" if argument.dtype == "bool" else argument.dtype)
    step = ALIGNMENT * 8 // dtype.bitwidth
    rank = len(argument.shape)
    small = rank <= MAX_RANK
    return ArrayConstraint(
        dtype,
        rank,
        index_dtype=_index_dtype(argument, note),
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=_overlaps(argument),
        stride_constant=_constants(argument, argument.strides, getattr(note, "static_stride_dims", ())),
        shape_constant=_constants(argument, argument.shape, getattr(note, "static_shape_dims", ())),
        stride_divisible_by=[step if small and stride % step == 0 else 1 for stride in argument.strides],
        shape_divisible_by=[ALIGNMENT if small and size % ALIGNMENT == 0 else 1 for size in argument.shape],
        base_addr_divisible_by=argument.alignment,
    )


def _index_dtype(argument: ArrayArgument, note: Any) -> Any:
    dtype = getattr(note, "index_dtype", ct.int32)
    numbers = (0, *argument.shape, *argument.strides)
    if dtype == ct.int32 and not INT32_MIN <= min(numbers) <= max(numbers) <= INT32_MAX:
        raise WorkloadError(
            f"The argument {argument.name} is too large for 32-bit indices; annotate it ct.IndexedWithInt64."
        )
    return dtype


def _constants(argument: ArrayArgument, values: Sequence[int], axes: Sequence[int]) -> list[int | None]:
    """What is known when compiling: the annotated axes if there are any, else every value that is 1."""
    rank = len(values)
    if not axes:
        return [1 if value == 1 and rank <= MAX_RANK else None for value in values]
    fixed = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(fixed) < len(axes):
        raise WorkloadError(
            f"The annotation of {argument.name} fixes the axes {tuple(axes)}, which are not different axes of "
            f"an array of rank {rank}."
        )
    if any(values[axis] < 0 for axis in fixed):
        raise WorkloadError(f"The annotation of {argument.name} fixes a stride, and the array has it negative.")
    return [value if axis in fixed else None for axis, value in enumerate(values)]


def _overlaps(argument: ArrayArgument) -> bool:
    """Whether two elements may share an address: a stride shorter than the axis inside it spans, or no stride."""
    axes = sorted(zip(argument.strides, argument.shape, strict=True))
    outer = pairwise(axes)
    return any(stride <= 0 for stride, _ in axes) or any(stride < inner * size for (inner, size), (stride, _) in outer)


def list_constraint(name: str, values: Sequence[Any], note: Any) -> ListConstraint:
    """What the kernel is compiled for; `note` is the `ct.ArrayAnnotation` of the items, if they have one.

    Raises WorkloadError for a list that a kernel cannot be given.
    """
    if not values or not all(map(is_array, values)):
        raise WorkloadError(f"The argument {name} is a list of something else than arrays, or empty.")
    items = [array_argument(f"{name}[{index}]", value) for index, value in enumerate(values)]
    arrays = [array_constraint(item, note) for item in items]
    if len({(array.dtype, array.ndim) for array in arrays}) > 1:
        raise WorkloadError(f"The arrays of the list {name} differ in type or rank.")
    fixed = {
        "shape": [[item.shape[axis] for axis in getattr(note, "static_shape_dims", ())] for item in items],
        "strides": [[item.strides[axis] for axis in getattr(note, "static_stride_dims", ())] for item in items],
    }
    for what, known in fixed.items():
        if any(one != known[0] for one in known):
            raise WorkloadError(f"The arrays of the list {name} differ in the {what} that its annotation fixes.")
    return ListConstraint(_common(arrays), alias_groups=(), elements_may_alias=True)


def _common(arrays: Sequence[ArrayConstraint]) -> ArrayConstraint:
    """What holds for every array."""

    def shared(field: str) -> list[int | None]:
        columns = zip(*(getattr(array, field) for array in arrays), strict=True)
        return [column[0] if len(set(column)) == 1 else None for column in columns]

    first = arrays[0]
    return ArrayConstraint(
        first.dtype,
        first.ndim,
        index_dtype=first.index_dtype,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=any(array.may_alias_internally for array in arrays),
        stride_constant=shared("stride_constant"),
        shape_constant=shared("shape_constant"),
        stride_divisible_by=[known or 1 for known in shared("stride_divisible_by")],
        shape_divisible_by=[known or 1 for known in shared("shape_divisible_by")],
        base_addr_divisible_by=min(array.base_addr_divisible_by for array in arrays),
    )
