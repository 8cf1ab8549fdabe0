"""Child job: every variant of every edit for one kernel on one target. What raises is a bug, and is told as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kdiag.executors.edits.base import Applied, Edit, Failed, Outcome, Skipped, Subject
from kdiag.executors.edits.registry import EDITS, NOTHING_TO_TRY
from kdiag.records import Variant
from tilegym_table.records import TARGETS, Kernel, Offer


@dataclass(frozen=True)
class ProposeJob:
    """`edits` are ids, all if empty; of each edit at most `most` variants are tried, the most promising first."""

    kernel: Kernel
    subject: Subject
    edits: tuple[str, ...]
    most: int
    identity: str = ""  # edits change: they are asked every time


def propose(job: ProposeJob) -> tuple[Offer, ...]:
    """The offers of all edits, in the registry's order; an edit without variants stands once, with its reason."""
    chosen = [edit for edit in EDITS if not job.edits or edit.id in job.edits]
    return tuple(offer for edit in chosen for offer in _offers(edit, job))


def _offers(edit: Edit, job: ProposeJob) -> Iterator[Offer]:
    here = Offer(job.kernel, job.subject.target, edit.id, "", "skipped", NOTHING_TO_TRY)
    try:
        variants = edit.variants(job.subject) or (Variant(edit.id, ""),)
    except Exception as error:  # noqa: BLE001 - an edit never raises, and that is what is checked
        yield replace(here, said="crashed", text=f"variants: {type(error).__name__}: {error}")
        return
    for variant in variants[: job.most]:
        try:
            outcome = edit.apply(job.subject, variant)
            again = _again(edit, job.subject, variant, outcome)
        except Exception as error:  # noqa: BLE001 - as above
            text = f"{type(error).__name__}: {error}"
            yield replace(here, variant=variant.name, said="crashed", text=text)
            continue
        yield _offer(
            replace(here, variant=variant.name, settings=variant.settings), edit, variant, outcome, again
        )


def _offer(here: Offer, edit: Edit, variant: Variant, outcome: Outcome, again: str) -> Offer:
    if isinstance(outcome, Applied):
        safety = outcome.safety or edit.safety(variant)
        return replace(
            here, said="applied", text=outcome.source, safety=safety, promises=outcome.promises, again=again
        )
    if isinstance(outcome, Failed):
        return replace(here, said="failed", text=outcome.error)
    return replace(here, said="skipped", text=outcome.reason)


def _again(edit: Edit, subject: Subject, variant: Variant, outcome: Outcome) -> str:
    """What the edit makes of its own result; asked for the first target alone, which takes half as long."""
    if not isinstance(outcome, Applied) or subject.target != TARGETS[0]:
        return ""
    second = edit.apply(replace(subject, source=outcome.source), variant)
    return "refused" if isinstance(second, Skipped) else type(second).__name__.lower()
