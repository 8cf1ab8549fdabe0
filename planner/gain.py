"""How much faster an edit will probably make a kernel, and how sure that is: the priors of the rules, combined.

The model is one of mixed causes. A diagnosis names causes with scores; each score squared is a cause's weight, so
that a faint cause with a large prior does not outvote the leading one. The expected gain is the geometric mean of
the priors under these weights, where a cause that the optimization does not treat counts 1.0 (nothing changes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kdiag.planner import graph as rules
from kdiag.records import Cause, ExpectedSpeedup
from kdiag.rules.load_playbook import Gain, Optimization, matches

if TYPE_CHECKING:
    from kdiag.planner.graph import Graph

# How far a prior is believed: measured on this architecture, measured on another, not measured at all.
TRUST_MEASURED, TRUST_ELSEWHERE, TRUST_GUESS = 1.0, 0.6, 0.4
# A prior of another architecture keeps half of its logarithm: 4x becomes 2x, 0.25x becomes 0.5x.
SHRINK = 0.5
# What is expected of an edit that treats none of the causes found: nothing, give or take noise.
UNTREATED = ExpectedSpeedup(0.9, 1.0, 1.05)
UNTREATED_CONFIDENCE = 0.2
# A cause below this score is no finding.
FAINTEST = 0.01


@dataclass(frozen=True)
class Expectation:
    """A prior before compile evidence. `cause` leads it; `reasons` say where each number comes from."""

    speedup: ExpectedSpeedup
    confidence: float
    cause: str
    reasons: tuple[str, ...]


def prior(gains: Mapping[str, Gain], target: str) -> tuple[Gain, float, str]:
    """The gain for a target such as "sm_90", how far to trust it in 0..1, and a remark on its origin.

    Its own architecture's entry first, then "any", then another architecture's shrunk towards 1.0.
    """
    if target in gains:
        gain = gains[target]
        return gain, TRUST_MEASURED if gain.n else TRUST_GUESS, ""
    if "any" in gains:
        gain = gains["any"]
        return gain, TRUST_ELSEWHERE if gain.n else TRUST_GUESS, ""
    architecture, gain = next(iter(gains.items()))
    return _shrunk(gain), TRUST_ELSEWHERE, f"; measured on {architecture}, shrunk for {target}"


def _shrunk(gain: Gain) -> Gain:
    mid = gain.mid**SHRINK
    return Gain(min(gain.low, mid), mid, max(gain.high, mid), gain.n, gain.source)


def expectation(
    graph: Graph, optimization: Optimization, variant: str, causes: tuple[Cause, ...], target: str
) -> Expectation:
    """What the rules expect of one variant, given the causes of the diagnosis (best first, scores in 0..1)."""
    causes = tuple(cause for cause in causes if cause.score >= FAINTEST)
    if not causes:
        return _without_causes(graph, optimization, variant, target)
    total = sum(cause.score**2 for cause in causes)
    treated = [
        (cause, cause.score**2 / total, treat)
        for cause in causes
        if (treat := rules.treatment(graph, optimization.id, variant, cause.id)) is not None
    ]
    if not treated:
        names = ", ".join(cause.id for cause in causes)
        reason = f"nothing is known about what it does for {names}: no effect expected"
        return Expectation(
            UNTREATED, UNTREATED_CONFIDENCE, _first_cause(graph, optimization, variant), (reason,)
        )
    priors = [(weight, *prior(treat.gains, target)) for _, weight, treat in treated]
    share = sum(weight for weight, _, _, _ in priors)
    mid = math.exp(sum(weight * math.log(gain.mid) for weight, gain, _, _ in priors))
    bounds = [mid, *(edge for _, gain, _, _ in priors for edge in (gain.low, gain.high))]
    trust = sum(weight * trust for weight, _, trust, _ in priors) / share
    leading = max(
        treated, key=lambda entry: entry[1] * abs(math.log(prior(entry[2].gains, target)[0].mid)) + entry[1]
    )
    reasons = tuple(
        f"for {cause.id} (score {cause.score:.2f}) {_figures(gain)}: {gain.source}{note}"
        for (cause, _, _), (_, gain, _, note) in zip(treated, priors, strict=True)
    )
    return Expectation(ExpectedSpeedup(min(bounds), mid, max(bounds)), trust, leading[0].id, reasons)


def _without_causes(graph: Graph, optimization: Optimization, variant: str, target: str) -> Expectation:
    """With no diagnosis every cause that the rules name is as likely as any other, and all are shrunk."""
    relevant = [treat for treat in rules.treats(graph, optimization.id) if matches(treat.variant, variant)]
    if not relevant:
        return Expectation(UNTREATED, UNTREATED_CONFIDENCE, "unknown", ("no cause is known, and no prior",))
    gains = [prior(treat.gains, target)[0] for treat in relevant]
    mid = math.exp(SHRINK * sum(math.log(gain.mid) for gain in gains) / len(gains))
    low, high = min(mid, *(gain.low for gain in gains)), max(mid, *(gain.high for gain in gains))
    reason = f"no cause is known; the mean over the {len(gains)} causes the rules name, shrunk by half"
    return Expectation(ExpectedSpeedup(low, mid, high), UNTREATED_CONFIDENCE, relevant[0].cause, (reason,))


def after_kept(
    graph: Graph, pair: tuple[str, str], kept: tuple[tuple[str, str], ...], target: str
) -> tuple[Gain, float, str] | None:
    """The gain of `pair` (optimization, variant) given that one which enables it was kept, with trust and reason."""
    for source, edge in rules.relations(graph, "enables"):
        enabled = edge.optimization == pair[0] and matches(edge.target_variant, pair[1])
        if enabled and edge.gains and any(source == name and matches(edge.variant, v) for name, v in kept):
            gain, trust, note = prior(edge.gains, target)
            return (
                gain,
                trust,
                f"after {source} was kept {_figures(gain)}: {gain.source}{note}; {edge.reason}",
            )
    return None


def capped(speedup: ExpectedSpeedup, headroom: float) -> ExpectedSpeedup:
    """No more than the roofline leaves: every figure at most `headroom` (a ratio, below 1 read as 1)."""
    most = max(headroom, 1.0)
    return ExpectedSpeedup(min(speedup.low, most), min(speedup.mid, most), min(speedup.high, most))


def time_saved(speedup: ExpectedSpeedup, confidence: float) -> float:
    """The share of the kernel's time expected to be saved, 0.2 for a fifth, negative when it gets slower."""
    return confidence * (1 - 1 / speedup.mid)


def _first_cause(graph: Graph, optimization: Optimization, variant: str) -> str:
    known = rules.treats(graph, optimization.id)
    return next((treat.cause for treat in known if matches(treat.variant, variant)), known[0].cause)


def _figures(gain: Gain) -> str:
    return f"{gain.mid:.2f}x ({gain.low:.2f} to {gain.high:.2f})"
