"""Parameters and captured values of every kind."""

from dataclasses import dataclass
from typing import Any

import cuda.tile as ct
from case import Case, counted, out, small
from control_flow import case


def closed_over(factor: int, shift: float, names: tuple[str, ...]) -> Any:
    def inner(tile):
        return tile * factor

    @ct.kernel
    def closure_kernel(x, y):
        def local(tile):
            return inner(tile) + shift

        ct.store(y, (0,), local(ct.load(x, (0,), (8,))) + len(names))

    return closure_kernel


@ct.kernel
def constants_kernel(x, y, size: ct.Constant[int], scale: ct.Constant[float], flag: ct.Constant[bool]):
    tile = ct.load(x, (0,), (size,)) * scale
    if flag:
        tile = tile + 1
    factor = ct.static_eval(sum(k * k for k in range(size)) if flag else 0)
    for k in ct.static_iter(range(3)):
        tile = tile + k * factor
    ct.static_assert(size == 8, "eight")
    ct.store(y, (0,), tile)


@ct.kernel
def scalars_kernel(y, a, b, c, d: ct.ScalarInt64):
    ct.store(y, (0,), a + 1)
    ct.store(y, (1,), ct.astype(b * 4, ct.int64))
    ct.store(y, (2,), 1 if c else 2)
    ct.store(y, (3,), d * 2)


@ct.kernel
def wide_index_kernel(x: ct.IndexedWithInt64, y):
    ct.store(y, (0,), x.shape[0] * 10000000000)
    ct.store(y, (1,), ct.astype(ct.load(x, (1,), (1,)).item(), ct.int64))


@ct.kernel
def tuple_kernel(pair, y):
    ct.store(y, (0,), ct.load(pair[0], (0,), (8,)) + ct.load(pair[1], (0,), (8,)) * pair[2])


@ct.kernel
def list_kernel(arrays, y):
    total = ct.zeros((8,), ct.float32)
    for k in range(len(arrays)):
        total += ct.load(arrays[k], (0,), (8,)) * (k + 1)
    ct.store(y, (0,), total)


@ct.kernel
def dependency_kernel(x, y):
    ct.grid_dependency_control_wait()
    ct.store(y, (0,), ct.load(x, (0,), (8,)) + 1)
    ct.grid_dependency_control_launch_dependents()


@dataclass(frozen=True)
class Settings:
    """A value with fields, made in the kernel."""

    width: int = 8
    bias: float = 0.5


@ct.kernel
def dataclass_kernel(x, y):
    settings = Settings(8, 1.5)
    ct.store(y, (0,), ct.load(x, (0,), (settings.width,)) + settings.bias)


@ct.kernel(occupancy=2, num_ctas=1, opt_level=2)
def arithmetic_kernel(y, n):
    ct.store(y, (0,), ct.cdiv(n, 4))
    ct.store(y, (1,), -n // 4)
    ct.store(y, (2,), -n % 4)
    ct.store(y, (3,), min(n, 5) + max(n, 40) * 1000)
    ct.store(y, (4,), (n << 3) ^ (n >> 1) | 1)
    ct.store(y, (5,), ct.assume_divisible_by(n * 8, 8) + n * n)


@ct.kernel
def assert_kernel(x, y):
    tile = ct.load(x, (0,), (8,))
    ct.assert_(tile >= 0, "negative")  # noqa: PT009
    ct.store(y, (0,), tile + 1)


def cases() -> list[Case]:
    eight, count = small("float32", 8), counted("float32", 8)
    return [
        case("closure", closed_over(3, 0.5, ("a", "b")), eight, out("float32", 8)),
        case("constants-true", constants_kernel, eight, out("float32", 8), 8, 1.5, True),
        case("constants-false", constants_kernel, eight, out("float32", 8), 8, -2.0, False),
        case("scalars", scalars_kernel, out("int64", 4), 41, 2.5, True, 3000000000),
        case("indexed-with-int64", wide_index_kernel, counted("float32", 30), out("int64", 2)),
        case("tuple-parameter", tuple_kernel, (eight, count, 3), out("float32", 8)),
        case("list-parameter", list_kernel, [eight, count, eight], out("float32", 8)),
        case("grid-dependency", dependency_kernel, eight, out("float32", 8)),
        case("dataclass", dataclass_kernel, eight, out("float32", 8)),
        case("scalar-arithmetic", arithmetic_kernel, out("int32", 8), 13),
        case("assert", assert_kernel, counted("int32", 8), out("int32", 8)),
    ]
