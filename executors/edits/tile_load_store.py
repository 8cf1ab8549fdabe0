"""A: gathers and scatters of a contiguous range as tile loads and stores, and the other way round."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from kdiag.executors.edits.accesses.conversion import Conversion, Refusal, convert
from kdiag.executors.edits.accesses.gather_to_load import gather_to_load, scatter_to_store
from kdiag.executors.edits.accesses.load_to_gather import load_to_gather, store_to_scatter
from kdiag.executors.edits.base import Edit, Example, Outcome, Skipped, Subject
from kdiag.executors.edits.examples.tile_load_store import EXAMPLES
from kdiag.executors.edits.syntax.kernel_source import nodes
from kdiag.executors.edits.syntax.kernel_view import KernelView, view_kernel
from kdiag.records import Promise, Variant

INVERSE = "gather-scatter"
FORWARD = ("tile-load-store", "tile-load-store-no-tma", "tile-load", "tile-store")
COMBINES_ELEMENTS = ("sum", "max", "min", "prod", "argmax", "argmin", "reduce", "mma", "matmul")
"""In a kernel without these, tileiras 13.4 for sm_90 reads and writes tiles by global-memory instructions even where
TMA is possible (remarks of elementwise kernels beside those of kernels with a reduction, 1-D and 2-D)."""


class TileLoadStore(Edit):
    """Replace gather and scatter of a contiguous range by `ct.load` and `ct.store`, or back."""

    id: ClassVar[str] = "A"
    title: ClassVar[str] = "Replace gather and scatter by tile loads and stores, or the other way round"
    examples: ClassVar[tuple[Example, ...]] = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """All five; the inverse comes first where the kernel gathers nothing."""
        view = view_kernel(subject.source, subject.kernel)
        gathers = isinstance(view, KernelView) and view.source.calls("gather", "scatter")
        names = (*FORWARD, INVERSE) if gathers else (INVERSE, *FORWARD)
        return tuple(Variant(self.id, name) for name in names)

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Rewrite every access that certainly is a tile access; skip when there is none."""
        view = view_kernel(subject.source, subject.kernel)
        if isinstance(view, Skipped):
            return view
        if _defines_functions(view):
            return Skipped(
                "the kernel defines a function or lambda inside, whose parameters may hide its names"
            )
        if variant.name == INVERSE:
            return _to_gathers(view)
        if variant.name not in FORWARD:
            return Skipped(f"{variant.name} is no variant of this edit")
        return _to_tiles(view, variant.name)


def _defines_functions(view: KernelView) -> bool:
    body = view.source.function.body
    return any(True for kind in (cst.FunctionDef, cst.Lambda) for _ in nodes(body, kind))


def _to_tiles(view: KernelView, variant: str) -> Outcome:
    allow_tma = variant != "tile-load-store-no-tma"
    loads: list[Conversion | Refusal] = []
    stores: list[Conversion | Refusal] = []
    if variant != "tile-store":
        loads = [gather_to_load(view, call, allow_tma=allow_tma) for call in view.source.calls("gather")]
    if variant != "tile-load":
        stores = [scatter_to_store(view, call, allow_tma=allow_tma) for call in view.source.calls("scatter")]
    promises: list[Promise] = []
    if _by_tma(view, loads):
        promises.append(Promise("compile.tma_loads", "increases", "loads use TMA"))
    if _by_tma(view, stores):
        promises.append(Promise("compile.tma_stores", "increases", "stores use TMA"))
    sought = {"tile-load": "ct.gather", "tile-store": "ct.scatter"}.get(variant, "ct.gather or ct.scatter")
    return convert(view, [*loads, *stores], f"the kernel has no {sought}", tuple(promises))


def _to_gathers(view: KernelView) -> Outcome:
    loads = [load_to_gather(view, call) for call in view.source.calls("load")]
    stores = [store_to_scatter(view, call) for call in view.source.calls("store")]
    promise = Promise("compile.tma_loads", "decreases", "loads go without TMA")
    promises = (promise,) if _by_tma(view, loads) else ()
    return convert(view, [*loads, *stores], "the kernel has no ct.load or ct.store", promises)


def _by_tma(view: KernelView, results: list[Conversion | Refusal]) -> bool:
    """Whether the compiler will choose TMA for one of them, if the array's strides are multiples of 16 bytes."""
    chosen = bool(view.source.calls(*COMBINES_ELEMENTS))
    return chosen and any(isinstance(result, Conversion) and result.tma for result in results)
