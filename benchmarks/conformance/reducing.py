"""Reductions and scans, built in and with functions of one's own."""

import operator
from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
from bits import WIDE_FLOATS
from case import EXACT, Case, Data, Tolerance, out, ulps
from cuda.tile import RoundingMode as Mode

ROWS, COLUMNS = 4, 16
AXES = {"none": None, "axis0": 0, "axis1": 1, "axis-1": -1, "both": (0, 1)}
ORDER = "the order of the terms is unspecified: one rounding a term, all of one sign"


def result_shape(axis: Any, keepdims: bool) -> tuple[int, ...]:
    """Of a (4, 16) tile reduced; a scalar is stored into one element."""
    axes = (0, 1) if axis is None else tuple(a % 2 for a in (axis if isinstance(axis, tuple) else (axis,)))
    sizes = [1 if a in axes else s for a, s in enumerate((ROWS, COLUMNS)) if keepdims or a not in axes]
    return tuple(sizes) or (1,)


def reducer(name: str, axis: Any, keepdims: bool) -> Any:
    zero = (0,) * len(result_shape(axis, keepdims))

    @ct.kernel
    def reduce_kernel(x, y):
        tile = ct.load(x, (0, 0), (ROWS, COLUMNS))
        ct.store(y, zero, getattr(ct, name)(tile, axis, keepdims=keepdims))

    return reduce_kernel


def nan_reducer(name: str) -> Any:
    @ct.kernel
    def nan_reduce_kernel(x, y):
        ct.store(y, (0,), getattr(ct, name)(ct.load(x, (0, 0), (ROWS, COLUMNS)), 1, propagate_nan=True))

    return nan_reduce_kernel


def rounding_reducer(name: str, mode: Mode, flush: bool) -> Any:
    @ct.kernel
    def rounding_reduce_kernel(x, y):
        tile = ct.load(x, (0, 0), (ROWS, COLUMNS))
        ct.store(y, (0,), getattr(ct, name)(tile, axis=1, rounding_mode=mode, flush_to_zero=flush))

    return rounding_reduce_kernel


def scanner(name: str, axis: int, reverse: bool) -> Any:
    @ct.kernel
    def scan_kernel(x, y):
        ct.store(y, (0, 0), getattr(ct, name)(ct.load(x, (0, 0), (ROWS, COLUMNS)), axis, reverse=reverse))

    return scan_kernel


def largest_by_size(a, b):
    return ct.where(abs(a) > abs(b), a, b)


@ct.kernel
def custom_reduce_kernel(x, y, z):
    tile = ct.load(x, (0, 0), (ROWS, COLUMNS))
    ct.store(y, (0,), ct.reduce(tile, 1, lambda a, b: a + b, 0))
    ct.store(z, (0, 0), ct.reduce(tile, axis=0, func=operator.mul, identity=1, keepdims=True))


@ct.kernel
def helper_reduce_kernel(x, y, z):
    tile = ct.load(x, (0, 0), (ROWS, COLUMNS))
    ct.store(y, (0,), ct.reduce(tile, 1, largest_by_size, 0))
    total, low = ct.reduce((tile, tile * 2), 0, lambda a, b, c, d: (a + c, min(b, d)), (0, 1000))
    ct.store(z, (0, 0), total[None, :])
    ct.store(z, (1, 0), low[None, :])


@ct.kernel
def custom_scan_kernel(x, y, z):
    tile = ct.load(x, (0, 0), (ROWS, COLUMNS))
    ct.store(y, (0, 0), ct.scan(tile, 1, lambda a, b: max(a, b + 0), -1000))
    sums, lows = ct.scan((tile, tile + 1), 1, lambda a, b, c, d: (a + c, min(b, d)), (0, 1000), reverse=True)
    ct.store(z, (0, 0), sums)
    ct.store(z, (1, 0), lows)


def case(id_: str, kernel: Any, dtype: str, shape: tuple[int, ...], fill: Any = "small", **kw: Any) -> Case:
    arguments = (Data(dtype, (ROWS, COLUMNS), fill), out(kw.get("result", dtype), *shape))
    return Case(id_, kw.get("family", "reduction"), kernel, arguments, kw.get("tolerance", EXACT))


