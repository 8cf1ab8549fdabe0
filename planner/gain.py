"""How much faster an edit will probably make a kernel, and how sure that is: rules and experience, combined.

The model is one of mixed causes. A diagnosis names causes with scores; each score squared is a cause's weight, so that
a faint cause with a large gain does not outvote the leading one. The expected gain is the geometric mean of what
`planner.groups` expects for each cause under these weights; a cause of which nothing is known counts 1.0 (no change).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING

from kdiag.records import ExpectedSpeedup
from kdiag.rules.load_playbook import Gain, Optimization, matches

from . import graph as rules
from .groups import Candidate, Circumstances
from .shrinkage import BROADER, NO_EFFECT, SHRINK, TRUST_NOTHING, Estimate, figures, shrunk

if TYPE_CHECKING:
    from .forecast import Forecast
    from .graph import Graph

# A cause below this score is no finding.
FAINTEST = 0.01


@dataclass(frozen=True)
class Expectation:
    """What is expected before compile evidence. `cause` leads it; `reasons` say where each number comes from, `works`,
    a part of `confidence`, is `Candidate.works`.
    """

    speedup: ExpectedSpeedup
    confidence: float
    cause: str
    reasons: tuple[str, ...]
    works: float = 1.0


def expectation(graph: Graph, optimization: Optimization, variant: str, case: Circumstances) -> Expectation:
    """What rules and experience expect of one variant under the circumstances.

    With no diagnosis every cause that the rules name is as likely as any other, and their mean is shrunk by half.
    """
    found = tuple(cause for cause in case.causes if cause.score >= FAINTEST)
    candidate = Candidate(graph, optimization, variant, replace(case, causes=found))
    named = list(dict.fromkeys(treat.cause for treat in optimization.treats))
    scores = {cause.id: cause.score for cause in found}
    total = sum(score**2 for score in scores.values())
    weights = {id_: score**2 / total for id_, score in scores.items()} or {id_: SHRINK / len(named) for id_ in named}
    known = {id_: told for id_ in weights if (told := candidate.estimate(id_)) is not None}
    mixed = _mixed([(weights[id_], told) for id_, told in known.items()]) if known else NO_EFFECT
    trust = mixed.trust if found else TRUST_NOTHING
    leading = next((t.cause for t in optimization.treats if matches(t.variant, variant)), (*named, "unknown")[0])
    if found and known:
        leading = max(known, key=lambda id_: weights[id_] * (abs(known[id_].mid) + 1))
        reasons = [_reason(candidate, id_, scores[id_], told) for id_, told in known.items()]
    elif known:
        reasons = [f"no cause is known; the mean over the {len(known)} causes the rules name, shrunk by half"]
        reasons[0] += elsewhere(mixed, case.target)
    else:
        names = ", ".join(weights)
        reasons = [f"nothing is known about what it does for {names}: no effect expected"]
    works = candidate.works()
    return Expectation(mixed.speedup, trust * works, leading, (*reasons, *candidate.told()), works)


def _mixed(known: Sequence[tuple[float, Estimate]]) -> Estimate:
    """Estimates under weights that may leave a part unknown: its interval spans all of theirs, and no effect."""
    share = sum(weight for weight, _ in known)
    mid = sum(weight * estimate.mid for weight, estimate in known)
    nothing = mid if share > 1 - FAINTEST else 0.0
    low = min(mid, nothing, *(estimate.low for _, estimate in known))
    high = max(mid, nothing, *(estimate.high for _, estimate in known))
    trust = sum(weight * estimate.trust for weight, estimate in known) / share
    return Estimate(low, mid, high, trust, frozenset().union(*(estimate.elsewhere for _, estimate in known)))


def after_kept(
    graph: Graph, pair: tuple[str, str], kept: tuple[tuple[str, str], ...], target: str, expected: Expectation
) -> Expectation:
    """The expectation of `pair` (optimization, variant) once one that enables it was kept.

    What was measured of the two together is shrunk towards what is expected of this one alone.
    """
    for source, edge in rules.relations(graph, "enables"):
        enabled = edge.optimization == pair[0] and matches(edge.target_variant, pair[1])
        if enabled and edge.gains and any(source == name and matches(edge.variant, v) for name, v in kept):
            low, mid, high = (math.log(each) for each in astuple(expected.speedup))
            both = shrunk(figures(edge.gains, target), Estimate(low, mid, high))
            said = f"after {source} was kept {sources(edge.gains, target)}{elsewhere(both, target)}"
            return replace(
                expected,
                speedup=both.speedup,
                confidence=both.trust,
                reasons=(f"{said}; {edge.reason}", *expected.reasons),
            )
    return expected


def with_forecast(expected: Expectation, told: Forecast | None) -> Expectation:
    """The expectation with what the compiled code lets expect, as one more measurement of the kernel itself, and
    believed for its share of the figure.
    """
    if told is None:
        return expected
    low, mid, high = (math.log(each) for each in astuple(expected.speedup))
    both = shrunk([told.figure], Estimate(low, mid, high))
    part = told.figure.weight / (told.figure.weight + BROADER)
    return replace(
        expected,
        speedup=both.speedup,
        confidence=max(expected.confidence, part * expected.works),
        reasons=(*expected.reasons, f"compile evidence: {told.reason}"),
    )


def capped(speedup: ExpectedSpeedup, headroom: float) -> ExpectedSpeedup:
    """No more than the roofline leaves: every figure at most `headroom` (a ratio, below 1 read as 1)."""
    most = max(headroom, 1.0)
    return ExpectedSpeedup(min(speedup.low, most), min(speedup.mid, most), min(speedup.high, most))


def limited(speedup: ExpectedSpeedup, headroom: float | None, *, lifts_roof: bool) -> tuple[ExpectedSpeedup, str]:
    """What the roofline leaves of a speed-up (None: unknown), and the sentence that says so."""
    if headroom is None:
        return speedup, "Headroom unknown: not capped by a roofline."
    if lifts_roof:
        return speedup, "Not capped: it moves the work to a faster unit, under a higher roof."
    if speedup.high <= headroom:
        return speedup, f"The roofline leaves {headroom:.2f}x, more than is expected."
    return capped(speedup, headroom), f"Capped by the {headroom:.2f}x that the roofline leaves."


def cost(seconds: float) -> str:
    """The sentence that says what a trial takes."""
    return f"A trial takes about {seconds:g} s."


def time_saved(speedup: ExpectedSpeedup, confidence: float) -> float:
    """The share of the kernel's time expected to be saved, 0.2 for a fifth, negative when it gets slower."""
    return confidence * (1 - 1 / speedup.mid)


def elsewhere(estimate: Estimate, target: str) -> str:
    """The remark that other architectures had a say in an estimate for `target`."""
    names = ", ".join(sorted(estimate.elsewhere))
    return f"; partly from {names}, weak evidence for {target}" if names else ""


def _reason(candidate: Candidate, cause: str, score: float, estimate: Estimate) -> str:
    """Where the figure for one cause comes from, and what remains of it beside its broader groups."""
    target = candidate.case.target
    said = "; or ".join(sources(each.gains, target) for each in candidate.treats(cause)) or "no rule, but trials"
    shrunk_to = f"with its broader groups {math.exp(estimate.mid):.2f}x{elsewhere(estimate, target)}"
    return f"for {cause} (score {score:.2f}) {said}; {shrunk_to}"


def sources(gains: Mapping[str, Gain], target: str) -> str:
    """The gains that count for the target, each with its number of measurements and its source."""
    used = {target: gains[target]} if target in gains else gains
    return "; ".join(
        f"{'' if name in {target, 'any'} else f'on {name} '}{gain.mid:.2f}x "
        f"({gain.low:.2f} to {gain.high:.2f}, n = {gain.n}): {gain.source}"
        for name, gain in used.items()
    )
