"""What the source of a kernel shows, as observations that causes can test. Counts are of places in the text."""

from collections.abc import Callable, Iterable, Sequence

from kdiag.errors import UsageError
from kdiag.records import Evidence, Place

from .facts import Access, AccessKind, Atomic, Helper, KernelFacts, Product, SourceFacts

Finder = Callable[[KernelFacts], Sequence[Place]]
# The only padding that the TMA hardware does; with another the compiler reports "TMA only supports zero padding".
_TMA_PADDING = ("UNDETERMINED", "ZERO", None)


def from_source(facts: SourceFacts, kernel: str) -> dict[str, Evidence]:
    """The `source.*` observations of one kernel: a count each, which may be 0, and the first place.

    Where the file defines the name more than once, the first counts. Raises UsageError if it never does. While a called
    function is unresolved, what it does is not in the counts: `source.unresolved_helpers` says so.
    """
    found = next((candidate for candidate in facts.kernels if candidate.name == kernel), None)
    if found is None:
        names = ", ".join(candidate.name for candidate in facts.kernels) or "none"
        raise UsageError(f"The file has no kernel named {kernel!r}; it has: {names}.")
    observations = {}
    for name, (finder, text) in _FINDERS.items():
        places = finder(found)
        where = places[0] if places else None
        observations[name] = Evidence("source", name, len(places), where=where, text=f"{text}: {len(places)}.")
    return observations


def _exact(*names: str) -> Finder:
    return lambda kernel: [call.where for call in kernel.math if call.name in names and call.exact]


def _accesses(kind: AccessKind, test: Callable[[Access, KernelFacts], bool] | None = None) -> Finder:
    return lambda kernel: [
        access.where for access in kernel.accesses if access.kind == kind and (test is None or test(access, kernel))
    ]


def _in_a_loop(access: Access, kernel: KernelFacts) -> bool:
    """Whether the access runs several times for one work item: in a loop that is not the persistent one."""
    return bool(set(access.loops) - set(kernel.persistent_loops))


def _in_place(kernel: KernelFacts) -> list[Place]:
    """The innermost loops that read and write the same array, under the same name."""
    read, written = (
        {(access.loops[-1], access.array) for access in kernel.accesses if access.kind in kinds and access.loops}
        for kinds in (("load", "gather"), ("store", "scatter"))
    )
    return sorted({loop for loop, _ in read & written}, key=lambda place: (place.line, place.column))


def _in_float32(kernel: KernelFacts) -> list[Place]:
    return [p.where for p in kernel.mma if (p.x_dtype, p.y_dtype) == ("float32", "float32")]


def _where(items: Iterable[Atomic | Product | Helper]) -> list[Place]:
    return [item.where for item in items]


_FINDERS: dict[str, tuple[Finder, str]] = {
    "source.exact_divisions": (_exact("/", "truediv"), "Exactly rounded divisions in the kernel's source"),
    "source.exponentials": (_exact("exp"), "Calls of exp with full precision in the kernel's source"),
    "source.loads": (_accesses("load"), "Loads of tiles in the kernel's source"),
    "source.loads_in_loops": (
        _accesses("load", _in_a_loop),
        "Loads of tiles that run several times for one work item in the kernel's source",
    ),
    "source.loads_without_zero_padding": (
        _accesses("load", lambda access, _: access.padding_mode not in _TMA_PADDING),
        "Loads with a padding other than zero, which TMA cannot do, in the kernel's source",
    ),
    "source.stores": (_accesses("store"), "Stores of tiles in the kernel's source"),
    "source.gathers": (_accesses("gather"), "Gathers of single elements in the kernel's source"),
    "source.gathers_contiguous": (
        _accesses("gather", lambda access, _: access.form == "affine" and access.step == 1),
        "Gathers of neighbouring elements, which a load could read as a tile, in the kernel's source",
    ),
    "source.indirect_gathers": (
        _accesses("gather", lambda access, _: access.indirect),
        "Gathers whose index is computed from loaded values in the kernel's source",
    ),
    "source.scatters": (_accesses("scatter"), "Scatters of single elements in the kernel's source"),
    "source.atomics": (lambda kernel: _where(kernel.atomics), "Atomic operations in the kernel's source"),
    "source.mma": (lambda kernel: _where(kernel.mma), "Matrix products in the kernel's source"),
    "source.mma_float32": (_in_float32, "Matrix products of float32 operands in the kernel's source"),
    "source.swizzles": (
        lambda kernel: kernel.swizzles,
        "Places that number tiles in groups to share operands in the cache, in the kernel's source",
    ),
    "source.persistent_loops": (
        lambda kernel: kernel.persistent_loops,
        "Loops in which a block goes on to the next work item in the kernel's source",
    ),
    "source.in_place_loops": (_in_place, "Loops that read an array they also write in the kernel's source"),
    "source.unresolved_helpers": (
        lambda kernel: _where(kernel.unresolved),
        "Functions the kernel calls whose source was not found, so that what they do is not counted",
    ),
}
