"""Ranks what could be done to a kernel by the time it is expected to save, and keeps the explanation with the rank.

Expected time saved = share of the time that the prior's speed-up saves, capped by the headroom that the roofline
leaves, times the confidence in cause and prior, less what trying costs. Compile evidence overrules the prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from kdiag.records import Cause, Compilation, Diagnosis, Evidence, Observations, PastTrial, Proposal, Suggestion
from kdiag.rules import load_playbook
from kdiag.rules.load_playbook import Optimization
from kdiag.workload import source_hash

from . import graph as rules
from .compile_evidence import OFF_TENSOR_CORES, code, effect, judge, known_causes, parent_causes, unmoved
from .forecast import Forecast, forecast
from .gain import Expectation, after_kept, cost, expectation, limited, with_forecast
from .groups import Circumstances
from .order import Tiers, sort_key, tier_order
from .search import searched, searches, with_search

# What a compiler remark proves of the unedited kernel is surer than what a profile suggests.
PROVEN_BY_COMPILER = 0.9
EXPLAIN_ROUNDING = "It changes rounding: it waits for --allow-rounding or for a workload that declares a tolerance."


@dataclass(frozen=True)
class PlanInputs:
    """All that the planner looks at. `headroom` is the largest speed-up that the roofline leaves (1.08), `compiled`
    holds the compilations of the proposals by `source_hash` of their source, `tried` the verdict of each
    (optimization, variant) of a run, `trials` what earlier runs tried and `features` what kind of kernel this is, to
    compare with theirs, `observations` what was seen of the unedited kernel, and `said` what the compiler said of each of
    `compiled`. None and empty are no evidence. With `tiers` these come in their order, whatever the cause. Where variants
    `race`, a search over them has no advantage. `runs` is in how many processes a candidate is measured.
    """

    target: str
    diagnosis: Diagnosis | None
    headroom: float | None
    proposals: tuple[Proposal, ...]
    compiled: Mapping[str, Compilation]
    parent: Compilation | None
    allow_rounding: Literal["yes", "ask", "no"]
    tried: Mapping[tuple[str, str], str]
    trials: tuple[PastTrial, ...] = ()
    features: tuple[str, ...] = ()
    tiers: Tiers | None = None
    race: bool = False
    runs: int = 1
    observations: Observations = field(default_factory=dict)
    said: Mapping[str, Observations] = field(default_factory=dict)

    @property
    def kept(self) -> tuple[tuple[str, str], ...]:
        """The (optimization, variant) pairs that a run kept."""
        return tuple(pair for pair, verdict in self.tried.items() if verdict == "keep")


def rank(inputs: PlanInputs) -> tuple[Suggestion, ...]:
    """Every optimization of the playbook and every variant proposed, most time saved first, ranks from 1."""
    playbook = load_playbook.load()
    causes = known_causes(inputs.diagnosis, inputs.parent)
    duplicates = _duplicates(inputs)
    drafts = [_suggest(inputs, playbook[p.variant.optimization], p, causes, duplicates) for p in inputs.proposals]
    drafts = [with_search(draft, searched(draft, drafts), race=inputs.race) for draft in drafts]
    proposed = {proposal.variant.optimization for proposal in inputs.proposals}
    drafts += [_without_executor(inputs, o, causes) for o in playbook.values() if o.id not in proposed]
    known = any(cause.id != "unknown" for cause in causes)
    tiers = inputs.tiers.order if inputs.tiers else None if known else tier_order(inputs.diagnosis)
    again = searches()  # in every process
    cost_s = {o.id: o.cost_s * (inputs.runs if o.id in again else 1) for o in playbook.values()}
    ordered = sorted(drafts, key=lambda draft: sort_key(draft, cost_s[draft.optimization], tiers))
    return tuple(replace(draft, rank=number) for number, draft in enumerate(ordered, start=1))


def _duplicates(inputs: PlanInputs) -> Mapping[tuple[str, str], str]:
    """Variants whose machine code is that of an earlier proposal, with that proposal's name."""
    first: dict[tuple[str, ...], str] = {}
    duplicates = {}
    for proposal in inputs.proposals:
        hashes = code(inputs.compiled.get(source_hash(proposal.source))) if proposal.source is not None else None
        if hashes is None:
            continue
        name = f"{proposal.variant.optimization} {proposal.variant.name}"
        if first.setdefault(hashes, name) != name:
            duplicates[_pair(proposal)] = first[hashes]
    return duplicates


