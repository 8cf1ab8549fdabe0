"""One edit of one kernel: which variant is meant, what it changes, and what the compiler says of it."""

from dataclasses import dataclass
from functools import cached_property

from kdiag.errors import UsageError
from kdiag.executors.edits.base import Edit, Subject
from kdiag.executors.edits.registry import EDITS, offer, offers
from kdiag.executors.gates.pipeline import without_device
from kdiag.planner.rank import rank
from kdiag.records import CompileFailure, GateRecord, Proposal, Scalar, Suggestion, Variant
from kdiag.rules import load_playbook

from .candidates import PlanRequest, compiled, inputs_of
from .compiler import Compiler, launches_of, of_kernel
from .findings import Findings, gather
from .inspection import Pair, inspection_of


@dataclass(frozen=True)
class EditRequest:
    """A kernel of a file, and how it is compiled. `file` is what diffs call it."""

    source: str
    kernel: str
    file: str
    compiler: Compiler

    @cached_property
    def findings(self) -> Findings:
        return gather(self.source, self.kernel, self.compiler)


def edit_named(name: str) -> Edit:
    """The edit with this id, in any case of letters. Raises UsageError with those there are."""
    for edit in EDITS:
        if edit.id.lower() == name.lower():
            return edit
    ids = ", ".join(edit.id for edit in EDITS)
    by_hand = next((one for one in load_playbook.load() if one.lower() == name.lower()), None)
    if by_hand is not None:
        raise UsageError(f"{by_hand} has no edit; `kdiag explain {by_hand}` says how it is done by hand. Edits: {ids}.")
    raise UsageError(f"There is no edit {name!r}; choose one of {ids}.")


def subject(request: EditRequest) -> tuple[Subject, str]:
    """What an edit looks at, with the captured launches if there is a workload; else why they are missing."""
    compilation = of_kernel(request.compiler.compile_one(request.source), request.kernel)
    why_none = compilation.message if isinstance(compilation, CompileFailure) else ""
    return Subject(request.source, request.kernel, request.compiler.target, launches_of(compilation)), why_none


def choose(edit: Edit, request: EditRequest, wanted: str | None) -> tuple[Proposal, tuple[Proposal, ...]]:
    """The variant that is meant, and all that the edit offers for this kernel.

    `wanted` is a name or settings as in "tile_m=64,tile_n=128", which need not be among those offered; None: of those
    that apply the one that the planner expects most of. Raises UsageError for a name there is none of.
    """
    about, file = subject(request)[0], request.file
    every = offers(edit, about, file)
    if wanted is None:
        if any(made.source is not None for made in every):
            best = expected(request, every)[0].proposal
            return best or every[0], every
        return every[0] if every else offer(edit, about, Variant(edit.id, ""), file), every
    named = next((made for made in every if made.variant.name == wanted), None)
    if named is not None:
        return named, every
    settings = _settings(wanted)
    if settings is None:
        names = ", ".join(made.variant.name for made in every) or "none for this kernel"
        raise UsageError(f"{edit.id} has no variant {wanted!r}; there are {names}.")
    close = [made for made in every if settings.items() <= made.variant.settings.items()]
    best = next((made for made in close if made.source is not None), None)
    return best or offer(edit, about, Variant(edit.id, wanted, settings), file), every


def expected(request: EditRequest, proposals: tuple[Proposal, ...]) -> tuple[Suggestion, ...]:
    """What the planner expects of these proposals, the most promising first: from the source, and from what the compiler
    has said by now.
    """
    asked = PlanRequest(request.source, request.kernel, request.findings, "yes", proposals=proposals)
    inputs, parent = inputs_of(asked, request.compiler), request.compiler.compile_one(request.source)
    if not isinstance(inputs.parent, CompileFailure):  # what its parent cannot be compiled with, no candidate can
        known = {key: of_kernel(each, request.kernel, parent) for key, each in request.compiler.known.items()}
        inputs = compiled(inputs, known)
    return tuple(s for s in rank(inputs) if s.proposal in proposals)


def compiler_says(request: EditRequest, proposal: Proposal) -> tuple[GateRecord, ...]:
    """The gates that ask the compiler, up to the first that fails; empty without a workload."""
    if proposal.source is None or request.compiler.workload is None:
        return ()
    pair = Pair(request.source, proposal.source, proposal.promises)
    return without_device(inspection_of(pair, request.kernel, request.compiler))[1:]


def _settings(text: str) -> dict[str, Scalar] | None:
    """Settings written as k=v, k=v; None if it is not that."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key.strip() and equals and value.strip() for key, equals, value in pairs):
        return None
    return {key.strip(): _scalar(value.strip()) for key, _, value in pairs}


def _scalar(text: str) -> Scalar:
    words: dict[str, Scalar] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
