"""Element-wise functions of one tile, and how far their results may be from the GPU's."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from bits import INTEGERS, WIDE_FLOATS
from case import EXACT, Case, Data, Tolerance, out, ulps
from cuda.tile import RoundingMode as Mode

N = 64
CUDA = "CUDA programming guide, maximum error of the {} function, and 1 for the emulator's own rounding"
# Of the single- and the double-precision function, from the guide's tables; the narrow types are computed in single.
GUIDE = {
    "exp": (2, 1), "exp2": (2, 1), "log": (1, 1), "log2": (1, 1), "rsqrt": (2, 1), "sin": (2, 2), "cos": (2, 2),
    "tan": (4, 2), "sinh": (3, 2), "cosh": (2, 1), "tanh": (2, 1),
}  # fmt: skip
EXACTLY = ("sqrt", "floor", "ceil", "abs", "negative")
APPROXIMATE = {
    ("exp", Mode.APPROX): ulps(32, "ex2.approx.f32 of x*log2(e) rounded to single: x is at most 8 in size here"),
    ("exp", Mode.FULL): ulps(3, CUDA.format("single-precision")),
    ("tanh", Mode.APPROX): ulps(8192, "PTX tanh.approx.f32: relative error 2**-11"),
    ("tanh", Mode.FULL): ulps(3, CUDA.format("single-precision")),
    ("sqrt", Mode.APPROX): ulps(3, "PTX sqrt.approx.f32: relative error 2**-23"),
}


def plain(name: str) -> Any:
    @ct.kernel
    def unary_kernel(x, y):
        ct.store(y, (0,), getattr(ct, name)(ct.load(x, (0,), (N,))))

    return unary_kernel


def rounded(name: str, mode: Mode) -> Any:
    @ct.kernel
    def rounded_unary_kernel(x, y):
        ct.store(y, (0,), getattr(ct, name)(ct.load(x, (0,), (N,)), rounding_mode=mode))

    return rounded_unary_kernel


def flushed(name: str) -> Any:
    @ct.kernel
    def flushed_unary_kernel(x, y):
        ct.store(y, (0,), getattr(ct, name)(ct.load(x, (0,), (N,)), flush_to_zero=True))

    return flushed_unary_kernel


def operators() -> Any:
    @ct.kernel
    def unary_operators_kernel(x, y, z):
        tile = ct.load(x, (0,), (N,))
        ct.store(y, (0,), -tile)
        ct.store(z, (0,), ~ct.astype(abs(tile), ct.int32))

    return unary_operators_kernel


def bound(name: str, dtype: str) -> Tolerance:
    """How far the function may be from the GPU's."""
    if name in EXACTLY:
        return EXACT
    single, double = GUIDE[name]
    if dtype == "float64":
        return ulps(double + 1, CUDA.format("double-precision"))
    if dtype == "float32":
        return ulps(single + 1, CUDA.format("single-precision"))
    return ulps(1, "computed in single precision and rounded once, so a near tie may go either way")


def case(id_: str, kernel: Any, source: str, target: str, tolerance: Tolerance, fill: str = "special") -> Case:
    return Case(id_, "unary", kernel, (Data(source, (N,), fill), out(target, N)), tolerance)


def cases() -> Iterator[Case]:
    """Every function for every type it takes, special values included."""
    yield from (
        case(f"{name}-{dtype}", plain(name), dtype, dtype, bound(name, dtype))
        for name in (*GUIDE, *EXACTLY)
        for dtype in WIDE_FLOATS
    )
    for name in ("exp", "sin", "tanh", "log2"):
        label = f"{name}-{{}}-ordinary"
        yield from (
            case(label.format(d), plain(name), d, d, bound(name, d), "ordinary") for d in ("float32", "float64")
        )
    yield from (case(f"isnan-{d}", plain("isnan"), d, "bool", EXACT) for d in WIDE_FLOATS)
    yield from (case(f"abs-{d}", plain("abs"), d, d, EXACT) for d in ("int8", "int32", "int64", "uint32", "bool"))
    yield from (case(f"negative-{d}", plain("negative"), d, d, EXACT) for d in INTEGERS)
    yield case("negative-bool", plain("negative"), "bool", "int32", EXACT)
    yield from (case(f"bitwise_not-{d}", plain("bitwise_not"), d, d, EXACT) for d in ("bool", *INTEGERS))
    for dtype in ("int32", "uint8", "bool"):
        for name in ("exp2", "sqrt", "cos"):
            bits = bound(name, "float32")
            yield case(f"{name}-{dtype}", plain(name), dtype, "float32", bits, "ordinary")
    yield Case("operators-float32", "unary", operators(),
             (Data("float32", (N,), "ordinary"), out("float32", N), out("int32", N)))  # fmt: skip
    yield from modes()


def modes() -> Iterator[Case]:
    """Rounding modes and flushing to zero."""
    yield from (
        case(f"{name}-float32-{mode.name}", rounded(name, mode), "float32", "float32", tolerance,
             "ordinary" if name == "exp" and mode is Mode.APPROX else "special")
        for (name, mode), tolerance in APPROXIMATE.items()
    )  # fmt: skip
    for dtype in WIDE_FLOATS:
        yield from (
            case(f"sqrt-{dtype}-{mode.name}", rounded("sqrt", mode), dtype, dtype, EXACT)
            for mode in (Mode.RN, Mode.RZ, Mode.RM, Mode.RP)
        )
    for name in ("exp2", "sqrt", "rsqrt"):
        yield case(f"{name}-float32-ftz", flushed(name), "float32", "float32", bound(name, "float32"))
