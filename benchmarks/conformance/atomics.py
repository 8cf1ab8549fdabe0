"""Atomic operations whose outcome does not depend on the order of the blocks."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from case import Case, Data, family_of, out, small, ulps
from cuda.tile import MemoryOrder, MemoryScope

case = family_of("atomics")

BLOCKS, N = 4, 16
INTEGERS = ("int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64", "float16", "bfloat16")
ONCE = (3, 0, 9, 5, 12, 15, 1, 8, 2, 16, -1, 14, 7, 6, 40, 4)  # each element at most once; some outside


def across(name: str) -> Any:
    """All blocks update the same elements, some of them twice within a block."""

    @ct.kernel
    def atomic_across_kernel(v, y):
        index = (ct.arange(N, dtype=ct.int32) * 3 + ct.bid(0)) % 11
        getattr(ct, name)(y, index, ct.load(v, (ct.bid(0),), (N,)))

    return atomic_across_kernel


def returned(name: str) -> Any:
    """One block, each element once: the old values are known too, where the index is inside."""

    @ct.kernel
    def atomic_returned_kernel(i, v, y, old):
        index = ct.load(i, (0,), (N,))
        before = getattr(ct, name)(y, (index,), ct.load(v, (0,), (N,)))
        ct.store(old, (0,), ct.where((index >= 0) & (index < N), before, 0))

    return atomic_returned_kernel


@ct.kernel
def cas_kernel(i, e, d, y, old):
    index = ct.load(i, (0,), (N,))
    ct.store(old, (0,), ct.atomic_cas(y, index, ct.load(e, (0,), (N,)), ct.load(d, (0,), (N,))))


@ct.kernel
def counter_kernel(y):
    ct.atomic_add(y, 0, 1)
    ct.atomic_add(y, (ct.bid(0) % 3 + 1,), ct.bid(0), memory_order=MemoryOrder.RELAXED, memory_scope=MemoryScope.SYS)
    ct.atomic_max(y, 4, ct.bid(0) * 7 % 5, check_bounds=False, memory_order=MemoryOrder.RELEASE)


@ct.kernel
def atomic_2d_kernel(v, y):
    rows, columns = ct.arange(4, dtype=ct.int32)[:, None], ct.arange(8, dtype=ct.int32)
    ct.atomic_add(y, (rows, columns % 3), ct.load(v, (0, 0), (1, 8)))


def offset(name: str) -> Any:
    @ct.kernel
    def atomic_offset_kernel(v, y, old):
        index = ct.arange(N, dtype=ct.int32)
        update, mask = ct.load(v, (0,), (N,)), index % 3 != 1
        if name == "atomic_cas_offset":
            before = y.get_raw_memory().atomic_cas_offset(index, 0, update, mask=mask)
        else:
            before = getattr(y.get_raw_memory(), name)(index, update, mask=mask)
        ct.store(old, (0,), ct.where(mask, before, 0))

    return atomic_offset_kernel


def view(name: str) -> Any:
    @ct.kernel
    def atomic_view_kernel(v, y):
        tiles = y.tiled_view((4, 8))
        update = ct.load(v, (ct.bid(0), 0), (4, 8))
        getattr(tiles, name)((0, 0), update)
        getattr(tiles, name)((0, 1), update)

    return atomic_view_kernel


def initial(dtype: str, *shape: int, fill: str = "small") -> Data:
    return Data(dtype, shape, fill, written=True)


def cases() -> Iterator[Case]:
    for op in ("add", "min", "max", "and", "or", "xor"):
        yield from (
            case(f"atomic_{op}-{d}-blocks", across(f"atomic_{op}"), Data(d, (BLOCKS * N,), "any"), initial(d, N, fill="any"),
                 grid=(BLOCKS,))
            for d in INTEGERS
        )  # fmt: skip
    yield from (
        case(f"atomic_add-{d}-blocks", across("atomic_add"), small(d, BLOCKS * N), initial(d, N), grid=(BLOCKS,))
        for d in FLOATS
    )
    bound = ulps(32, "at most 32 positive terms, added in any order")
    rounded = Data("float32", (BLOCKS * N,), "positive"), initial("float32", N, fill="positive")
    yield case("atomic_add-float32-rounded", across("atomic_add"), *rounded, tolerance=bound, grid=(BLOCKS,))
    where = Data("int32", (N,), ONCE)
    for op, types in (("add", ("int32", "float32", "float16")), ("xchg", ("int32", "float32", "int64", "float64")),
                      ("max", ("int32", "uint64")), ("min", ("int64", "uint32")), ("xor", ("int32",))):  # fmt: skip
        for d in types:
            yield case(f"atomic_{op}-{d}-old", returned(f"atomic_{op}"), where, small(d, N), initial(d, N), out(d, N))
    for d in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
        values = small(d, N), Data(d, (N,), "ordinary")
        yield case(f"atomic_cas-{d}", cas_kernel, where, *values, initial(d, N), out(d, N))
    yield case("atomic-counter", counter_kernel, Data("int32", (8,), (0,), written=True), grid=(13,))
    yield case("atomic_add-2d", atomic_2d_kernel, Data("int32", (1, 8), "ordinary"), initial("int32", 3, 4))
    yield from refused()
    yield from memory_forms()


def refused() -> list[Case]:
    """Types that these operations do not take."""
    pairs = (("max", "float32"), ("and", "float32"), ("add", "int8"), ("xchg", "float16"))
    return [
        case(f"atomic_{op}-{d}-refused", across(f"atomic_{op}"), small(d, BLOCKS * N), initial(d, N)) for op, d in pairs
    ]


def memory_forms() -> Iterator[Case]:
    """By raw offsets, and on tiled views without the old values."""
    for op in ("xchg", "add", "max", "min", "and", "or", "xor", "cas"):
        name = f"atomic_{op}_offset"
        yield case(f"{name}-int32", offset(name), Data("int32", (N,), "any"), initial("int32", N), out("int32", N))
    values = small("float32", N), initial("float32", N), out("float32", N)
    yield case("atomic_add_offset-float32", offset("atomic_add_offset"), *values)
    for op in ("add", "max", "min", "and", "or", "xor"):
        for d in ("int32", "uint64") if op != "add" else ("int32", "uint64", "float32", "float16"):
            name = f"atomic_store_{op}"
            arguments = small(d, 12, 8), initial(d, 3, 13)
            yield case(f"{name}-{d}", view(name), *arguments, grid=(3,))
