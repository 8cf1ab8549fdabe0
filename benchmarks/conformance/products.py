"""Matrix products of every pair of types. Small integers make the sums exact in any order and precision."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from case import Case, Data, family_of, out, small, ulps
from comparing import cutile

case = family_of("product")

PAIRS = (
    ("float16", "float16", "float16"), ("float16", "float16", "float32"), ("bfloat16", "bfloat16", "float32"),
    ("float32", "float32", "float32"), ("float64", "float64", "float64"), ("int8", "int8", "int32"),
    ("uint8", "uint8", "int32"), ("int8", "uint8", "int32"), ("uint8", "int8", "int32"),
    ("float8_e4m3fn", "float8_e4m3fn", "float32"), ("float8_e4m3fn", "float8_e4m3fn", "float16"),
    ("float8_e5m2", "float8_e5m2", "float32"), ("float8_e5m2", "float8_e5m2", "float16"),
)  # fmt: skip
SIZES = ((16, 16, 16), (32, 16, 64))
ORDER = "K products of one sign summed in any order, each rounding (tensor cores truncate) at most 2 ulp of the total"


def product(m: int, n: int, k: int, fast: bool) -> Any:
    @ct.kernel
    def mma_kernel(x, y, a, z):
        left, right = ct.load(x, (0, 0), (m, k)), ct.load(y, (0, 0), (k, n))
        ct.store(z, (0, 0), ct.mma(left, right, ct.load(a, (0, 0), (m, n)), use_fast_acc=fast))

    return mma_kernel


def tensor_float(m: int, n: int, k: int) -> Any:
    @ct.kernel
    def tf32_kernel(x, y, z):
        left = ct.load(x, (0, 0), (m, k)).astype(ct.tfloat32)
        right = ct.load(y, (0, 0), (k, n)).astype(ct.tfloat32)
        ct.store(z, (0, 0), ct.mma(left, right, ct.zeros((m, n), ct.float32)))

    return tf32_kernel


def multiplied(shapes: tuple[tuple[int, ...], ...]) -> Any:
    left, right, result = shapes
    zeros = tuple((0,) * len(shape) for shape in shapes)

    @ct.kernel
    def matmul_kernel(x, y, z):
        tile = ct.matmul(ct.load(x, zeros[0], left), ct.load(y, zeros[1], right))
        ct.store(z, zeros[2], tile.reshape(result))

    return matmul_kernel


@ct.kernel
def operator_kernel(x, y, z):
    ct.store(z, (0, 0), ct.load(x, (0, 0), (16, 32)) @ ct.load(y, (0, 0), (32, 16)) + 1)


def batched(target: str) -> Any:
    dtype = cutile(target)

    @ct.kernel
    def batched_mma_kernel(x, y, z):
        left, right = ct.load(x, (0, 0, 0), (4, 16, 16)), ct.load(y, (0, 0), (16, 16))
        ct.store(z, (0, 0, 0), ct.mma(left, right, ct.full((4, 16, 16), 2, dtype)))

    return batched_mma_kernel


@ct.kernel
def tiled_product_kernel(x, y, z):
    total = ct.zeros((16, 16), ct.float32)
    for step in range(ct.num_tiles(x, 1, (16, 16))):
        left = ct.load(x, (ct.bid(0), step), (16, 16), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(y, (step, ct.bid(1)), (16, 16), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(z, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def scaled_kernel(x, z):
    tile = ct.load(x, (0, 0), (32, 32)).astype(ct.float8_e4m3fn)
    scale = ct.full((32, 1), 2.0, ct.float8_e8m0fnu)
    ct.store(z, (0, 0), ct.mma_scaled(tile, scale, tile, scale.reshape((1, 32)), ct.zeros((32, 32), ct.float32)))


def cases() -> Iterator[Case]:
    for a, b, c in PAIRS:
        for m, n, k in SIZES:
            tiles = small(a, m, k), small(b, k, n), small(c, m, n), out(c, m, n)
            yield case(f"mma-{a}-{b}-{c}-{m}x{n}x{k}", product(m, n, k, False), *tiles)
    for a, b, c in (PAIRS[1], PAIRS[5], PAIRS[9]):
        tiles = (small(a, 64, 16), small(b, 16, 32), small(c, 64, 32), out(c, 64, 32))
        yield case(f"mma-{a}-{b}-{c}-64x32x16", product(64, 32, 16, False), *tiles)
    for a in ("float8_e4m3fn", "float8_e5m2", "float16"):
        tiles = (small(a, 16, 32), small(a, 32, 16), small("float32", 16, 16), out("float32", 16, 16))
        yield case(f"mma-{a}-fast", product(16, 16, 32, True), *tiles)
    for a, c in (("float16", "float32"), ("bfloat16", "float32"), ("float32", "float32"), ("float64", "float64")):
        tiles = *(Data(each, (16, 16), "positive") for each in (a, a, c)), out(c, 16, 16)
        yield case(f"mma-{a}-{c}-rounded", product(16, 16, 16, False), *tiles, tolerance=ulps(34, ORDER))
    for m, n, k in SIZES:
        tiles = small("float32", m, k), small("float32", k, n), out("float32", m, n)
        yield case(f"mma-tfloat32-{m}x{n}x{k}", tensor_float(m, n, k), *tiles)
    tiles = (Data("float32", (16, 16), "positive"), Data("float32", (16, 16), "positive"), out("float32", 16, 16))
    yield case("mma-tfloat32-rounded", tensor_float(16, 16, 16), *tiles, tolerance=ulps(34, ORDER))
    yield from matmuls()


def matmuls() -> Iterator[Case]:
    """The other forms: vectors, batches, mixed types, a loop over K, scales."""
    forms = {
        "2d": ((16, 32), (32, 16), (16, 16)), "vector-vector": ((32,), (32,), (1,)), "matrix-vector": ((16, 32), (32,), (16,)),
        "vector-matrix": ((16,), (16, 32), (32,)), "batched": ((2, 16, 16), (2, 16, 32), (2, 16, 32)),
        "broadcast": ((2, 16, 16), (16, 16), (2, 16, 16)),
    }  # fmt: skip
    for label, shapes in forms.items():
        for dtype in ("float32", "float16"):
            tiles = Data(dtype, shapes[0], "small"), Data(dtype, shapes[1], "small"), out(dtype, *shapes[2])
            yield case(f"matmul-{label}-{dtype}", multiplied(shapes), *tiles)
    for a, b, c in (("float16", "float32", "float32"), ("bfloat16", "bfloat16", "bfloat16"), ("int8", "int8", "int8"),
                    ("float64", "float64", "float64"), ("float32", "int32", "float32")):  # fmt: skip
        tiles = small(a, 16, 32), small(b, 32, 16), out(c, 16, 16)
        yield case(f"matmul-{a}-{b}", multiplied(forms["2d"]), *tiles)
    tiles = small("float16", 16, 32), small("float16", 32, 16), out("float16", 16, 16)
    yield case("matmul-operator", operator_kernel, *tiles)
    for a, c in (("float16", "float32"), ("int8", "int32"), ("float64", "float64")):
        tiles = small(a, 4, 16, 16), small(a, 16, 16), out(c, 4, 16, 16)
        yield case(f"mma-batched-{a}", batched(c), *tiles)
    tiles = small("float16", 20, 40), small("float16", 40, 24), out("float32", 20, 24)
    yield case("mma-tiled-loop", tiled_product_kernel, *tiles, grid=(2, 2))
    yield case("mma_scaled-float8_e4m3fn", scaled_kernel, small("float32", 32, 32), out("float32", 32, 32))
