"""What makes tiles and rearranges them."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from bits import WIDE_FLOATS
from case import Case, Data, counted, family_of, out, small
from comparing import cutile

case = family_of("shapes and constants")


@ct.kernel
def reshape_kernel(x, y, z):
    tile = ct.load(x, (0, 0), (4, 16))
    ct.store(y, (0, 0), ct.reshape(tile, (8, -1)))
    ct.store(z, (0, 0, 0), tile.reshape((2, 2, 16)))


@ct.kernel
def broadcast_kernel(x, y, z):
    row = ct.load(x, (0,), (8,))
    ct.store(y, (0, 0), ct.broadcast_to(row, (4, 8)))
    ct.store(z, (0, 0), row[:, None] + ct.expand_dims(row, 0) * 10)


@ct.kernel
def expand_kernel(x, y):
    tile = ct.load(x, (0, 0), (4, 8))
    three = tile[:, None, :] + ct.expand_dims(tile, -1).reshape((4, 1, 8))
    ct.store(y, (0, 0, 0), ct.expand_dims(tile, 1) + three)


@ct.kernel
def permute_kernel(x, y, z):
    tile = ct.load(x, (0, 0, 0), (2, 4, 8))
    ct.store(y, (0, 0, 0), ct.permute(tile, (2, 0, 1)))
    ct.store(z, (0, 0, 0), tile.permute((1, 0, 2)))


@ct.kernel
def transpose_kernel(x, y, z):
    tile = ct.load(x, (0, 0), (4, 16))
    ct.store(y, (0, 0), ct.transpose(tile))
    ct.store(z, (0, 0, 0), ct.transpose(tile.reshape((2, 2, 16)), 0, -1))


@ct.kernel
def cat_kernel(x, y, z):
    left, right = ct.load(x, (0, 0), (4, 8)), ct.load(x, (1, 0), (4, 8))
    ct.store(y, (0, 0), ct.cat((left, right), 0))
    ct.store(z, (0, 0), ct.cat((right, left), axis=-1))


@ct.kernel
def extract_kernel(x, y, z, at):
    tile = ct.load(x, (0, 0), (8, 16))
    ct.store(y, (0, 0), ct.extract(tile, (1, 2), (4, 4)) + tile.extract((at, at + 1), shape=(4, 4)))
    ct.store(z, (0, 0), ct.insert(tile, (1, 0), ct.extract(tile, (0, 1), (4, 8))))


@ct.kernel
def insert_kernel(x, y, at):
    tile = ct.zeros((16,), ct.float32)
    tile = ct.insert(tile, (at,), ct.load(x, (0,), (4,)))
    tile = tile.insert((5,), 2.5)
    ct.store(y, (0,), tile)


def ranges(name: str) -> Any:
    dtype = cutile(name)

    @ct.kernel
    def arange_kernel(y, z, w):
        ct.store(y, (0,), ct.arange(16, dtype=dtype))
        ct.store(z, (0,), ct.arange(16, dtype=dtype, start=3, step=2))
        ct.store(w, (0,), ct.arange(16, start=60, step=-4, dtype=dtype))

    return arange_kernel


@ct.kernel
def dynamic_arange_kernel(y, start, step):
    ct.store(y, (0,), ct.arange(16, dtype=ct.int32, start=start, step=step))


def constants(name: str) -> Any:
    dtype = cutile(name)

    @ct.kernel
    def constants_kernel(x, y):
        ct.store(y, (0, 0), ct.zeros((1, 8), dtype))
        ct.store(y, (1, 0), ct.ones((1, 8), dtype=dtype))
        ct.store(y, (2, 0), ct.full((1, 8), 3, dtype))
        ct.store(y, (3, 0), ct.full((1, 8), ct.load(x, (0,), ()), dtype))
        ct.store(y, (2, 1), ct.astile((1, 2, 3, 4, 5, 6, 7, 8), dtype=dtype).reshape((1, 8)))
        ct.store(y, (3, 1), ct.astile(((1, 2, 0, 1), (3, 5, 1, 0)), dtype=dtype).reshape((1, 8)))

    return constants_kernel


@ct.kernel
def astile_kernel(x, y):
    first, second = ct.load(x, (0,), ()), ct.load(x, (1,), ())
    ct.store(y, (0, 0), ct.astile(((first, 2), (second, first + second)), dtype=ct.float32))
    ct.store(y, (1, 1), ct.astile(second, dtype=ct.float32))


@ct.kernel
def properties_kernel(x, y):
    tile = ct.load(x, (0, 0), (4, 8))
    ct.store(y, (0,), tile.shape[0] * 100 + tile.shape[1] * 10 + tile.ndim)
    ct.store(y, (1,), 5 if tile.dtype == ct.float16 else 6)
    ct.store(y, (2,), ct.load(x, (1, 1), (1, 1)).item().astype(ct.int32))


def cases() -> Iterator[Case]:
    for dtype in ("float32", "float16", "int8", "int64", "bool", "float8_e4m3fn"):
        tile, cube = Data(dtype, (4, 16), "any"), Data(dtype, (2, 4, 8), "any")
        yield case(f"reshape-{dtype}", reshape_kernel, tile, out(dtype, 8, 8), out(dtype, 2, 2, 16))
        yield case(f"transpose-{dtype}", transpose_kernel, tile, out(dtype, 16, 4), out(dtype, 16, 2, 2))
        yield case(f"permute-{dtype}", permute_kernel, cube, out(dtype, 8, 2, 4), out(dtype, 4, 2, 8))
        yield case(f"cat-{dtype}", cat_kernel, Data(dtype, (8, 8), "any"), out(dtype, 8, 8), out(dtype, 4, 16))
    for dtype in ("float32", "int32"):
        yield case(f"broadcast_to-{dtype}", broadcast_kernel, small(dtype, 8), out(dtype, 4, 8), out(dtype, 8, 8))
        yield case(f"expand_dims-{dtype}", expand_kernel, small(dtype, 4, 8), out(dtype, 4, 4, 8))
        yield case(f"extract-{dtype}", extract_kernel, small(dtype, 8, 16), out(dtype, 4, 4), out(dtype, 8, 16), 1)
    yield case("insert", insert_kernel, counted("float32", 4), out("float32", 16), 2)
    for dtype in ("int32", "uint8", "int64", "int16", *WIDE_FLOATS):
        yield case(f"arange-{dtype}", ranges(dtype), out(dtype, 16), out(dtype, 16), out(dtype, 16))
    yield case("arange-dynamic", dynamic_arange_kernel, out("int32", 16), -3, 5)
    for dtype in ("int32", "uint8", "int64", "bool", *WIDE_FLOATS, "float8_e5m2"):
        yield case(f"constants-{dtype}", constants(dtype), Data(dtype, (1,), (1,)), out(dtype, 4, 16))
    yield case("astile-run-time", astile_kernel, Data("float32", (2,), "ordinary"), out("float32", 3, 2))
    yield from (
        case(f"properties-{d}", properties_kernel, counted(d, 4, 8), out("int32", 3)) for d in ("float16", "int64")
    )
