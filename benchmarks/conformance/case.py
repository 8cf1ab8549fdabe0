"""One launch whose result is recorded on a GPU and asked of the emulator: kernel, grid, arguments, tolerance."""

import dis
import hashlib
import inspect
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from math import prod
from types import CodeType, FunctionType
from typing import Any

from bits import Bits
from fills import fill, poison

Shape = tuple[int, ...]
UNWRITTEN = "poison"
HASH_BYTES = 3


@dataclass(frozen=True)
class Data:
    """An array argument. `written` ones are read back; one only written starts as poison. `transposed`: its last
    two axes are swapped in memory.
    """

    dtype: str
    shape: Shape
    fill: str | tuple[object, ...] = "special"
    written: bool = False
    transposed: bool = False

    def bits(self, seed: int) -> Bits:
        """The elements before the launch, in the order of memory."""
        count = prod(self.shape)
        if self.fill == UNWRITTEN:
            return poison(self.dtype, count)
        return fill(self.fill, self.dtype, count, seed)


def small(dtype: str, *shape: int) -> Data:
    """Small integers, which add up exactly in any order and precision."""
    return Data(dtype, shape, "small")


def counted(dtype: str, *shape: int) -> Data:
    """0, 1, 2, ..., so that each element tells where it came from."""
    return Data(dtype, shape, "count")


def out(dtype: str, *shape: int) -> Data:
    """An array that the kernel only writes."""
    return Data(dtype, shape, UNWRITTEN, written=True)


@dataclass(frozen=True)
class Tolerance:
    """`exact`: bit-equal, any NaN for a NaN. `ulps`: that many units in the last place of the output's type apart.
    `unspecified`: recorded to know what the hardware does; no document promises it.
    """

    kind: str
    reason: str = ""
    ulps: int = 0


EXACT = Tolerance("exact")


def ulps(count: int, reason: str) -> Tolerance:
    """At most `count` units in the last place away, because of `reason`."""
    return Tolerance("ulps", reason, count)


def unspecified(reason: str) -> Tolerance:
    """No document says what the result is."""
    return Tolerance("unspecified", reason)


@dataclass(frozen=True)
class Case:
    """`arguments` are Data, numbers, or tuples and lists of both; `grid` has up to three sizes."""

    id: str
    family: str
    kernel: Any
    arguments: tuple[Any, ...]
    tolerance: Tolerance = EXACT
    grid: Shape = (1,)

    @property
    def seed(self) -> int:
        """Of the first array; each later one adds one."""
        return zlib.crc32(self.id.encode())

    def arrays(self) -> Iterator[tuple[Data, Bits]]:
        """The array arguments in order, those inside tuples included, with their elements before the launch."""
        for index, data in enumerate(_flat(self.arguments)):
            yield data, data.bits(self.seed + index)

    def outputs(self) -> list[Data]:
        """The arrays that are read back."""
        return [data for data in _flat(self.arguments) if data.written]

    def text_hash(self) -> str:
        """Changes with the kernel's text, what it closes over, the grid, the arguments and their elements."""
        digest = hashlib.sha256(repr((self.grid, self.arguments)).encode())
        digest.update(_text(self.kernel._annotated_function.pyfunc).encode())
        for _, bits in self.arrays():
            digest.update(bits.tobytes())
        return digest.hexdigest()[: 2 * HASH_BYTES]


def family_of(family: str) -> Callable[..., Case]:
    """What makes the cases of a family: of an id, a kernel and its arguments, with `tolerance` and `grid` by name."""

    def case(name: str, kernel: Any, *arguments: Any, tolerance: Tolerance = EXACT, grid: Shape = (1,)) -> Case:
        return Case(name, family, kernel, arguments, tolerance, grid)

    return case


def _flat(values: tuple[Any, ...] | list[Any]) -> Iterator[Data]:
    for value in values:
        if isinstance(value, Data):
            yield value
        elif isinstance(value, tuple | list):
            yield from _flat(value)


def _text(value: Any, seen: frozenset[str] = frozenset()) -> str:
    """The source of a function with all it refers to in its own module or closure; the name of anything else."""
    if isinstance(value, Enum):
        return value.name
    if not isinstance(value, FunctionType) or value.__qualname__ in seen:
        return getattr(value, "__qualname__", str(value))
    known = {name: value.__globals__[name] for name in _globals(value.__code__) if name in value.__globals__}
    names = {**inspect.getclosurevars(value).nonlocals, **{k: v for k, v in known.items() if _own(v, value)}}
    parts = [f"{name}={_text(names[name], seen | {value.__qualname__})}" for name in sorted(names)]
    return "\n".join([inspect.getsource(value), *parts])


def _globals(code: CodeType) -> set[str]:
    """The globals that a function and the functions in it read; unlike `co_names`, no attributes."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in {"LOAD_GLOBAL", "LOAD_NAME"}}
    return found.union(*(_globals(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _own(value: Any, user: FunctionType) -> bool:
    constant = isinstance(value, int | float | str | tuple | Enum)
    return constant or (isinstance(value, FunctionType) and value.__module__ == user.__module__)
