"""All edits, and what they propose for one kernel."""

import difflib
from dataclasses import replace

from kdiag.records import Proposal, Variant

from .autotune import Autotune
from .base import Applied, Edit, Skipped, Subject
from .batch_copies import BatchCopies
from .bounds import Bounds
from .divisibility import Divisibility
from .fast_math import FastMath
from .hints import Hints
from .hoisted_loads import HoistedLoads
from .latency import Latency
from .persistent import Persistent
from .static_shapes import StaticShapes
from .swizzle import Swizzle
from .tf32_guard import Tf32Guard
from .tile_load_store import TileLoadStore
from .tile_sizes import TileSizes
from .tma_padding import TmaPadding
from .token_order import TokenOrder
from .without_tma import WithoutTma
from .written_plan import WrittenPlan

EDITS: tuple[Edit, ...] = (
    TileLoadStore(),
    Persistent(),
    Tf32Guard(),
    Latency(),
    WithoutTma(),
    Bounds(),
    Divisibility(),
    StaticShapes(),
    TileSizes(),
    FastMath(),
    TokenOrder(),
    BatchCopies(),
    WrittenPlan(),
    TmaPadding(),
    HoistedLoads(),
    Autotune(),
    Swizzle(),
    Hints(),
)
EXECUTORS: tuple[str, ...] = tuple(edit.id for edit in EDITS)
NOTHING_TO_TRY = "there is nothing to change in this kernel"


def propose(subject: Subject, file: str) -> tuple[Proposal, ...]:
    """Every variant of every edit, in order; an optimization that does not apply at all stands once, with the reason.

    `file` names the source in the diff and in places. No two proposals have the same source.
    """
    seen = {subject.source}
    proposals: list[Proposal] = []
    for edit in EDITS:
        every = offers(edit, subject, file)
        useful = []
        for made in every:
            if made.source is not None and made.source not in seen:
                seen.add(made.source)
                useful.append(made)
        proposals += useful or [_refusal(edit, subject, every)]
    return tuple(proposals)


def producible() -> dict[str, set[str]]:
    """The variants that each edit makes of its own examples or of a matrix product, by optimization."""
    products = Tf32Guard.examples
    return {
        edit.id: {variant.name for each in (*edit.examples, *products) for variant in edit.variants(each.subject)}
        | {example.variant for example in edit.examples if example.after is not None}
        for edit in EDITS
    }


def offers(edit: Edit, subject: Subject, file: str) -> tuple[Proposal, ...]:
    """What one edit makes of each of its variants, the most promising first, with diffs that name `file`."""
    return tuple(offer(edit, subject, variant, file) for variant in edit.variants(subject))


def offer(edit: Edit, subject: Subject, variant: Variant, file: str) -> Proposal:
    made = _offer(edit, subject, variant)
    return made if made.source is None else _located(made, subject.source, file)


def _offer(edit: Edit, subject: Subject, variant: Variant) -> Proposal:
    outcome = edit.apply(subject, variant)
    if isinstance(outcome, Applied):
        safety = outcome.safety or edit.safety(variant)
        return Proposal(
            variant,
            edit.title,
            safety,
            outcome.source,
            None,
            outcome.where,
            promises=outcome.promises,
            warnings=outcome.warnings,
        )
    why_not = outcome.reason if isinstance(outcome, Skipped) else outcome.error
    return Proposal(variant, edit.title, edit.safety(variant), None, why_not, None)


def _located(offer: Proposal, source: str, file: str) -> Proposal:
    """The proposal with its file's name and its diff."""
    assert offer.source is not None
    where = None if offer.where is None else replace(offer.where, file=file)
    return replace(offer, where=where, diff=unified_diff(source, offer.source, file))


def _refusal(edit: Edit, subject: Subject, every: tuple[Proposal, ...]) -> Proposal:
    """One entry for an edit none of whose variants applies, with the reason of the most promising one."""
    refused = every[0] if every else _offer(edit, subject, Variant(edit.id, ""))
    why_not = refused.why_not or NOTHING_TO_TRY
    return replace(refused, variant=Variant(edit.id, ""), source=None, why_not=why_not, where=None)


def unified_diff(before: str, after: str, file: str) -> str:
    """A diff that `git apply` takes, also where the last line has no end."""
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{file}", f"b/{file}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """The lines as git counts them: ended by a line feed and nothing else."""
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]
