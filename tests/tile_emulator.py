"""A few operations of cuda.tile on NumPy arrays, one block after the other: what a kernel's source computes."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

Array = np.ndarray[Any, Any]


class PaddingMode:
    ZERO = 0.0
    NEG_ZERO = -0.0
    NAN = np.nan
    POS_INF = np.inf
    NEG_INF = -np.inf
    UNDETERMINED = 12345.0


class Constant:
    def __class_getitem__(cls, item: type) -> type:
        return item


class Tile:
    """The module `ct` as one block sees it. Tiles wholly outside their array are refused: they are undefined."""

    kernel = staticmethod(lambda function: function)
    Constant: ClassVar = Constant
    PaddingMode: ClassVar = PaddingMode
    int32 = np.int32
    float32 = np.float32
    exp, maximum = staticmethod(np.exp), staticmethod(np.maximum)
    astype = staticmethod(lambda tile, dtype: np.asarray(tile).astype(dtype))
    cdiv = staticmethod(lambda a, b: -(-a // b))
    reshape = staticmethod(np.reshape)
    max = staticmethod(lambda tile, axis, keepdims: np.max(tile, axis=axis, keepdims=keepdims))
    sum = staticmethod(lambda tile, axis, keepdims: np.sum(tile, axis=axis, keepdims=keepdims))
    arange = staticmethod(lambda size, dtype: np.arange(size, dtype=dtype))

    def __init__(self) -> None:
        self.block: tuple[int, ...] = ()

    def bid(self, axis: int) -> int:
        return self.block[axis]

    def gather(self, array: Array, indices: Any, *, padding_value: float = 0, **_: object) -> Array:
        index, inside = self._elements(array, indices)
        return np.where(inside, array[index], array.dtype.type(padding_value))

    def scatter(self, array: Array, indices: Any, value: Any, **_: object) -> None:
        index, inside = self._elements(array, indices)
        spread = np.broadcast_to(value, inside.shape)
        array[tuple(part[inside] for part in index)] = spread[inside]

    def load(
        self,
        array: Array,
        index: Sequence[int],
        shape: Sequence[int],
        *,
        padding_mode: float = PaddingMode.UNDETERMINED,
        **_: object,
    ) -> Array:
        tile = np.full(shape, padding_mode, dtype=array.dtype)
        inner, outer = self._overlap(array, index, shape)
        tile[inner] = array[outer]
        return tile

    def store(self, array: Array, index: Sequence[int], tile: Array, **_: object) -> None:
        assert tile.ndim == array.ndim
        inner, outer = self._overlap(array, index, tile.shape)
        array[outer] = tile[inner]

    @staticmethod
    def _elements(array: Array, indices: Any) -> tuple[tuple[Array, ...], Array]:
        parts = np.broadcast_arrays(*(indices if isinstance(indices, tuple) else (indices,)))
        assert len(parts) == array.ndim
        inside = np.logical_and.reduce(
            [(part >= 0) & (part < n) for part, n in zip(parts, array.shape, strict=True)]
        )
        return tuple(np.where(inside, part, 0) for part in parts), inside

    @staticmethod
    def _overlap(
        array: Array, index: Sequence[int], shape: Sequence[int]
    ) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        starts = [i * size for i, size in zip(index, shape, strict=True)]
        ends = [min(start + size, n) for start, size, n in zip(starts, shape, array.shape, strict=True)]
        assert all(0 <= start < end for start, end in zip(starts, ends, strict=True)), (
            "a tile outside its array"
        )
        inner = tuple(slice(0, end - start) for start, end in zip(starts, ends, strict=True))
        return inner, tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))


def run_blocks(source: str, kernel: str, grid: Sequence[int], arguments: Sequence[Any]) -> None:
    """Run a kernel's source for every block of the grid; its arrays are changed in place."""
    tile = Tile()
    space: dict[str, Any] = {"ct": tile, "torch": SimpleNamespace(Tensor=object)}
    body = "\n".join(line for line in source.splitlines() if not line.startswith("import "))
    exec(compile(body, kernel, "exec"), space)  # the source under test
    for block in np.ndindex(*grid):
        tile.block = block
        space[kernel](*arguments)
