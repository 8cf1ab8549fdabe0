"""What the source of a kernel shows, as observations that causes can test. Counts are of places in the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kdiag.diagnose.source import AccessKind, KernelFacts, SourceFacts
from kdiag.errors import UsageError
from kdiag.records import Evidence, Place

Finder = Callable[[KernelFacts], Sequence[Place]]


def from_source(facts: SourceFacts, kernel: str) -> dict[str, Evidence]:
    """The `source.*` observations of one kernel: a count each, which may be 0, and the first place.

    Where the file defines the name more than once, the first counts. Raises UsageError if it never does.
    """
    found = next((candidate for candidate in facts.kernels if candidate.name == kernel), None)
    if found is None:
        names = ", ".join(candidate.name for candidate in facts.kernels) or "none"
        raise UsageError(f"The file has no kernel named {kernel!r}; it has: {names}.")
    observations = {}
    for name, (finder, text) in _FINDERS.items():
        places = finder(found)
        where = places[0] if places else None
        observations[name] = Evidence(
            "source", name, len(places), where=where, text=f"{text}: {len(places)}."
        )
    return observations


def _exact(*names: str) -> Finder:
    return lambda kernel: [call.where for call in kernel.math if call.name in names and call.exact]


def _accesses(kind: AccessKind, *, indirect: bool = False) -> Finder:
    return lambda kernel: [
        access.where
        for access in kernel.accesses
        if access.kind == kind and (access.indirect or not indirect)
    ]


_FINDERS: dict[str, tuple[Finder, str]] = {
    "source.exact_divisions": (_exact("/", "truediv"), "Exactly rounded divisions in the kernel's source"),
    "source.exponentials": (_exact("exp"), "Calls of exp with full precision in the kernel's source"),
    "source.loads": (_accesses("load"), "Loads of tiles in the kernel's source"),
    "source.stores": (_accesses("store"), "Stores of tiles in the kernel's source"),
    "source.gathers": (_accesses("gather"), "Gathers of single elements in the kernel's source"),
    "source.indirect_gathers": (
        _accesses("gather", indirect=True),
        "Gathers whose index is computed from loaded values in the kernel's source",
    ),
    "source.scatters": (_accesses("scatter"), "Scatters of single elements in the kernel's source"),
    "source.mma": (lambda kernel: kernel.mma, "Matrix products in the kernel's source"),
    "source.persistent_loops": (
        lambda kernel: kernel.persistent_loops,
        "Loops in which a block goes on to the next work item in the kernel's source",
    ),
}
