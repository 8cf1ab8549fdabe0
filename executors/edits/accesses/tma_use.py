"""Where the tile compiler certainly moves a tile by TMA, and what an edit may promise of it.

In a kernel that combines no elements tileiras 13.4 for sm_90 and sm_100 reads and writes tiles by global-memory
instructions even where TMA is possible (remarks of elementwise kernels beside those of kernels with a reduction, with
tiles of one row and of several). In the others it takes TMA for every tile that TMA can move: zero padding, a contiguous
last axis, and address, strides and rows of the tile that are multiples of 16 bytes (types of 1 to 8 bytes, tiles of 4 to
4096 columns were tried). The address of a slice along the last axis is none as far as it knows.
"""

import re

from kdiag.records import ArrayArgument, Launch, Promise, ScalarArgument

from ..base import Subject
from ..syntax.kernel_source import KernelSource
from .conversion import Conversion, Tile
from .launch_bounds import array_of

COMBINES_ELEMENTS = ("sum", "max", "min", "prod", "argmax", "argmin", "reduce", "mma", "matmul")
FIRST_WITH_TMA = 90
MOST_AXES = 5
ALIGNMENT = 16
"""Bytes. TMA takes addresses, strides and rows of a tile that are multiples of it."""


def has_tma(target: str) -> bool:
    """Whether a target such as sm_90 has the Tensor Memory Accelerator."""
    digits = re.search(r"\d+", target)
    return digits is not None and int(digits[0]) >= FIRST_WITH_TMA


def without_tma(target: str) -> tuple[str, ...]:
    """What to say of tile accesses on a target that has no TMA."""
    if has_tma(target):
        return ()
    return (
        f"{target} has no TMA: a tile load or store becomes the global-memory instructions of a gather or scatter with"
        " more index arithmetic around them, and may be slower",
    )


def moves_by_tma(subject: Subject, source: KernelSource, conversion: Conversion) -> bool:
    """Whether the compiler certainly chooses TMA for a tile access, as every captured launch passes its array."""
    tile, launches = conversion.tile, subject.launches
    chosen = has_tma(subject.target) and bool(source.calls(*COMBINES_ELEMENTS))
    return (
        chosen
        and conversion.tma
        and tile is not None
        and bool(launches)
        and all(_suits(each, tile) for each in launches)
    )


def reachable(array: ArrayArgument) -> bool:
    """Whether TMA can address the rows of an array: a contiguous last axis, address and strides of whole 16 bytes."""
    *outer, last = array.strides
    steps = [stride * _item_bytes(array) for stride in outer]
    return last == 1 and array.alignment % ALIGNMENT == 0 and all(step % ALIGNMENT == 0 for step in steps)


def gone_from_tma(observation: str, lines: list[int], text: str) -> tuple[Promise, ...]:
    """The promise that TMA is used at none of these lines."""
    return (Promise(observation, "not-at-lines", text, tuple(sorted(set(lines)))),) if lines else ()


def _suits(launch: Launch, tile: Tile) -> bool:
    """Whether TMA can move a tile of the array that a launch passes."""
    array = array_of(launch, tile.array)
    size = _size(launch, tile.shape[-1])
    if array is None or size is None or len(array.shape) > MOST_AXES:
        return False
    forward = all(stride > 0 for stride in array.strides[:-1])
    return reachable(array) and forward and size * _item_bytes(array) >= ALIGNMENT


def _item_bytes(array: ArrayArgument) -> int:
    bits = re.search(r"\d+", array.dtype)
    return max(1, int(bits[0]) // 8) if bits else 1


def _size(launch: Launch, text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    found = (each.value for each in launch.arguments if isinstance(each, ScalarArgument) and each.name == text)
    value = next(found, None)
    return value if isinstance(value, int) else None
