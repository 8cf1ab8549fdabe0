"""A: gathers and scatters of a contiguous range as tile loads and stores, and the other way round."""

from dataclasses import replace

import libcst as cst

from kdiag.records import Promise, Variant

from .accesses.conversion import Conversion, convert
from .accesses.gather_to_load import gather_to_load, scatter_to_store
from .accesses.load_to_gather import load_to_gather, store_to_scatter
from .accesses.tma_use import gone_from_tma, moves_by_tma, without_tma
from .base import Applied, Outcome, Skipped, Subject
from .examples.tile_load_store import EXAMPLES
from .syntax.kernel_source import KernelSource, holds
from .syntax.kernel_view import KernelView, view_kernel
from .view_edit import ViewEdit, no_variant

INVERSE = "gather-scatter"
FORWARD = ("tile-load-store", "tile-load-store-no-tma", "tile-load", "tile-store")
Lines = list[tuple[Conversion, int]]


class TileLoadStore(ViewEdit):
    """Replace gather and scatter of a contiguous range by `ct.load` and `ct.store`, or back."""

    id = "A"
    title = "Replace gather and scatter by tile loads and stores, or the other way round"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """All five; the inverse comes first where the kernel gathers nothing."""
        view = view_kernel(subject.source, subject.kernel)
        gathers = isinstance(view, KernelView) and view.source.calls("gather", "scatter")
        names = (*FORWARD, INVERSE) if gathers else (INVERSE, *FORWARD)
        return tuple(Variant(self.id, name) for name in names)

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Rewrite every access that certainly is a tile access; skip when there is none."""
        if _defines_functions(view):
            return Skipped("the kernel defines a function or lambda inside, whose parameters may hide its names")
        if variant.name == INVERSE:
            return _to_gathers(subject, view)
        if variant.name not in FORWARD:
            return no_variant(variant)
        outcome = _to_tiles(subject, view, variant.name)
        return replace(outcome, warnings=without_tma(subject.target)) if isinstance(outcome, Applied) else outcome


def _defines_functions(view: KernelView) -> bool:
    body = view.source.function.body
    return holds(body, cst.FunctionDef, cst.Lambda)


def _to_tiles(subject: Subject, view: KernelView, variant: str) -> Outcome:
    allow_tma, launches = variant != "tile-load-store-no-tma", subject.launches
    gathers = [] if variant == "tile-store" else view.source.calls("gather")
    scatters = [] if variant == "tile-load" else view.source.calls("scatter")
    loads = [gather_to_load(view, launches, call, allow_tma=allow_tma) for call in gathers]
    stores = [scatter_to_store(view, launches, call, allow_tma=allow_tma) for call in scatters]

    def promises(lines: Lines, edited: KernelSource) -> tuple[Promise, ...]:
        found = []
        for what, results in (("load", loads), ("store", stores)):
            by_tma = [n for each, n in lines if each in results and moves_by_tma(subject, edited, each)]
            if by_tma:
                text, at = f"{what}s use TMA", tuple(sorted(set(by_tma)))
                found.append(Promise(f"compile.tma_{what}s", "at-lines", text, at))
        return tuple(found)

    sought = {"tile-load": "ct.gather", "tile-store": "ct.scatter"}.get(variant, "ct.gather or ct.scatter")
    return convert(view, [*loads, *stores], f"the kernel has no {sought}", promises)


def _to_gathers(subject: Subject, view: KernelView) -> Outcome:
    loads = [load_to_gather(view, call) for call in view.source.calls("load")]
    stores = [store_to_scatter(view, call) for call in view.source.calls("store")]

    def promises(lines: Lines, edited: KernelSource) -> tuple[Promise, ...]:
        left = {edited.line(call) for call in edited.calls("load", "store")}
        found: tuple[Promise, ...] = ()
        for what, results in (("load", loads), ("store", stores)):
            gone = [line for each, line in lines if each in results and line not in left]
            found += gone_from_tma(f"compile.tma_{what}s", gone, f"{what}s go without TMA")
        return found

    return convert(view, [*loads, *stores], "the kernel has no ct.load or ct.store", promises)
