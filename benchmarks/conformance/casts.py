"""Casts between every two numeric types, with rounding modes and values outside the target's range; bit casts."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from bits import DTYPES, FLOATS, INTEGERS, SIGNED, width
from case import EXACT, Case, Data, Tolerance, family_of, out, unspecified
from comparing import cutile
from cuda.tile import RoundingMode as Mode

case = family_of("cast")

N = 32
OUTSIDE = unspecified("neither cuTile nor the IR says what a value outside the target's range becomes")
EIGHT = ("float8_e4m3fn", "float8_e5m2")
MODES = {
    Mode.RZ: [("float32", "bfloat16"), ("float32", "float16"), ("float64", "float32"), ("float64", "float16"),
              ("float64", "bfloat16"), ("float16", "bfloat16"), ("bfloat16", "float16")],
    Mode.RM: [("float64", "float32"), ("bfloat16", "float16"), ("float32", "float64")],
    Mode.RP: [("float64", "float32"), ("bfloat16", "float16"), ("float16", "float32")],
    Mode.RA: [("bfloat16", "float16"), ("float16", "float64")],
    Mode.RN: [("float32", "bfloat16"), ("float32", "float8_e4m3fn"), ("float16", "float8_e5m2")],
}  # fmt: skip


def caster(target: str) -> Any:
    dtype = cutile(target)

    @ct.kernel
    def cast_kernel(x, y):
        ct.store(y, (0,), ct.astype(ct.load(x, (0,), (N,)), dtype))

    return cast_kernel


def byte_caster(target: str, mode: Mode) -> Any:
    dtype = cutile(target)

    @ct.kernel
    def byte_cast_kernel(x, y):
        ct.store(y, (0,), ct.pack_to_bytes(ct.astype(ct.load(x, (0,), (N,)), dtype, rounding_mode=mode)))

    return byte_cast_kernel


def rounding_caster(target: str, mode: Mode) -> Any:
    dtype = cutile(target)

    @ct.kernel
    def rounding_cast_kernel(x, y):
        ct.store(y, (0,), ct.load(x, (0,), (N,)).astype(dtype, rounding_mode=mode))

    return rounding_cast_kernel


def bitcaster(target: str) -> Any:
    dtype = cutile(target)

    @ct.kernel
    def bitcast_kernel(x, y):
        ct.store(y, (0,), ct.bitcast(ct.load(x, (0,), (N,)), dtype))

    return bitcast_kernel


@ct.kernel
def pack_kernel(x, y):
    ct.store(y, (0,), ct.pack_to_bytes(ct.load(x, (0,), (N,))))


def unpacker(target: str, count: int) -> Any:
    dtype = cutile(target)

    @ct.kernel
    def unpack_kernel(x, y):
        ct.store(y, (0,), ct.unpack_from_bytes(ct.load(x, (0,), (count,)), dtype))

    return unpack_kernel


@ct.kernel
def implicit_cast_kernel(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (N,)))


@ct.kernel
def constructor_kernel(x, y):
    scalar = ct.load(x, (0,), ()).item()
    ct.store(y, (0,), ct.float32(scalar) + ct.float32(ct.int8(scalar)))


def cast(source: str, target: str, fill: Any, label: str = "", tolerance: Tolerance = EXACT) -> Case:
    name = f"cast-{source}-{target}{label}"
    return case(name, caster(target), Data(source, (N,), fill), out(target, N), tolerance=tolerance)


def special(name: str, kernel: Any, source: str, result: Data, tolerance: Tolerance = EXACT) -> Case:
    return case(name, kernel, Data(source, (N,), "special"), result, tolerance=tolerance)


def cases() -> Iterator[Case]:
    """Casts whose results follow from the types, then what lies outside, rounding modes and bits."""
    for source in DTYPES:
        for target in DTYPES:
            if source != target:
                yield from between(source, target)
    for mode, pairs in MODES.items():
        for source, target in pairs:
            name, bound = f"cast-{source}-{target}-{mode.name}", OUTSIDE if target in EIGHT else EXACT
            yield special(name, rounding_caster(target, mode), source, out(target, N), bound)
    yield case("cast-constructor", constructor_kernel, Data("float32", (1,), (-2.75,)), out("float32", 1))
    for target, mode in (("float8_e8m0fnu", Mode.RZ), ("float8_e5m3fnu", Mode.RN), ("float4_e2m1fn", Mode.RN)):
        arguments = Data("float32", (N,), "ordinary"), out("uint8", N)
        yield case(f"cast-float32-{target}-refused", byte_caster(target, mode), *arguments)
    yield from reinterpretations()


def between(source: str, target: str) -> list[Case]:
    """One cast of values the target can hold, and one of all values where it cannot hold some."""
    if source in FLOATS and target == "bool":
        return [cast(source, target, (0.0, 1.0, 1.0)), cast(source, target, "special", "-outside", OUTSIDE)]
    if source in FLOATS and target in INTEGERS:
        below = (-0.5, -1.0, -2.75, -64.0) if target in SIGNED else ()
        fill = (0.0, 1.0, 1.5, 2.75, 3.5, 100.0, 7.0, 0.125, *below)
        return [cast(source, target, fill), cast(source, target, "special", "-outside", OUTSIDE)]
    if target in EIGHT and source != "bool":
        edge = (
            (0.0, -0.0, 1.0, -1.5, 1.0625, 1.1875, 0.001, 0.015, 240.0, -17.0, 19.0, 0.002)
            if source in FLOATS
            else (0, 1, 2, 17, 19, 27, 100, 120)
        )
        return [cast(source, target, edge), cast(source, target, "special", "-outside", OUTSIDE)]
    return [cast(source, target, "special")]


def reinterpretations() -> Iterator[Case]:
    """The same bits as another type."""
    for source, target in (("float32", "int32"), ("uint32", "float32"), ("float16", "bfloat16"), ("int16", "float16"),
                           ("float64", "int64"), ("int8", "float8_e4m3fn"), ("float8_e5m2", "uint8"), ("int32", "uint32")):  # fmt: skip
        yield special(f"bitcast-{source}-{target}", bitcaster(target), source, out(target, N))
    for dtype in ("int32", "float16", "float64", "uint8", "float8_e4m3fn"):
        size = width(dtype) // 8
        yield special(f"pack_to_bytes-{dtype}", pack_kernel, dtype, out("uint8", N * size))
        arguments = Data("uint8", (N * size,), "any"), out(dtype, N)
        yield case(f"unpack_from_bytes-{dtype}", unpacker(dtype, N * size), *arguments)
    for source, target in (("int8", "int32"), ("float16", "float32"), ("int32", "float64"), ("bool", "uint8"),
                           ("bfloat16", "float32"), ("float64", "float32"), ("int32", "int8")):  # fmt: skip
        yield special(f"store-{source}-into-{target}", implicit_cast_kernel, source, out(target, N))
