"""Loads and stores by computed indices: gather, scatter, advanced indexing, raw offsets."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from bits import DTYPES
from case import Case, Data, counted, family_of, out, small
from comparing import cutile

case = family_of("gather and scatter")

N = 32
WILD = (0, 5, -1, 19, 20, 3, -7, 100, 1, 1, 2, 18, -100, 40, 7, 7)  # of 20 elements: some outside, some twice
ORDER = (7, 3, 0, 9, 30, 1, 12, 31, 2, 25, 22, 18, 40, -1, 11, 4)  # each at most once; 30 and more are outside of 30


@ct.kernel
def gather_kernel(x, i, y):
    ct.store(y, (0,), ct.gather(x, ct.load(i, (0,), (N,))))


@ct.kernel
def gather_padded_kernel(x, i, y):
    index = ct.load(i, (0,), (N,))
    ct.store(y, (0,), ct.gather(x, (index,), mask=index != 3, padding_value=7, latency=2))


@ct.kernel
def gather_tile_padding_kernel(x, i, p, y):
    ct.store(y, (0,), ct.gather(x, ct.load(i, (0,), (N,)), padding_value=ct.load(p, (0,), (N,))))


@ct.kernel
def gather_unchecked_kernel(x, i, m, y):
    index, mask = ct.load(i, (0,), (N,)), ct.load(m, (0,), (N,))
    ct.store(y, (0,), ct.gather(x, index, mask=mask, check_bounds=False, padding_value=-1))


@ct.kernel
def gather_2d_kernel(x, i, j, y):
    rows, columns = ct.load(i, (0,), (8,)), ct.load(j, (0,), (4,))
    ct.store(y, (0, 0), ct.gather(x, (rows[:, None], columns[None, :]), padding_value=-5))
    ct.store(y, (1, 0), ct.gather(x, (2, columns)).reshape((1, 4)) + ct.zeros((8, 4), x.dtype))


@ct.kernel
def gather_scalar_kernel(x, y):
    for k in range(4):
        ct.scatter(y, k, ct.gather(x, (k + 1, 2 * k)))


@ct.kernel
def scatter_kernel(i, v, y):
    ct.scatter(y, ct.load(i, (0,), (16,)), ct.load(v, (0,), (16,)))


@ct.kernel
def scatter_masked_kernel(i, v, y):
    value = ct.load(v, (0,), (16,))
    ct.scatter(y, (ct.load(i, (0,), (16,)),), value, mask=value > 1, latency=1)


@ct.kernel
def scatter_2d_kernel(y):
    rows, columns = ct.arange(8, dtype=ct.int32, start=-2), ct.arange(4, dtype=ct.int64, step=3)
    ct.scatter(y, (rows[:, None], columns), rows[:, None] * 100)


@ct.kernel
def scatter_unchecked_kernel(i, y):
    ct.scatter(y, ct.load(i, (0,), (16,)), 3, check_bounds=False)


def constant(target: str) -> Any:
    dtype = cutile(target)

    @ct.kernel
    def scatter_constant_kernel(y):
        ct.scatter(y, ct.arange(8, dtype=ct.int32) * 2, ct.full((8,), 2, dtype))

    return scatter_constant_kernel


def cases() -> list[Case]:
    return [*gathers(), *scatters()]


def gathers() -> Iterator[Case]:
    index = Data("int32", (N,), WILD)
    yield from (case(f"gather-{d}", gather_kernel, counted(d, 20), index, out(d, N)) for d in DTYPES)
    for kind in ("int8", "int16", "int64", "uint8", "uint32", "uint64"):
        wild = Data(kind, (N,), WILD if kind[0] == "i" else tuple(abs(v) for v in WILD))
        yield case(f"gather-by-{kind}", gather_kernel, counted("float32", 20), wild, out("float32", N))
    for dtype in ("float32", "int64", "float16"):
        array = counted(dtype, 20)
        yield case(f"gather-padded-{dtype}", gather_padded_kernel, array, index, out(dtype, N))
        pads = Data(dtype, (N,), "ordinary")
        yield case(f"gather-tile-padding-{dtype}", gather_tile_padding_kernel, array, index, pads, out(dtype, N))
        inside, mask = Data("int32", (N,), "below-20"), Data("bool", (N,), "any")
        yield case(f"gather-unchecked-{dtype}", gather_unchecked_kernel, array, inside, mask, out(dtype, N))
    array = counted("int32", 6, 9)
    rows, columns = Data("int32", (8,), (0, 5, 6, -1, 2, 2, 1, 9)), Data("int64", (4,), (8, 9, 0, -3))
    yield case("gather-2d", gather_2d_kernel, array, rows, columns, out("int32", 16, 4))
    yield case("gather-scalar", gather_scalar_kernel, array, out("int32", 8))


def scatters() -> Iterator[Case]:
    index = Data("int32", (16,), ORDER)
    yield from (
        case(f"scatter-{d}", scatter_kernel, index, Data(d, (16,), "any"), out(d, 30))
        for d in ("bool", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "float8_e5m2")
    )
    for dtype in ("float32", "int32"):
        yield case(f"scatter-masked-{dtype}", scatter_masked_kernel, index, small(dtype, 16), out(dtype, 30))
        yield case(f"scatter-constant-{dtype}", constant(dtype), out(dtype, 12))
    yield case("scatter-2d", scatter_2d_kernel, out("int32", 5, 8))
    yield case("scatter-unchecked", scatter_unchecked_kernel, counted("int64", 16), out("float32", 20))
