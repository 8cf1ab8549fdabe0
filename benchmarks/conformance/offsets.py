"""Advanced indexing, one axis by a tile of indices and the others by slices, and offsets into raw memory."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from case import Case, Data, counted, out
from cuda.tile import PaddingMode as Pad
from gather_scatter import N, case


def advanced_load(mode: Pad, sparse: int) -> Any:
    @ct.kernel
    def advanced_load_kernel(x, i, y, start):
        index = ct.load(i, (0,), (8,))
        dense = ct.Slice(start, 4)
        indices = (index, dense) if sparse == 0 else (dense, index)
        ct.store(y, (0, 0), ct.load_advanced_indexing(x, indices, padding_mode=mode))

    return advanced_load_kernel


@ct.kernel
def advanced_load_3d_kernel(x, i, y):
    indices = (ct.Slice(1, 2), ct.load(i, (0,), (4,)), ct.Slice(2, 8))
    ct.store(y, (0, 0, 0), ct.load_advanced_indexing(x, indices, padding_mode=Pad.ZERO, latency=2, allow_tma=False))


def advanced_store(sparse: int) -> Any:
    @ct.kernel
    def advanced_store_kernel(i, v, y):
        index = ct.load(i, (0,), (8,))
        dense = ct.Slice(2, 8)
        indices = (index, dense) if sparse == 0 else (dense, index)
        ct.store_advanced_indexing(y, indices, ct.load(v, (0, 0), (8, 8)))

    return advanced_store_kernel


@ct.kernel
def raw_kernel(x, y):
    offset = ct.arange(N, dtype=ct.int32)
    memory, target = x.get_raw_memory(), y.get_raw_memory()
    tile = memory.load_offset(offset * 3 % 40, mask=offset < 20, padding_value=9)
    target.store_offset(offset, tile + memory.load_offset(2), mask=offset != 4)


@ct.kernel
def raw_plain_kernel(x, y):
    offset = ct.arange(N, dtype=ct.int64).reshape((4, 8))
    y.get_raw_memory().store_offset(offset, x.get_raw_memory().load_offset(offset + 5, latency=1), latency=1)


def advanced() -> Iterator[Case]:
    rows = Data("int32", (8,), (0, 11, 3, 12, 40, 7, 7, 1))
    for mode in (Pad.ZERO, Pad.NAN, Pad.NEG_INF):
        for sparse in (0, 1):
            array = counted("float32", 12, 16)
            shape = (8, 4) if sparse == 0 else (4, 8)
            name = f"load_advanced_indexing-{mode.name}-axis{sparse}"
            yield case(name, advanced_load(mode, sparse), array, rows, out("float32", *shape), 10)
    for dtype in ("float16", "int32", "uint8"):
        array = counted(dtype, 12, 16)
        name = f"load_advanced_indexing-{dtype}"
        yield case(name, advanced_load(Pad.ZERO, 0), array, rows, out(dtype, 8, 4), 14)
    array, middle = counted("float32", 4, 6, 16), Data("int32", (4,), (5, 0, 3, 6))
    yield case("load_advanced_indexing-3d", advanced_load_3d_kernel, array, middle, out("float32", 2, 4, 8))
    for sparse in (0, 1):
        once = Data("int32", (8,), (3, 0, 9, 5, 12, 40, 1, 8))
        values, target = counted("float32", 8, 8), out("float32", 12, 16)
        yield case(f"store_advanced_indexing-axis{sparse}", advanced_store(sparse), once, values, target)


def raw() -> Iterator[Case]:
    for dtype in ("float32", "int32", "bfloat16"):
        yield case(f"raw-offsets-masked-{dtype}", raw_kernel, counted(dtype, 40), out(dtype, N))
        yield case(f"raw-offsets-{dtype}", raw_plain_kernel, Data(dtype, (40,), "any"), out(dtype, N))


def cases() -> list[Case]:
    return [*advanced(), *raw()]