def cases() -> Iterator[Case]:
    """Exact ones: sums of small integers, extremes. Sums of others are all positive, so that ulps bound them."""
    for label, axis in AXES.items():
        for op in ("sum", "max", "argmax") if axis != (0, 1) else ("sum", "max"):
            for keep in (False, True):
                result = "int32" if op == "argmax" else "float32"
                name = f"{op}-float32-{label}{'-keepdims' if keep else ''}"
                shape = result_shape(axis, keep)
                yield case(name, reducer(op, axis, keep), "float32", shape, result=result)
    for op in ("sum", "prod", "min", "max"):
        fill = (1, 2, 1, -1, 1, 1, 3) if op == "prod" else "small"
        yield from (
            case(f"{op}-{d}", reducer(op, 1, False), d, (ROWS,), fill)
            for d in ("int8", "int32", "uint64", "int64", *WIDE_FLOATS)
        )
        yield case(f"{op}-uint8", reducer(op, 1, False), "uint8", (ROWS,), "any")
        yield case(f"{op}-bool", reducer(op, 1, False), "bool", (ROWS,), "any", result="int32")
    for op in ("sum", "prod"):
        for dtype in WIDE_FLOATS:
            for label, axis, terms in (("axis1", 1, COLUMNS), ("none", None, ROWS * COLUMNS)):
                kernel, bound = reducer(op, axis, False), _sums(terms)
                shape = result_shape(axis, False)
                yield case(f"{op}-{dtype}-{label}-rounded", kernel, dtype, shape, "positive", tolerance=bound)
    yield case("argmax-tuple-refused", reducer("argmax", (0, 1), False), "float32", (1,), result="int32")
    yield from extremes()
    yield from modes()
    yield from scans()
    yield from custom()


def _sums(terms: int) -> Tolerance:
    return ulps(terms, ORDER)


def extremes() -> Iterator[Case]:
    """Ties and NaN."""
    for op in ("max", "min", "argmax", "argmin"):
        result = {"result": "int32"} if op.startswith("arg") else {}
        for dtype in ("float32", "float16", "float64"):
            yield case(f"{op}-{dtype}-special", reducer(op, 1, False), dtype, (ROWS,), "special", **result)
            yield case(f"{op}-{dtype}-propagate_nan", nan_reducer(op), dtype, (ROWS,), "special", **result)
        types = ("int32", "uint8", "bool", "int64") if op.startswith("arg") else ()
        yield from (case(f"{op}-{d}-ties", reducer(op, 0, False), d, (COLUMNS,), "small", **result) for d in types)


def modes() -> Iterator[Case]:
    """Rounding modes and flushing to zero: exact on integers, bounded on others."""
    for mode in (Mode.RZ, Mode.RM, Mode.RP):
        for op in ("sum", "prod"):
            kernel = rounding_reducer(op, mode, False)
            name = f"{op}-float32-{mode.name}"
            yield case(name, kernel, "float32", (ROWS,), "positive", tolerance=_sums(2 * COLUMNS))
    tiny = (1e-39, 0.0, -1e-40, 2.0**-120)
    yield case("sum-float32-ftz", rounding_reducer("sum", Mode.RN, True), "float32", (ROWS,), tiny)


def scans() -> Iterator[Case]:
    shape = (ROWS, COLUMNS)
    for op in ("cumsum", "cumprod"):
        signs = (1, -1, 1, 1, 2, -1, 1) if op == "cumprod" else "small"
        for axis in (0, 1):
            for reverse in (False, True):
                name = f"{op}-float32-axis{axis}{'-reverse' if reverse else ''}"
                yield case(name, scanner(op, axis, reverse), "float32", shape, signs, family="scan")
        yield from (
            case(f"{op}-{d}", scanner(op, 1, False), d, shape, signs, family="scan")
            for d in ("int32", "int64", "float64", "float16", "bfloat16")
        )
        for d in ("float32", "float64"):
            bound = ulps(COLUMNS, ORDER)
            yield case(f"{op}-{d}-rounded", scanner(op, 1, False), d, shape, "positive", family="scan", tolerance=bound)


def custom() -> Iterator[Case]:
    for dtype in ("int32", "float32"):
        tile = Data(dtype, (ROWS, COLUMNS), (1, 2, -1, 3, 1, -2, 5, 1, 1))
        two = (tile, out(dtype, ROWS), out(dtype, 1, COLUMNS))
        yield Case(f"reduce-custom-{dtype}", "reduction", custom_reduce_kernel, two)
        three = (tile, out(dtype, ROWS), out(dtype, 2, COLUMNS))
        yield Case(f"reduce-helper-{dtype}", "reduction", helper_reduce_kernel, three)
        four = (tile, out(dtype, ROWS, COLUMNS), out(dtype, 2 * ROWS, COLUMNS))
        yield Case(f"scan-custom-{dtype}", "scan", custom_scan_kernel, four)
