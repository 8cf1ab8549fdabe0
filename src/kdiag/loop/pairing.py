"""Two optimizations as one candidate: the first is not worth an iteration alone, but enables the second.

A pair is named "I+B" with the variant "group_size_m=8+blocks-per-sm=2". What is expected of it is what the first does
alone, measured in this run or else its prior, times the gain on the edge `enables`: the second's once the first is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.registry import EDITS, offers, unified_diff
from kdiag.executors.gates.effect import effect
from kdiag.planner.gain import cost, elsewhere, limited, sources, time_saved
from kdiag.planner.graph import bundled, relations
from kdiag.planner.order import Tiers, sort_key
from kdiag.planner.shrinkage import NO_EFFECT, figures, shrunk
from kdiag.records import CompileFailure, ExpectedSpeedup, Proposal, Safety, Suggestion, Variant
from kdiag.rules.load_playbook import Edge, load, matches

from .candidates import PlanRequest
from .compiler import Compiler, launches_of, of_kernel
from .inspection import said


@dataclass(frozen=True)
class Known:
    """`measured` are the speed-ups of what was right but not kept; `worth` is the least that is worth an iteration."""

    target: str
    worth: float
    measured: Mapping[tuple[str, str], float]


def with_pairs(
    suggestions: tuple[Suggestion, ...], request: PlanRequest, known: Known, compiler: Compiler
) -> tuple[Suggestion, ...]:
    """The plan with every pair that promises a gain, can be made, and is not what a single edit makes as well."""
    ordered, by = list(suggestions), request.tiers
    taken = {s.proposal.source for s in suggestions if s.proposal is not None}
    tried = {optimization for optimization, _ in request.tried or {}}
    for first, edge, promised in promising(suggestions, known, request.headroom):
        assert first.proposal is not None
        made = combined(first.proposal, edge, request, compiler) if promised.optimization not in tried else None
        if made is None or made.source in taken:
            continue
        taken.add(made.source)
        name = made.variant.name
        pair = replace(promised, variant=name, title=made.title, safety=made.safety, proposal=made)
        later = (n for n, s in enumerate(ordered) if _place(s, by) > _place(pair, by))
        ordered.insert(next(later, len(ordered)), pair)
    return tuple(replace(entry, rank=rank) for rank, entry in enumerate(ordered, start=1))


def _place(entry: Suggestion, tiers: Tiers | None) -> tuple[float | str, ...]:
    """By the time saved, where tiers have an order within these; a pair has the tier of its first part."""
    return sort_key(entry, 0.0, tiers.order) if tiers else (-time_saved(entry.expected_speedup, entry.confidence),)


def promising(
    suggestions: Sequence[Suggestion], known: Known, headroom: float | None
) -> list[tuple[Suggestion, Edge, Suggestion]]:
    """For every edge that promises a gain: its first optimization by its best variant, the edge, the pair to be made."""
    found: dict[tuple[str, str], tuple[Suggestion, Edge, Suggestion]] = {}
    for source, edge in relations(bundled(), "enables"):
        for first in suggestions:
            fits = first.optimization == source and matches(edge.variant, first.variant) and edge.gains
            pair = _pair(first, edge, known, headroom) if fits else None
            if pair is not None:
                found.setdefault((source, edge.optimization), (first, edge, pair))
    return list(found.values())


def _pair(first: Suggestion, edge: Edge, known: Known, headroom: float | None) -> Suggestion | None:
    """None if the first cannot be applied, was wrong, is worth trying alone, or the pair gains too little."""
    alone = known.measured.get(first.pair)
    if first.proposal is None or first.proposal.source is None:
        return None
    if alone is None and (not first.applicable or first.expected_speedup.high >= known.worth):
        return None
    gives = f"was measured to give {alone:.3f}x" if alone else f"promises {first.expected_speedup.mid:.3f}x"
    ratio = alone or first.expected_speedup.mid
    estimate = shrunk(figures(edge.gains, known.target), NO_EFFECT)
    gain = estimate.speedup
    both = [load()[name] for name in (first.optimization, edge.optimization)]
    expected, note = limited(
        ExpectedSpeedup(ratio * gain.low, ratio * gain.mid, ratio * gain.high),
        headroom,
        lifts_roof=any(each.lifts_roof for each in both),
    )
    said = f"{sources(edge.gains, known.target)}{elsewhere(estimate, known.target)}"
    reason = f"{first.optimization} {first.variant} alone {gives}, but enables {edge.optimization}"
    pair = replace(
        first,
        optimization=f"{first.optimization}+{edge.optimization}",
        expected_speedup=expected,
        confidence=min(estimate.trust, first.confidence),
        applicable=True,
        why_not=None,
        explanation=f"{reason}, which then gives {gain.mid:.3f}x ({said}): {edge.reason}. {note} "
        f"{cost(max(each.cost_s for each in both))}",
    )
    return pair if expected.mid >= known.worth else None


def combined(first: Proposal, edge: Edge, request: PlanRequest, compiler: Compiler) -> Proposal | None:
    """Both edits as one proposal; None if the second does not apply to the first's result or breaks its promise.

    The second's promises are about the first's result, so they are settled here; the gates then judge the combined
    source beside the request's.
    """
    assert first.source is not None
    before = compiler.compile_one(request.source)
    between = of_kernel(compiler.compile_one(first.source), request.kernel, before)
    if isinstance(between, CompileFailure):
        return None
    subject = Subject(first.source, request.kernel, compiler.target, launches_of(between))
    edit = next(edit for edit in EDITS if edit.id == edge.optimization)
    for second in offers(edit, subject, compiler.file_name):
        if second.source in (None, request.source) or not matches(edge.target_variant, second.variant.name):
            continue
        after = of_kernel(compiler.compile_one(str(second.source)), request.kernel, before)
        if effect(second.promises, said(between, compiler), said(after, compiler)).outcome == "passed":
            return _joined(first, second, request.source, compiler.file_name)
    return None


def _joined(first: Proposal, second: Proposal, source: str, file: str) -> Proposal:
    one, other = first.variant, second.variant
    unsafe: Safety = next((each.safety for each in (first, second) if each.safety != "safe"), "safe")
    names = f"{one.optimization}+{other.optimization}", f"{one.name}+{other.name}"
    return replace(
        second,
        variant=Variant(*names, {**one.settings, **other.settings}),
        title=f"{first.title}, with {second.title}",
        safety=unsafe,
        where=first.where,
        diff=unified_diff(source, str(second.source), file),
        promises=(),
        warnings=(*first.warnings, *second.warnings),
    )
