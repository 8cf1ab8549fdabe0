"""F: `allow_tma=False` on tile stores or loads, so that they go by ordinary global-memory instructions."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from kdiag.executors.edits.accesses.conversion import Conversion, convert
from kdiag.executors.edits.base import Edit, Example, Outcome, Skipped, Subject
from kdiag.executors.edits.examples.without_tma import EXAMPLES
from kdiag.executors.edits.syntax.kernel_source import keyword, set_keyword
from kdiag.executors.edits.syntax.kernel_view import KernelView, code, view_kernel
from kdiag.records import Promise, Variant

STORES = "stores"
LOADS = "loads"
ONE_STORE = "store-"


class WithoutTma(Edit):
    """Switch TMA off for all stores of a kernel, one of them, or all loads."""

    id: ClassVar[str] = "F"
    title: ClassVar[str] = "Switch TMA off for a store or a load"
    examples: ClassVar[tuple[Example, ...]] = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """All stores; each store where there are several; all loads."""
        view = view_kernel(subject.source, subject.kernel)
        stores = view.source.calls("store") if isinstance(view, KernelView) else []
        single = [f"{ONE_STORE}{n}" for n in range(1, len(stores) + 1)] if len(stores) > 1 else []
        return tuple(Variant(self.id, name) for name in (STORES, *single, LOADS))

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Set the keyword on the calls that the variant names; skip where it is set already."""
        view = view_kernel(subject.source, subject.kernel)
        if isinstance(view, Skipped):
            return view
        if variant.name == LOADS:
            promise = Promise("compile.tma_loads", "decreases", "loads go without TMA")
            return _without_tma(view, view.source.calls("load"), "ct.load", promise)
        stores = view.source.calls("store")
        if variant.name != STORES:
            number = variant.name.removeprefix(ONE_STORE)
            if not (number.isascii() and number.isdecimal() and 1 <= int(number) <= len(stores)):
                return Skipped(f"the kernel has no ct.store for variant {variant.name}")
            stores = [stores[int(number) - 1]]
        promise = Promise("compile.tma_stores", "decreases", "stores go without TMA")
        return _without_tma(view, stores, "ct.store", promise)


def _without_tma(view: KernelView, calls: list[cst.Call], what: str, promise: Promise) -> Outcome:
    if not calls:
        return Skipped(f"the kernel has no {what}")
    unpacked = next((call for call in calls if any(argument.star for argument in call.args)), None)
    if unpacked is not None:
        line = view.source.place(unpacked).line
        return Skipped(f"line {line}: the arguments of {what} are unpacked, they may hold allow_tma already")
    changes = [Conversion(call, _set_false, tma=True) for call in calls if not _is_false(call)]
    return convert(view, changes, f"allow_tma is False on every {what} already", (promise,))


def _is_false(call: cst.Call) -> bool:
    given = keyword(call, "allow_tma")
    return given is not None and code(given.value) == "False"


def _set_false(call: cst.Call) -> cst.BaseExpression:
    return set_keyword(call, "allow_tma", "False")
