"""What a search over a list may be expected to give: what the best of the list does, for it finds that one.

It is not known beforehand which one that is: of several that promise alike the best does more than each is expected to.
A search keeps what it began with where nothing is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from statistics import NormalDist

from kdiag.records import Suggestion

from . import graph as rules
from .gain import time_saved
from .groups import hints_of
from .shrinkage import Estimate, Figure, shrunk

NARROWEST, STEPS = 0.005, 100  # of a logarithm of a speed-up; of the integral
Member = tuple[Suggestion, float]


def searches() -> frozenset[str]:
    """The optimizations that search what others would set."""
    return frozenset(source for source, _ in rules.relations(rules.bundled(), "searches"))


def racers(among: Iterable[Suggestion]) -> list[Suggestion]:
    """Which of these may race, in their order: of the searches the first, as others try a part of the same."""
    found, of = tuple(among), searches()
    leading = next((each for each in found if each.optimization in of), None)
    return [each for each in found if each is leading or each.optimization not in of]


def searched(search: Suggestion, among: Sequence[Suggestion]) -> list[Suggestion]:
    """What this one would try; nothing where it is no search. One over tile sizes alone leaves out what sets a hint, too."""
    edges = [edge for source, edge in rules.relations(rules.bundled(), "searches") if source == search.optimization]
    wanted = {edge.optimization for edge in edges if edge.variant == search.variant}
    found = [each for each in among if each.optimization in wanted]
    return found if "hints" in wanted else [each for each in found if not hints_of(each.variant)]


def with_search(search: Suggestion, members: Sequence[Suggestion], *, race: bool) -> Suggestion:
    """The search with what its members let expect, each as one more measurement; as it is where none can be applied.
    That it ends in time is its own affair.

    Beside a `race` between them it has no advantage: it gives what the most promising one does.
    """
    known = [member for member in members if member.applicable]
    if not known:
        return search
    leading = max(known, key=lambda member: time_saved(member.expected_speedup, member.confidence))
    surest = max(member.confidence for member in known)
    weighed = [(member, member.confidence / surest if surest else 1.0) for member in known]
    best = likeliest(weighed) if race else expected_best(weighed)
    low, mid, high = (math.log(each) for each in astuple(search.expected_speedup))
    most = max(math.log(member.expected_speedup.high) for member in known)
    figure = Figure(0.0, best, max(best, most), len(known))
    both = Estimate(0.0, best, figure.high, 1.0) if race else shrunk([figure], Estimate(low, mid, high))
    said = f"The best of the {len(known)} candidates that it searches is expected to give {math.exp(best):.2f}x."
    return replace(
        search,
        expected_speedup=both.speedup,
        cause=leading.cause,
        evidence=leading.evidence,
        confidence=round(leading.confidence * search.works, 3),
        explanation=f"{search.explanation} {said}",
    )


def likeliest(members: Sequence[Member]) -> float:
    """The logarithm of the speed-up of the most promising one, at least 0."""
    return max(0.0, *(acts * math.log(member.expected_speedup.mid) for member, acts in members))


def expected_best(members: Sequence[Member]) -> float:
    """The logarithm of the speed-up to expect of the best, at least 0; each member with the probability that it acts.

    Each is off what is expected of it by a quarter of its interval (its standard deviation), however the others are:
    variants of one optimization differ more among themselves than one of them from kernel to kernel. What does not act
    changes nothing, and none does more than the highest end of all intervals, which no roof forbids.
    """
    spread = [(acts, *_normal(member)) for member, acts in members]
    step = max(0.0, *(math.log(member.expected_speedup.high) for member, _ in members)) / STEPS
    # The mean of what is never negative is the integral of the probability that it is larger.
    return step * sum(
        1 - math.prod(1 - acts * (1 - NormalDist(mid, deviation).cdf(x)) for acts, mid, deviation in spread)
        for x in (step * (n + 0.5) for n in range(STEPS))
    )


def _normal(member: Suggestion) -> tuple[float, float]:
    low, mid, high = (math.log(each) for each in astuple(member.expected_speedup))
    return mid, max((high - low) / 4, NARROWEST)