def _suggest(
    inputs: PlanInputs,
    optimization: Optimization,
    proposal: Proposal,
    causes: tuple[Cause, ...],
    duplicates: Mapping[tuple[str, str], str],
) -> Suggestion:
    pair = _pair(proposal)
    compiled = inputs.compiled.get(source_hash(proposal.source)) if proposal.source is not None else None
    told = forecast(inputs.observations, inputs.headroom, proposal, compiled, inputs.parent)
    own = compiled is not None and code(compiled) not in (None, code(inputs.parent))
    case = Circumstances(
        target=inputs.target,
        causes=causes,
        features=inputs.features,
        trials=inputs.trials,
        effect=effect(proposal.variant, compiled, inputs.parent),
        compiled=own,
        unmoved=unmoved(inputs.observations, inputs.said.get(source_hash(proposal.source or ""), {})),
    )
    expected = _expected(inputs, optimization, pair, case, told)
    finding = judge(proposal, compiled, inputs.parent, expected.cause)
    why_not = _why_not(inputs, optimization, proposal) or finding.why_not
    if why_not is None and pair in duplicates:
        why_not = f"compiles to identical machine code as {duplicates[pair]}"
    draft = _draft(inputs, optimization, pair, expected, causes)
    confidence = finding.confidence if finding.confidence is not None else draft.confidence * finding.factor
    sentences = [draft.explanation, f"Compiler: {finding.reason}." if finding.reason else ""]
    if proposal.safety == "changes-rounding" and inputs.allow_rounding == "ask":
        sentences.append(EXPLAIN_ROUNDING)
    return replace(
        draft,
        title=proposal.title,
        safety=proposal.safety,
        expected_speedup=finding.speedup or draft.expected_speedup,
        confidence=round(confidence, 3),
        applicable=why_not is None,
        why_not=why_not,
        where=proposal.where,
        evidence=(*draft.evidence, *(fact for fact in finding.evidence if fact not in draft.evidence)),
        explanation=" ".join(filter(None, sentences)),
        proposal=proposal,
    )


def _expected(
    inputs: PlanInputs,
    optimization: Optimization,
    pair: tuple[str, str],
    case: Circumstances,
    told: Forecast | None = None,
) -> Expectation:
    """What rules, experience and compiled code say of one variant, given what was kept before it."""
    graph = rules.bundled()
    alone = expectation(graph, optimization, pair[1], case)
    return with_forecast(after_kept(graph, pair, inputs.kept, inputs.target, alone), told)


def _without_executor(inputs: PlanInputs, optimization: Optimization, causes: tuple[Cause, ...]) -> Suggestion:
    pair = (optimization.id, "")
    case = Circumstances(inputs.target, causes, inputs.features, inputs.trials)
    return _draft(inputs, optimization, pair, _expected(inputs, optimization, pair, case), causes)


def _draft(
    inputs: PlanInputs,
    optimization: Optimization,
    pair: tuple[str, str],
    expected: Expectation,
    causes: tuple[Cause, ...],
) -> Suggestion:
    """The suggestion that the rules alone make, not applicable until an executor proposes an edit."""
    speedup, note = limited(expected.speedup, inputs.headroom, lifts_roof=optimization.lifts_roof)
    sentences = [f"{optimization.summary} Prior: {'; '.join(expected.reasons)}.", note]
    sentences += [inputs.tiers.why] if inputs.tiers else []
    sentences.append(cost(optimization.cost_s))
    sentences += [f"Together with {source}: {reason}." for source, reason in _partners(inputs, pair)]
    return Suggestion(
        rank=0,
        optimization=optimization.id,
        variant=pair[1],
        title=optimization.title,
        cause=expected.cause,
        tier=optimization.tier,
        expected_speedup=speedup,
        confidence=round(expected.confidence * _certainty(inputs, expected.cause), 3),
        safety=optimization.safety,
        applicable=False,
        why_not="no executor yet",
        where=None,
        evidence=_evidence(causes, expected.cause),
        explanation=" ".join(filter(None, sentences)),
        works=expected.works,
    )


def _partners(inputs: PlanInputs, pair: tuple[str, str]) -> list[tuple[str, str]]:
    """What this optimization would open if it were kept."""
    edges = rules.relations(rules.bundled(), "enables")
    return [
        (edge.optimization, edge.reason)
        for source, edge in edges
        if source == pair[0] and load_playbook.matches(edge.variant, pair[1]) and pair not in inputs.kept
    ]


def _certainty(inputs: PlanInputs, cause: str) -> float:
    """How sure it is that the kernel has this cause, in 0..1."""
    proven = {each.id for each in parent_causes(inputs.parent)}
    if cause in proven or (cause in OFF_TENSOR_CORES and not OFF_TENSOR_CORES.isdisjoint(proven)):
        return PROVEN_BY_COMPILER
    return inputs.diagnosis.confidence if inputs.diagnosis else 1.0


def _why_not(inputs: PlanInputs, optimization: Optimization, proposal: Proposal) -> str | None:
    least = optimization.targets.min_compute_capability
    if proposal.why_not is not None or proposal.source is None:
        return proposal.why_not or "the executor found nothing to edit"
    if _capability(inputs.target) < _capability(least):
        return f"needs compute capability {least} or newer: {optimization.targets.note}"
    if (verdict := inputs.tried.get(_pair(proposal))) is not None:
        return f"tried already: {verdict}"
    for kept in inputs.kept:
        if rules.conflict(rules.bundled(), _pair(proposal), kept):
            return f"would undo {kept[0]} {kept[1]}, which was kept"
    if proposal.safety == "changes-rounding" and inputs.allow_rounding == "no":
        return "--exact forbids changes of rounding"
    return None


def _capability(target: str) -> int:
    """The number in a target: 90 for `sm_90`, `sm_90a` and `9.0`."""
    return int("".join(filter(str.isdigit, target)) or 0)


def _evidence(causes: tuple[Cause, ...], cause: str) -> tuple[Evidence, ...]:
    return next((found.evidence for found in causes if found.id == cause), ())


def _pair(proposal: Proposal) -> tuple[str, str]:
    return (proposal.variant.optimization, proposal.variant.name)
