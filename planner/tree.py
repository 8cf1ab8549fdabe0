"""The priority tree: the plan as it lives through a run, from bottleneck to cause, tier, optimization, variant.

A tree is immutable. Each method returns a new one, so that the journal can hold the tree of every iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, cast, get_args

from kdiag.records import Prediction, Suggestion, parts

from . import graph as rules
from .search import searches

State = Literal[
    "open",
    "not-applicable",
    "no-op",
    "kept",
    "reverted",
    "inconclusive",
    "crashed",
    "ready",
    "blocked",
    "outraced",
    "no-gain",
]
TRIED = frozenset(get_args(State)) - {"open", "not-applicable", "blocked"}
Path = tuple[str, str]


@dataclass(frozen=True)
class Node:
    """A leaf: one variant of one optimization, the suggestion it came from, its state and why it has it."""

    suggestion: Suggestion
    state: State
    reason: str = ""

    @property
    def pair(self) -> Path:
        """(optimization, variant), which no two leaves of a tree share."""
        return self.suggestion.pair

    @property
    def told(self) -> str:
        """The state, and of what waits for what."""
        waits = {"ready": " for a GPU", "blocked": f" {self.reason.partition(':')[0]}"}
        return f"{self.state}{waits.get(self.state, '')}"


@dataclass(frozen=True)
class PriorityTree:
    """The leaves in the order of their rank. `lowered` are optimizations to try later than their rank says,
    `refuted` causes that a result spoke against, `again` what has raced and waits.
    """

    bottleneck: str
    leaves: tuple[Node, ...]
    lowered: frozenset[str] = frozenset()
    refuted: frozenset[str] = frozenset()
    again: frozenset[Path] = frozenset()

    def open(self) -> list[Suggestion]:
        """What can be tried, the next one first: not refuted before refuted, what never raced, not lowered,
        then by rank.
        """
        found = [leaf.suggestion for leaf in self.leaves if leaf.state == "open" and leaf.suggestion.applicable]
        return sorted(found, key=self._priority)

    def record(self, optimization: str, variant: str, state: State, reason: str) -> PriorityTree:
        """The tree after one variant was tried. Keeping it opens what it enables and closes what would undo it."""
        leaves = tuple(
            replace(leaf, state=state, reason=reason) if leaf.pair == (optimization, variant) else leaf
            for leaf in self.leaves
        )
        tree = replace(self, leaves=leaves)
        return tree._settled() if state == "kept" else tree

    def lower_priority(self, optimization: str) -> PriorityTree:
        """The tree in which all variants of an optimization wait until the others were tried."""
        return replace(self, lowered=self.lowered | {optimization})

    def reopen(self, raced: Collection[Path]) -> PriorityTree:
        """The tree in which these may race again once what never raced was tried."""
        leaves = (replace(leaf, state="open", reason="") if leaf.pair in raced else leaf for leaf in self.leaves)
        return replace(self, leaves=tuple(leaves), again=self.again.union(raced))

    def refute(self, cause: str) -> PriorityTree:
        """The tree in which suggestions for a cause wait until nothing else is open, because a result contradicted it."""
        return replace(self, refuted=self.refuted | {cause})

    def learn(self, prediction: Prediction) -> PriorityTree:
        """The tree after a prediction was checked: a supported cause counts again, whatever was said of it before."""
        if prediction.conclusion == "refuted":
            return self.refute(prediction.cause)
        supported = {prediction.cause} if prediction.conclusion == "supported" else set()
        return replace(self, refuted=self.refuted - supported)

    def rivals(self, suggestion: Suggestion) -> list[Suggestion]:
        """What may race against the suggestion: what is open in the order of its rank, itself among it, and then what
        has raced before; no search, which takes seconds.

        What is refuted or lowered does not race beside what is not: it waits.
        """
        waits = self._priority(suggestion)[:-1]
        raced = (waits[0], True, waits[2])
        places = [(each, self._priority(each)[:-1]) for each in self.open()]
        return [one for one, at in places if at == waits or (at == raced and one.optimization not in searches())]

    def merge(self, suggestions: tuple[Suggestion, ...]) -> PriorityTree:
        """The tree with the suggestions of a new plan; what was tried keeps its state, even if no longer suggested."""
        tried = {leaf.pair: leaf for leaf in self.leaves if leaf.state in TRIED}
        fresh = [tried.get(s.pair, _leaf(s)) for s in suggestions]
        gone = [leaf for pair, leaf in tried.items() if pair not in {node.pair for node in fresh}]
        return replace(self, leaves=(*fresh, *gone))._settled()

    def as_dict(self) -> dict[str, object]:
        """The nested form for the journal: cause -> tier -> optimization -> variant with state and reason."""
        causes: dict[str, dict[str, dict[str, dict[str, object]]]] = {}
        for leaf in self._ordered():
            s = leaf.suggestion
            variants = causes.setdefault(s.cause, {}).setdefault(str(s.tier), {}).setdefault(s.optimization, {})
            variants[s.variant] = {"state": leaf.state, "reason": leaf.reason, "rank": s.rank}
        later = {name: sorted(getattr(self, name)) for name in ("lowered", "refuted", "again")}
        return {"bottleneck": self.bottleneck, "causes": causes, **later}

    def outline(self) -> str:
        """The tree in short: one line per cause and per optimization of which something was or can be tried."""
        lines = [self.bottleneck]
        for cause, leaves in groupby(self._ordered(), key=lambda leaf: leaf.suggestion.cause):
            under = []
            for optimization, variants in groupby(leaves, key=lambda leaf: leaf.suggestion.optimization):
                states = Counter(leaf.told for leaf in variants if leaf.state != "not-applicable")
                if states:
                    counts = ", ".join(f"{number} {state}" for state, number in states.items())
                    under.append(f"    {optimization}: {counts}")
            if under:
                lines += [f"  {cause}{' (refuted: tried last)' if cause in self.refuted else ''}", *under]
        return "\n".join(lines)

    def _priority(self, suggestion: Suggestion) -> tuple[bool, bool, bool, int]:
        again, lowered = suggestion.pair in self.again, suggestion.optimization in self.lowered
        return (suggestion.cause in self.refuted, again, lowered, suggestion.rank)

    def _ordered(self) -> list[Node]:
        """Leaves grouped by cause, then by tier and optimization, each group where its best leaf stands."""
        best: dict[tuple[str, ...], int] = {}
        for place, leaf in enumerate(sorted(self.leaves, key=lambda leaf: self._priority(leaf.suggestion))):
            s = leaf.suggestion
            best.setdefault((s.cause,), place)
            best.setdefault((s.cause, s.optimization), place)
        return sorted(
            self.leaves,
            key=lambda leaf: (
                best[(leaf.suggestion.cause,)],
                leaf.suggestion.tier,
                best[(leaf.suggestion.cause, leaf.suggestion.optimization)],
                self._priority(leaf.suggestion),
            ),
        )

    def _settled(self) -> PriorityTree:
        """The tree with `blocked` and conflicts worked out anew from what was kept."""
        graph = rules.bundled()
        kept = [part for leaf in self.leaves if leaf.state == "kept" for part in parts(*leaf.pair)]
        openers = {leaf.pair[0] for leaf in self.leaves if leaf.state == "open"}
        return replace(self, leaves=tuple(_settle(graph, leaf, kept, openers) for leaf in self.leaves))


def from_suggestions(suggestions: tuple[Suggestion, ...], bottleneck: str = "unknown") -> PriorityTree:
    """The tree of a plan. An optimization that finds nothing to edit waits, `blocked`, for one it requires."""
    return PriorityTree(bottleneck, tuple(map(_leaf, suggestions)))._settled()


def remembered(state: Mapping[str, object]) -> PriorityTree:
    """What a tree in the form of `as_dict` had learnt, without its leaves."""
    lowered, refuted = (frozenset(cast("list[str]", state.get(key, []))) for key in ("lowered", "refuted"))
    again = frozenset((o, v) for o, v in cast("list[list[str]]", state.get("again", [])))
    return PriorityTree(str(state.get("bottleneck", "unknown")), (), lowered, refuted, again)


def _leaf(suggestion: Suggestion) -> Node:
    return Node(suggestion, "open") if suggestion.applicable else _shut(suggestion)


def _shut(suggestion: Suggestion) -> Node:
    return Node(suggestion, "not-applicable", suggestion.why_not or "")


def _settle(graph: rules.Graph, leaf: Node, kept: list[Path], openers: set[str]) -> Node:
    if leaf.state in TRIED:
        return leaf
    for other in kept:
        if rules.conflict(graph, leaf.pair, other):
            return replace(leaf, state="not-applicable", reason=f"would undo {' '.join(other)}, which was kept")
    if leaf.suggestion.applicable:
        return leaf
    for source, edge in rules.relations(graph, "requires"):
        if source == leaf.pair[0] and edge.optimization in {name for name, _ in kept}:
            return replace(leaf, state="open", reason=f"{edge.optimization} was kept: plan anew for its edit")
        if source == leaf.pair[0] and edge.optimization in openers and leaf.suggestion.proposal is not None:
            return replace(leaf, state="blocked", reason=f"until {edge.optimization} is kept: {edge.reason}")
    return _shut(leaf.suggestion)
