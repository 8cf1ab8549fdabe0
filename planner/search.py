"""What a search over a list may be expected to give: what the best of the list does, for it finds that one.

It costs more than to try that one, and may find another. A search keeps what it began with where nothing is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, replace

from kdiag.records import Suggestion

from . import graph as rules
from .gain import time_saved
from .shrinkage import Estimate, Figure, shrunk


def searched(search: Suggestion, among: Sequence[Suggestion]) -> list[Suggestion]:
    """What this one would try; nothing where it is no search."""
    edges = [edge for source, edge in rules.relations(rules.bundled(), "searches") if source == search.optimization]
    wanted = {edge.optimization for edge in edges if edge.variant == search.variant}
    return [each for each in among if each.optimization in wanted]


def with_search(search: Suggestion, members: Sequence[Suggestion]) -> Suggestion:
    """The search with what its members let expect as one more measurement; as it is where none can be applied."""
    known = [member for member in members if member.applicable]
    if not known:
        return search
    leading = max(known, key=lambda member: time_saved(member.expected_speedup, member.confidence))
    surest = max(member.confidence for member in known)
    best = expected_best([(member, member.confidence / surest if surest else 1.0) for member in known])
    low, mid, high = (math.log(each) for each in astuple(search.expected_speedup))
    most = max(math.log(member.expected_speedup.high) for member in known)
    both = shrunk([Figure(0.0, best, max(best, most), 1.0)], Estimate(low, mid, high))
    said = f"The best of the {len(known)} candidates that it searches is expected to give {math.exp(best):.2f}x."
    return replace(
        search,
        expected_speedup=both.speedup,
        cause=leading.cause,
        evidence=leading.evidence,
        confidence=leading.confidence,
        explanation=f"{search.explanation} {said}",
    )


def expected_best(members: Sequence[tuple[Suggestion, float]]) -> float:
    """The logarithm of the speed-up of the best, at least 0; each member with the probability that it acts."""
    return max(0.0, *(acts * math.log(member.expected_speedup.mid) for member, acts in members))
