"""F: `allow_tma=False` on tile stores or loads, so that they go by ordinary global-memory instructions."""

from dataclasses import replace

import libcst as cst

from kdiag.records import Variant

from .accesses.tma_use import gone_from_tma
from .accesses.views import tile_calls
from .base import Applied, Outcome, Skipped, Subject
from .examples.without_tma import EXAMPLES
from .syntax.kernel_source import set_keyword, unpacks
from .syntax.kernel_view import KernelView, Rewrite, keyword_text, view_kernel
from .view_edit import ViewEdit, no_variant

KINDS = {"stores": "store", "loads": "load"}


class WithoutTma(ViewEdit):
    """Switch TMA off for all stores or loads of a kernel, or for one of them."""

    id = "F"
    title = "Switch TMA off for a store or a load"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """All stores; all loads; each of them where there are several."""
        view = view_kernel(subject.source, subject.kernel)
        names: list[str] = []
        for kind, one in KINDS.items():
            count = len(tile_calls(view, one)) if isinstance(view, KernelView) else 0
            names += [kind, *(f"{one}-{n}" for n in range(1, count + 1) if count > 1)]
        return tuple(Variant(self.id, name) for name in names)

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Set the keyword on the calls that the variant names; skip where it is set already."""
        kind, _, number = variant.name.partition("-")
        what = KINDS.get(kind, kind)
        if what not in KINDS.values():
            return no_variant(variant)
        calls = tile_calls(view, what)
        if number or kind == what:
            if not (number.isascii() and number.isdecimal() and 1 <= int(number) <= len(calls)):
                return Skipped(f"the kernel has no ct.{what} for variant {variant.name}")
            calls = [calls[int(number) - 1]]
        return _without_tma(view, calls, what)


def _without_tma(view: KernelView, calls: list[cst.Call], what: str) -> Outcome:
    if not calls:
        return Skipped(f"the kernel has no ct.{what}")
    unpacked = next((call for call in calls if unpacks(call)), None)
    if unpacked is not None:
        line = view.source.line(unpacked)
        return Skipped(f"line {line}: the arguments of ct.{what} are unpacked, they may hold allow_tma already")
    changed = [call for call in calls if not _is_false(call)]
    if not changed:
        return Skipped(f"allow_tma is False on every ct.{what} already")
    rewrites: dict[cst.CSTNode, Rewrite] = dict.fromkeys(changed, _set_false)
    edited = view.rewritten(rewrites, set())
    applied = Applied(edited, view.statement_place(changed[0]))
    after = view_kernel(edited, view.source.name)
    if isinstance(after, Skipped):
        return applied
    before = tile_calls(view, what)
    pairs = list(zip(before, tile_calls(after, what), strict=True))
    lines = [after.source.line(new) for old, new in pairs if old in changed]
    others = [after.source.line(new) for _, new in pairs if not _is_false(new)]
    lines = [line for line in lines if line not in others]
    return replace(applied, promises=gone_from_tma(f"compile.tma_{what}s", lines, f"{what}s go without TMA"))


def _is_false(call: cst.Call) -> bool:
    return keyword_text(call, "allow_tma") == "False"


def _set_false(call: cst.Call) -> cst.BaseExpression:
    return set_keyword(call, "allow_tma", "False")
