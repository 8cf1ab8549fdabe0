"""Sliced and tiled views, and what an array tells of itself."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from case import Case, Data, counted, out
from cuda.tile import PaddingMode as Pad
from load_store import case


@ct.kernel
def slice_kernel(x, y, start, length):
    rows = x.slice(axis=0, start=start, stop=start + length)
    part = rows.slice(-1, 2, 9)
    ct.store(y, (0, 0), ct.load(part, (0, 0), (8, 8), padding_mode=Pad.ZERO))
    ct.store(y, (1, 0), ct.full((8, 8), rows.shape[0] * 100 + part.shape[1], ct.float32))


@ct.kernel
def slice_store_kernel(y, start, stop):
    ct.store(y.slice(0, start, stop), (0,), ct.arange(16, dtype=ct.int32))


@ct.kernel
def view_kernel(x, y):
    source = x.tiled_view((4, 8), padding_mode=Pad.NEG_INF)
    target = y.tiled_view((4, 8))
    for column in range(source.num_tiles(1)):
        target.store((ct.bid(0), column), source.load((ct.bid(0), column)))


def stepped(steps: tuple[int, int], rows: int) -> Any:
    @ct.kernel
    def stepped_view_kernel(x, y, n):
        view = x.tiled_view((4, 4), padding_mode=Pad.ZERO, traversal_steps=steps)
        for row in range(rows):
            ct.store(y, (row, 0), view.load((row, 1)))
        ct.store(n, (0,), view.num_tiles(0))
        ct.store(n, (1,), view.num_tiles(1))
        ct.store(n, (2,), view.traversal_steps[0])
        ct.store(n, (3,), view.tile_shape[1])

    return stepped_view_kernel


@ct.kernel
def stepped_store_kernel(y):
    view = y.tiled_view((2, 4), traversal_steps=(3, 4))
    for row in range(3):
        view.store((row, 0), ct.full((1, 4), row + 1, ct.int32), latency=1, allow_tma=False)


@ct.kernel
def attributes_kernel(x, y):
    ct.store(y, (0,), x.shape[0])
    ct.store(y, (1,), x.shape[1])
    ct.store(y, (2,), x.strides[0])
    ct.store(y, (3,), x.strides[1])
    ct.store(y, (4,), x.ndim)
    ct.store(y, (5,), ct.num_tiles(x, 0, (4, 8)))
    ct.store(y, (6,), ct.num_tiles(x, 1, shape=(4, 8)))
    ct.store(y, (7,), ct.num_tiles(x, 0, (4, 8), "F"))


@ct.kernel
def foreign_kernel(x, y):
    view = ct.Array.from_foreign(x.foreign_pointer, (x.shape[0] * x.shape[1],), (1,))
    ct.store(y, (0,), ct.load(view, (0,), (32,)))


def cases() -> Iterator[Case]:
    yield case("slice-load", slice_kernel, counted("float32", 20, 12), out("float32", 16, 8), 3, 5)
    yield case("slice-store", slice_store_kernel, out("int32", 24), 5, 16)
    yield case("tiled_view-float32", view_kernel, counted("float32", 10, 20), out("float32", 12, 24), grid=(3,))
    yield case("tiled_view-float16", view_kernel, Data("float16", (10, 20), "any"), out("float16", 12, 20), grid=(3,))
    yield case("tiled_view-steps-store", stepped_store_kernel, out("int32", 9, 4))
    yield case("array-attributes", attributes_kernel, counted("float32", 9, 20), out("int32", 8))
    yield case("array-foreign", foreign_kernel, counted("int32", 4, 8), out("int32", 32))
    swapped = Data("float32", (9, 20), "count", transposed=True)
    yield case("array-attributes-transposed", attributes_kernel, swapped, out("int32", 8))
    for label, steps, rows in (("overlap", (2, 3), 4), ("gaps", (5, 6), 2), ("single", (1, 4), 3)):
        array = counted("int32", 10, 11)
        yield case(f"tiled_view-steps-{label}", stepped(steps, rows), array, out("int32", 4 * rows, 4), out("int32", 4))
