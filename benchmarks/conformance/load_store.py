"""Tile loads and stores: tails, padding, axis order, hints, sliced and tiled views, what an array tells of itself."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from bits import DTYPES
from case import Case, Data, counted, family_of, out, small
from cuda.tile import MemoryOrder, MemoryScope
from cuda.tile import PaddingMode as Pad

case = family_of("load and store")

PADDED = ("bool", "int32", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")


def copy_1d(mode: Pad) -> Any:
    @ct.kernel
    def copy_1d_kernel(x, y):
        ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,), padding_mode=mode))

    return copy_1d_kernel


def copy_nd(index: tuple[int, ...], shape: tuple[int, ...], mode: Pad) -> Any:
    zero = (0,) * len(shape)

    @ct.kernel
    def copy_nd_kernel(x, y):
        ct.store(y, zero, ct.load(x, index, shape, padding_mode=mode))

    return copy_nd_kernel


def ordered(order: Any, shape: tuple[int, ...], index: tuple[int, ...]) -> Any:
    zero = (0,) * len(shape)

    @ct.kernel
    def ordered_load_kernel(x, y):
        ct.store(y, zero, ct.load(x, index, shape, order=order, padding_mode=Pad.ZERO))

    return ordered_load_kernel


def ordered_store(order: Any, shape: tuple[int, ...]) -> Any:
    zero = (0,) * len(shape)

    @ct.kernel
    def ordered_store_kernel(x, y):
        ct.store(y, zero, ct.load(x, zero, shape), order=order)

    return ordered_store_kernel


@ct.kernel
def hinted_kernel(x, y):
    tile = ct.load(x, (ct.bid(0), 0), (4, 16), latency=3, allow_tma=False)
    ct.store(y, (ct.bid(0), 0), tile + 1, latency=2, allow_tma=False)


@ct.kernel
def unchecked_kernel(x, y):
    ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (4, 16), check_bounds=False) * 2, check_bounds=False)


@ct.kernel
def ordered_memory_kernel(x, y):
    tile = ct.load(x, (0,), (16,), memory_order=MemoryOrder.ACQUIRE, memory_scope=MemoryScope.DEVICE)
    ct.store(y, (0,), tile + 1, memory_order=MemoryOrder.RELEASE, memory_scope=MemoryScope.DEVICE)
    more = ct.load(x, (1,), (16,), memory_order=MemoryOrder.RELAXED, memory_scope=MemoryScope.BLOCK)
    ct.store(y, (1,), more, memory_order=MemoryOrder.RELAXED, memory_scope=MemoryScope.SYS)


@ct.kernel
def scalar_kernel(x, y):
    element = ct.load(x, (2, 3), ())
    ct.store(y, (0, 0), element)
    ct.store(y, (1, 2), element * 2 + ct.load(x, (0, 0), shape=(1, 1)).item())
    ct.store(y, (3, 3), 7)


@ct.kernel
def tail_store_kernel(x, y):
    ct.store(y, (ct.bid(0), ct.bid(1)), ct.load(x, (ct.bid(0), ct.bid(1)), (4, 8)))


def cases() -> list[Case]:
    return [*padding(), *orders(), *forms()]


def padding() -> Iterator[Case]:
    """50 elements in tiles of 16: the last tile shows what the padding is."""
    modes = (Pad.ZERO, Pad.NEG_ZERO, Pad.NAN, Pad.POS_INF, Pad.NEG_INF)
    yield from (
        case(f"load-1d-{d}-{m.name}", copy_1d(m), Data(d, (50,), "any"), out(d, 64), grid=(4,))
        for d in DTYPES
        for m in (modes if d in PADDED else modes[:1])
    )
    yield from (
        case(f"load-1d-{d}-UNDETERMINED", copy_1d(Pad.UNDETERMINED), Data(d, (50,), "any"), out(d, 50), grid=(4,))
        for d in ("float32", "int8", "bool")
    )
    for dtype in ("float32", "float16", "int8"):
        copy = copy_nd((1, 1), (8, 16), Pad.ZERO)
        yield case(f"load-2d-{dtype}-tail", copy, counted(dtype, 13, 27), out(dtype, 8, 16))
        copy = copy_nd((0, 1, 1), (2, 4, 8), Pad.ZERO)
        yield case(f"load-3d-{dtype}-tail", copy, counted(dtype, 2, 7, 11), out(dtype, 2, 4, 8))
    copy = copy_nd((0, 0, 0, 0), (2, 2, 2, 4), Pad.NAN)
    yield case("load-4d-float32-tail", copy, counted("float32", 2, 1, 2, 3), out("float32", 2, 2, 2, 4))


def orders() -> Iterator[Case]:
    """Axes permuted, and arrays whose axes are swapped in memory."""
    for label, order, shape, index in (("F", "F", (8, 4), (1, 0)), ("10", (1, 0), (8, 4), (0, 1)), ("C", "C", (4, 8), (1, 1)),
                                       ("021", (0, 2, 1), (1, 4, 2), (1, 0, 1)), ("201", (2, 0, 1), (4, 1, 2), (0, 1, 1))):  # fmt: skip
        array = Data("float32", (7, 12) if len(shape) == 2 else (2, 5, 7), "count")
        yield case(f"load-order-{label}", ordered(order, shape, index), array, out("float32", *shape))
    for label, order, shape, target in (("F", "F", (8, 4), (4, 6)), ("210", (2, 1, 0), (2, 4, 2), (2, 4, 2))):
        store = ordered_store(order, shape)
        yield case(f"store-order-{label}", store, counted("int32", *shape), out("int32", *target))
    swapped = Data("float32", (16, 16), "count", transposed=True)
    yield case("load-2d-transposed-array", copy_nd((1, 0), (8, 16), Pad.ZERO), swapped, out("float32", 8, 16))
    target = Data("float32", (12, 16), "poison", written=True, transposed=True)
    source = counted("float32", 12, 16)
    yield case("store-2d-transposed-array", tail_store_kernel, source, target, grid=(3, 2))


def forms() -> Iterator[Case]:
    """Hints, memory orders, single elements, untouched elements."""
    for dtype in ("float32", "bfloat16", "int64"):
        source, target = small(dtype, 16, 16), out(dtype, 16, 16)
        yield case(f"load-hints-{dtype}", hinted_kernel, source, target, grid=(3,))
        yield case(f"load-unchecked-{dtype}", unchecked_kernel, source, target, grid=(2,))
    yield case("load-memory-order", ordered_memory_kernel, counted("int32", 32), out("int32", 32))
    yield from (
        case(f"load-0d-{d}", scalar_kernel, counted(d, 4, 6), out(d, 4, 4)) for d in ("float32", "int16", "float64")
    )
    yield from (
        case(f"store-tail-{d}", tail_store_kernel, Data(d, (16, 16), "any"), out(d, 10, 13), grid=(3, 2))
        for d in ("float32", "uint8", "bool")
    )
