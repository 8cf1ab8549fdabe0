"""Element-wise arithmetic of two tiles: every type, special values met by special values, rounding modes."""

from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from bits import INTEGERS, SIGNED, WIDE_FLOATS
from case import EXACT, Case, Data, Tolerance, out, small, ulps, unspecified
from cuda.tile import RoundingMode as Mode
from unary import CUDA

N = 128
NARROW = "computed in single precision and rounded once, so a near tie may go either way"
POW = {"float16": ulps(2, NARROW), "bfloat16": ulps(2, NARROW), "float32": ulps(5, CUDA.format("single-precision")),
       "float64": ulps(3, CUDA.format("double-precision"))}  # fmt: skip
ATAN2 = {**POW, "float32": ulps(4, CUDA.format("single-precision"))}
POWI = ulps(16, "repeated multiplication, in an order no document gives: an exponent below 9 takes up to 8 roundings")
DIVIDE = {
    Mode.APPROX: ulps(3, "PTX div.approx.f32: 2 ulp for divisors of 2**-126 to 2**126 in size"),
    Mode.FULL: ulps(3, "PTX div.full.f32: 2 ulp over the full range"),
}
REMAINDER = unspecified("the IR's remf: whether the quotient is rounded before it is multiplied is not documented")
DIRECTED = (Mode.RZ, Mode.RM, Mode.RP)


def plain(name: str) -> Any:
    @ct.kernel
    def binary_kernel(x, y, z):
        ct.store(z, (0,), getattr(ct, name)(ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))))

    return binary_kernel


def rounded(name: str, mode: Mode) -> Any:
    @ct.kernel
    def rounded_binary_kernel(x, y, z):
        left, right = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
        ct.store(z, (0,), getattr(ct, name)(left, right, rounding_mode=mode))

    return rounded_binary_kernel


def flushed(name: str) -> Any:
    @ct.kernel
    def flushed_binary_kernel(x, y, z):
        left, right = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
        ct.store(z, (0,), getattr(ct, name)(left, right, flush_to_zero=True))

    return flushed_binary_kernel


def with_nan(name: str) -> Any:
    @ct.kernel
    def nan_binary_kernel(x, y, z):
        left, right = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
        ct.store(z, (0,), getattr(ct, name)(left, right, propagate_nan=True))

    return nan_binary_kernel


@ct.kernel
def divmod_kernel(x, y, z, w):
    quotient, remainder = divmod(ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,)))
    ct.store(z, (0,), quotient)
    ct.store(w, (0,), remainder)


@ct.kernel
def operators_kernel(x, y, z):
    a, b = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
    ct.store(z, (0,), (a + b) * a - b / 2 + 3 * max(a, b) - min(a, 1.5) // 2)


@ct.kernel
def reversed_operators_kernel(x, z):
    a = ct.load(x, (0,), (N,))
    ct.store(z, (0,), 7 - a + (100 // (abs(a) + 1)) + (2 << (a & 3)) + (-100 >> (a & 3)) + 50 % (abs(a) + 1))


def case(
    id_: str, kernel: Any, dtype: str, tolerance: Tolerance = EXACT, *, fills: Any = ("left", "right"), result: str = ""
) -> Case:
    operands = (Data(dtype, (N,), fills[0]), Data(dtype, (N,), fills[1]))
    return Case(id_, "binary", kernel, (*operands, out(result or dtype, N)), tolerance)


def cases() -> Iterator[Case]:
    """Arithmetic on two tiles of one type."""
    both = (*INTEGERS, *WIDE_FLOATS)
    yield from (case(f"{op}-{d}", plain(op), d) for op in ("add", "sub", "mul", "minimum", "maximum") for d in both)
    yield from (case(f"truediv-{d}", plain("truediv"), d) for d in WIDE_FLOATS)
    yield from (
        case(f"truediv-{d}", plain("truediv"), d, fills=("dividends", "divisors"), result="float32")
        for d in ("uint8", "int32", "int64", "uint32")
    )
    for op in ("floordiv", "cdiv", "mod"):
        yield from (case(f"{op}-{d}", plain(op), d, fills=("dividends", "divisors")) for d in INTEGERS)
    yield from (case(f"floordiv-{d}", plain("floordiv"), d) for d in WIDE_FLOATS)
    yield from (case(f"mod-{d}", plain("mod"), d, fills=("quarters", "quarters")) for d in WIDE_FLOATS)
    yield from (case(f"mod-{d}-special", plain("mod"), d, REMAINDER) for d in WIDE_FLOATS)
    yield from (case(f"pow-{d}-refused", plain("pow"), d) for d in ("int32", "uint8"))
    zero = unspecified("integer division by zero, and of the smallest integer by -1, is undefined")
    yield from (case(f"{op}-int32-undefined", plain(op), "int32", zero) for op in ("floordiv", "mod"))
    yield from (case(f"pow-{d}", plain("pow"), d, POW[d]) for d in WIDE_FLOATS)
    yield from (case(f"pow-{d}-ordinary", plain("pow"), d, POW[d], fills=("positive", "ordinary")) for d in WIDE_FLOATS)
    yield from (case(f"atan2-{d}", plain("atan2"), d, ATAN2[d]) for d in WIDE_FLOATS)
    for op in ("minimum", "maximum"):
        yield from (case(f"{op}-{d}-propagate_nan", with_nan(op), d) for d in WIDE_FLOATS)
    yield from modes()
    yield from others()


def modes() -> Iterator[Case]:
    """Rounding modes and flushing to zero."""
    ops = ("add", "sub", "mul", "truediv")
    yield from (
        case(f"{op}-{d}-{mode.name}", rounded(op, mode), d) for op in ops for d in ("float32", "float64") for mode in DIRECTED
    )  # fmt: skip
    yield from (case(f"{op}-{d}-RZ", rounded(op, Mode.RZ), d) for op in ops for d in ("float16", "bfloat16"))
    yield from (
        case(f"truediv-float32-{mode.name}", rounded("truediv", mode), "float32", bound, fills=("ordinary", "ordinary"))
        for mode, bound in DIVIDE.items()
    )
    yield from (case(f"{op}-float32-ftz", flushed(op), "float32") for op in (*ops, "minimum", "maximum"))


def others() -> Iterator[Case]:
    """Integer powers, divmod, and operators with Python numbers."""
    for dtype in WIDE_FLOATS:
        for exponent in ("int32", "uint8"):
            arguments = (Data(dtype, (N,), "positive"), Data(exponent, (N,), "below-9"), out(dtype, N))
            yield Case(f"pow-{dtype}-{exponent}", "binary", plain("pow"), arguments, POWI)
    for dtype in ("uint16", *SIGNED):
        operands = (Data(dtype, (N,), "dividends"), Data(dtype, (N,), "divisors"))
        yield Case(f"divmod-{dtype}", "binary", divmod_kernel, (*operands, out(dtype, N), out(dtype, N)))
    for dtype in ("float32", "float64", "float16"):
        operands = (small(dtype, N), small(dtype, N))
        yield Case(f"operators-{dtype}-two", "binary", operators_kernel, (*operands, out(dtype, N)))
    operands = (Data("int32", (N,), "ordinary"), out("int32", N))
    yield Case("operators-int32-reversed", "binary", reversed_operators_kernel, operands)
