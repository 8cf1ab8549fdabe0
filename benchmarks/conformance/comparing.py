"""Comparisons, bitwise operations, shifts, selection, and what type two types promote to."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import cuda.tile as ct
from binary import N, plain
from bits import INTEGERS, WIDE_FLOATS, width
from case import EXACT, Case, Data, family_of, out, ulps, unspecified
from cuda.tile._datatype import promote_dtypes

chosen = family_of("comparison")

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
PROMOTED = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", *WIDE_FLOATS)


@ct.kernel
def where_kernel(c, x, y, z):
    ct.store(z, (0,), ct.where(ct.load(c, (0,), (N,)), ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))))


@ct.kernel
def where_broadcast_kernel(c, x, z):
    row, column = ct.load(c, (0, 0), (1, 16)), ct.load(x, (0, 0), (8, 1))
    ct.store(z, (0, 0), ct.where(row, column, 2.5))


@ct.kernel
def chained_kernel(x, y, z):
    a, b = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
    ct.store(z, (0,), ((a < b) & (a != 0)) | (b >= 2) ^ (a == b))


def pair(family: str, name: str, operands: tuple[str, str], result: str, **kw: Any) -> Case:
    fills = kw.get("fills", ("left", "right"))
    arguments = (Data(operands[0], (N,), fills[0]), Data(operands[1], (N,), fills[1]), out(result, N))
    return Case(name, family, kw["kernel"], arguments, kw.get("tolerance", EXACT))


def comparisons() -> Iterator[Case]:
    types = ("bool", "uint8", "int16", "int32", "uint64", *WIDE_FLOATS)
    yield from (pair("comparison", f"{op}-{d}", (d, d), "bool", kernel=plain(op)) for op in COMPARISONS for d in types)
    mixed = (("int32", "float32"), ("bfloat16", "float32"), ("uint8", "float16"), ("int32", "int64"))
    yield from (pair("comparison", f"less-{a}-{b}", (a, b), "bool", kernel=plain("less")) for a, b in mixed)
    yield pair("comparison", "chained-float32", ("float32",) * 2, "bool", kernel=chained_kernel)
    for dtype in ("float32", "bfloat16", "int64", "uint8", "bool"):
        operands = Data(dtype, (N,), "left"), Data(dtype, (N,), "right")
        yield chosen(f"where-{dtype}", where_kernel, Data("bool", (N,), "any"), *operands, out(dtype, N))
    for a, b in (("int32", "float32"), ("float16", "float64"), ("bool", "int8")):
        operands = Data(a, (N,), "ordinary"), Data(b, (N,), "ordinary")
        yield chosen(f"where-{a}-{b}", where_kernel, Data("bool", (N,), "any"), *operands, out(b, N))
    arguments = Data("bool", (1, 16), "any"), Data("float32", (8, 1), "ordinary"), out("float32", 8, 16)
    yield chosen("where-broadcast", where_broadcast_kernel, *arguments)


def bitwise() -> Iterator[Case]:
    yield from (
        pair("bitwise", f"{op}-{d}", (d, d), d, kernel=plain(op))
        for op in ("bitwise_and", "bitwise_or", "bitwise_xor")
        for d in ("bool", "uint8", "int16", "int32", "uint64")
    )
    for op in ("bitwise_lshift", "bitwise_rshift"):
        yield from (
            pair("bitwise", f"{op}-{d}", (d, d), d, kernel=plain(op), fills=("special", f"below-{width(d)}"))
            for d in INTEGERS
        )
        wide = unspecified("a shift by the width or more is undefined in the IR")
        yield from (
            pair("bitwise", f"{op}-{d}-too-far", (d, d), d, kernel=plain(op), fills=("special", "below-100"), tolerance=wide)
            for d in ("uint8", "int32", "int64")
        )  # fmt: skip


def promotions() -> Iterator[Case]:
    """The sum of every two types that have a common one; those that have none are refused by the compiler."""
    for a, b in combinations(PROMOTED, 2):
        try:
            common = str(promote_dtypes(cutile(a), cutile(b))).rstrip("_")
        except ct.TileTypeError:
            continue
        yield pair("promotion", f"add-{a}-{b}", (a, b), common, kernel=plain("add"))
    refused = [("int32", "uint32"), ("float16", "bfloat16"), ("int8", "uint8")]
    yield from (pair("promotion", f"add-{a}-{b}", (a, b), "float64", kernel=plain("add")) for a, b in refused)
    for op in ("truediv", "pow", "atan2"):
        bound = EXACT if op == "truediv" else ulps(5, "the single-precision function, as for float32")
        fills = ("positive", "below-5") if op == "pow" else ("ordinary", "divisors")
        kernel = plain(op)
        yield pair("promotion", f"{op}-float32-int64", ("float32", "int64"), "float32", kernel=kernel, fills=fills, tolerance=bound)  # fmt: skip
    yield from (pair("promotion", f"mul-{a}-{b}", (a, b), b, kernel=plain("mul")) for a, b in
              (("int32", "float32"), ("bfloat16", "float32"), ("bool", "int32"), ("bool", "float16")))  # fmt: skip


def cutile(name: str) -> Any:
    return ct.bool_ if name == "bool" else getattr(ct, name)


def cases() -> list[Case]:
    return [*comparisons(), *bitwise(), *promotions()]
