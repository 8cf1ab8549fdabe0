"""Child job: every variant of every edit for one kernel on one target. What raises is a bug, and is told as one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kdiag.executors.edits.base import Edit, Failed, Skipped, Subject
from kdiag.executors.edits.registry import EDITS, NOTHING_TO_TRY
from kdiag.records import Variant
from tilegym_table.records import Kernel, Offer


@dataclass(frozen=True)
class ProposeJob:
    """`subjects` are the kernel on each target. `edits` are ids, all if empty; of each edit at most `most` variants are
    tried, the most promising first.
    """

    kernel: Kernel
    subjects: tuple[Subject, ...]
    edits: tuple[str, ...]
    most: int
    identity: str = ""  # edits change: they are asked every time


def propose(job: ProposeJob) -> tuple[Offer, ...]:
    """The offers of all edits, in the registry's order; an edit without variants stands once, with its reason."""
    chosen = [edit for edit in EDITS if not job.edits or edit.id in job.edits]
    return tuple(offer for edit in chosen for offer in _offers(edit, job))


def _offers(edit: Edit, job: ProposeJob) -> Iterator[Offer]:
    """What refuses a variant on the first target refuses it on the others, but for variants that only they have."""
    tried: dict[str, bool] = {}
    for number, subject in enumerate(job.subjects):
        here = Offer(job.kernel, subject.target, edit.id, "", "skipped", NOTHING_TO_TRY)
        try:
            variants = edit.variants(subject) or (Variant(edit.id, ""),)
        except Exception as error:  # noqa: BLE001 - an edit never raises, and that is what is checked
            yield replace(here, said="crashed", text=f"variants: {type(error).__name__}: {error}")
            continue
        for variant in variants[: job.most]:
            if tried.get(variant.name, True):
                offer = _offer(edit, subject, variant, here, check_again=number == 0)
                tried[variant.name] = offer.said == "applied"
                yield offer


def _offer(edit: Edit, subject: Subject, variant: Variant, here: Offer, *, check_again: bool) -> Offer:
    """What the edit makes of one variant, and of its own result."""
    here = replace(here, variant=variant.name, settings=variant.settings)
    try:
        outcome = edit.apply(subject, variant)
        if isinstance(outcome, Skipped):
            return replace(here, said="skipped", text=outcome.reason)
        if isinstance(outcome, Failed):
            return replace(here, said="failed", text=outcome.error)
        again = ""
        if check_again:
            second = edit.apply(replace(subject, source=outcome.source), variant)
            again = "refused" if isinstance(second, Skipped) else type(second).__name__.lower()
    except Exception as error:  # noqa: BLE001 - as above
        return replace(here, said="crashed", text=f"{type(error).__name__}: {error}")
    safety = outcome.safety or edit.safety(variant)
    return replace(here, said="applied", text=outcome.source, safety=safety, promises=outcome.promises, again=again)
