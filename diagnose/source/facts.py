"""The facts that the text of a cuTile file holds: frozen records, positions included.

Settings are source text and None where the source leaves the default. What the text does not decide is None or
"unknown"; nothing is guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kdiag.records import Place

AccessKind = Literal["load", "store", "gather", "scatter"]
# What an index is made of: the number of a tile; element offsets by an affine rule (`bid * T + arange(T)`); values that
# the kernel has read from memory; one element. "unknown" is anything else, such as an index made by an unknown function.
IndexForm = Literal["tile-index", "affine", "indirect", "scalar", "unknown"]
# Whether the number of passes is known when the kernel is compiled.
LoopBound = Literal["static", "dynamic", "unknown"]


@dataclass(frozen=True)
class Loop:
    """A loop of a kernel. `range` is the text of what it goes over, or of the condition of a `while`.

    In a `persistent` loop a block goes on to its next work item. `trips` is the number of passes where the text shows
    it; `depth` counts the loops around it, those of the calling functions included.
    """

    where: Place
    range: str
    persistent: bool
    bound: LoopBound
    trips: int | None
    depth: int


@dataclass(frozen=True)
class Access:
    """One place that reads or writes an array.

    `array` is the text of the array or view at that place, inside a called function its parameter. `padding_mode` is
    the padding of a tile load as a name of `PaddingMode`, looked up through variables and views; None if undecided.
    `step` is the distance between neighbouring elements along the array's last axis: 1 for a contiguous range, 0 if
    they share the index there, None if unknown or for an access by tiles. `loops` are the places of the loops around it.
    """

    kind: AccessKind
    array: str
    where: Place
    index: str = ""
    form: IndexForm = "unknown"
    step: int | None = None
    shape: str | None = None
    padding: str | None = None
    padding_mode: str | None = None
    latency: str | None = None
    allow_tma: str | None = None
    check_bounds: str | None = None
    mask: str | None = None
    loops: tuple[Place, ...] = ()

    @property
    def indirect(self) -> bool:
        """Whether the index is computed from values that the kernel has read from memory."""
        return self.form == "indirect"


@dataclass(frozen=True)
class Atomic:
    """An atomic operation on memory, e.g. `atomic_add`."""

    name: str
    array: str
    where: Place
    loops: tuple[Place, ...] = ()


@dataclass(frozen=True)
class MathCall:
    """A costly function, or `/` between tiles. `exact` is False where the source asks for approximate rounding."""

    name: str
    where: Place
    exact: bool
    loops: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Product:
    """A matrix product: the text of its operands and their types.

    A type is a name of cuda.tile ("float32") where the source converts to it, `X.dtype` for what is loaded from the
    kernel's parameter X, else None. The accumulator is None for a product without one.
    """

    name: str
    where: Place
    x: str
    y: str
    accumulator: str | None = None
    x_dtype: str | None = None
    y_dtype: str | None = None
    accumulator_dtype: str | None = None
    loops: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Helper:
    """A function that a kernel calls. `where` is its definition, or for a function that was not found the first call.

    `module` is the module it is imported from as the import writes it, "" for a function of the same file.
    """

    name: str
    module: str
    where: Place
    resolved: bool


@dataclass(frozen=True)
class Hints:
    """Compiler hints given to a kernel outside its decorator, by `replace_hints` or another `ct.kernel(...)`."""

    values: Mapping[str, str]
    where: Place


@dataclass(frozen=True)
class KernelFacts:
    """A kernel together with the functions that it calls; every place counts once.

    `hints` are the keywords of the decorator as source text ("**" for an unpacked mapping), `hints_by_target` those
    given as `ct.ByTarget`, by architecture or "default". `names` are the variables that the kernel is bound to besides
    its own name, `replaced_hints` what is given to it elsewhere in the file. `swizzles` are places that number tiles
    in groups, so that neighbouring blocks share operands in the cache.
    """

    name: str
    where: Place
    hints: Mapping[str, str]
    constants: tuple[str, ...]
    accesses: tuple[Access, ...]
    math: tuple[MathCall, ...]
    mma: tuple[Product, ...]
    loops: tuple[Loop, ...]
    parameters: tuple[str, ...] = ()
    atomics: tuple[Atomic, ...] = ()
    swizzles: tuple[Place, ...] = ()
    helpers: tuple[Helper, ...] = ()
    hints_by_target: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    replaced_hints: tuple[Hints, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def persistent_loops(self) -> tuple[Place, ...]:
        """The loops in which a block goes on to its next work item."""
        return tuple(loop.where for loop in self.loops if loop.persistent)

    @property
    def persistent(self) -> bool:
        """Whether a block works on several items, one after the other."""
        return bool(self.persistent_loops)

    @property
    def unresolved(self) -> tuple[Helper, ...]:
        """The called functions whose text was not found: what they do is not in these facts."""
        return tuple(helper for helper in self.helpers if not helper.resolved)


@dataclass(frozen=True)
class SourceFacts:
    """The kernels of one file, in the order of the text."""

    kernels: tuple[KernelFacts, ...]
