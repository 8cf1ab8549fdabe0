"""What is known of one edit for one cause: groups of measurements, each shrunk towards the next.

    the variant for this cause, the optimization for this cause, no effect.

The rules' gains and the trials of earlier runs are measurements of these groups alike. A trial counts by the share of
features that its kernel and this one have in common. It belongs to a cause that was the leading one then, and to all
present ones if the leading one is the same: it measured such a kernel as a whole. A variant shares its groups with
those that turn the same knobs, not with one that undoes it. Tiles are compared by what is done to them, not by their
names and sizes: 64 to 512 is the work of 16 to 128.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from kdiag.records import Cause, Effect, PastTrial
from kdiag.rules.load_playbook import Optimization, Treat, matches

from . import graph as rules
from .shrinkage import ELSEWHERE, NO_EFFECT, TRUST_MEASURED, Estimate, Figure, figures, foreign, shrunk

if TYPE_CHECKING:
    from .graph import Graph


@dataclass(frozen=True)
class Circumstances:
    """The target ("sm_90"), the causes found, best first with scores in 0..1, the kernel's features, earlier trials.

    `effect` is what the candidate does; `compiled` says that it was compiled, to other code than its parent, and
    `unmoved` are the moves of `Treat.moves` that this code does not make.
    """

    target: str
    causes: tuple[Cause, ...]
    features: tuple[str, ...] = ()
    trials: tuple[PastTrial, ...] = ()
    effect: Effect = field(default_factory=Effect)
    compiled: bool = False
    unmoved: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Candidate:
    """One variant of an optimization under given circumstances."""

    graph: Graph
    optimization: Optimization
    variant: str
    case: Circumstances

    @cached_property
    def trials(self) -> tuple[PastTrial, ...]:
        """The earlier trials of this variant and of those that turn the same knobs."""
        mine = (trial for trial in self.case.trials if trial.optimization == self.optimization.id)
        return tuple(trial for trial in mine if self._nearness(trial))

    def treats(self, cause: str) -> list[Treat]:
        """The rules' entry for this variant and cause, two while nobody knows whether the grid changes; a general one
        does not speak for a variant that undoes it.
        """
        found = rules.treatments(self.graph, self.optimization.id, self.variant, cause)
        return [each for each in found if not self._opposed(each.variant) and self._fits(each)]

    def estimate(self, cause: str) -> Estimate | None:
        """What is expected for one cause; None where nothing is known. Code that does not do what the rules say it must
        do to treat the cause has no effect on it. Of two entries the lesser gain is expected and the other possible.
        """
        leading = self.case.causes[0].id if self.case.causes else ""
        mine = [trial for trial in self.trials if trial.cause in {cause, leading}]
        timed, exact = self._timed(mine), self._timed([t for t in mine if self._same(t)])
        treats, group = self.treats(cause), shrunk((*self._rules(cause), *timed), NO_EFFECT)
        if not treats:
            return shrunk(exact, group) if timed else None
        found = [
            shrunk((*figures(treat.gains, self.case.target), *exact), group)
            if self.case.unmoved.isdisjoint(treat.moves)
            else replace(NO_EFFECT, trust=TRUST_MEASURED)
            for treat in treats
        ]
        least = min(found, key=lambda each: each.mid)
        return replace(least, low=min(each.low for each in found), high=max(each.high for each in found))

    def works(self) -> float:
        """The probability that this very variant comes to a measurement: no-ops, crashes and wrong results of similar
        kernels lower it, as if one trial had succeeded before them. Once it is compiled to code of its own, no-ops of
        other kernels say nothing more; nor do failures of a kind where all that failed have what this kernel has not.
        """
        exact = [trial for trial in self.trials if self._same(trial)]
        exact = [trial for trial in exact if not (self.case.compiled and trial.verdict == "no-op")]
        failed: dict[str, list[set[str]]] = {}
        for trial in exact:
            if trial.speedup is None:
                failed.setdefault(trial.verdict, []).append(set(trial.features))
        elsewhere = {kind for kind, had in failed.items() if not set.intersection(*had) <= {*self.case.features}}
        exact = [trial for trial in exact if trial.speedup is not None or trial.verdict not in elsewhere]
        done = sum(self._alike(trial) for trial in exact if trial.speedup is not None)
        return (1 + done) / (1 + sum(map(self._alike, exact)))

    def told(self) -> tuple[str, ...]:
        """What the trials were, by architecture."""
        found: dict[str, list[PastTrial]] = {self.case.target: []}
        for trial in self.trials:
            found.setdefault(trial.architecture, []).append(trial)
        here = found.pop(self.case.target)
        seen = f"seen on {{}}{'' if here else ' only'}, weak evidence: "
        return (
            *([f"experience on {self.case.target}: {_summary(here)}"] if here else []),
            *(seen.format(name) + _summary(trials) for name, trials in sorted(found.items())),
        )

    def _rules(self, cause: str) -> list[Figure]:
        return [
            figure
            for treat in self.optimization.treats
            if treat.cause == cause and self._fits(treat) and (self._kin(treat.variant) or treat in self.treats(cause))
            for figure in figures(treat.gains, self.case.target)
        ]

    def _timed(self, trials: Sequence[PastTrial]) -> list[Figure]:
        """The trials that came to a measurement, as figures. What spilled says nothing of code that does not."""
        found = []
        fits = self.case.effect.spilled is not None and self.case.effect.spilled <= 0
        for trial in trials:
            if trial.speedup and not (fits and (trial.effect.spilled or 0) > 0):
                edges = (trial.low or trial.speedup, trial.speedup, trial.high or trial.speedup)
                low, mid, high = map(math.log, sorted(edges))
                figure = Figure(low, mid, high, self._similarity(trial) * self._nearness(trial))
                here = trial.architecture == self.case.target
                found.append(figure if here else foreign(figure, trial.architecture))
        return found

    def _nearness(self, trial: PastTrial) -> float:
        """How much a trial says of this variant, in 0..1: nothing where it turns other knobs, or its tiles are of a loop and
        these of the grid, or grow where these shrink; half where they grow twice as much.
        """
        one, two = self.case.effect, trial.effect
        if one.growth is None or two.growth is None:
            return float(_knobs(trial.variant) == _knobs(self.variant))
        mine, other = math.log2(one.growth), math.log2(two.growth)
        grids = {one.grid, two.grid} - {""}
        if hints_of(trial.variant) != hints_of(self.variant) or len(grids) > 1 or mine * other < 0:
            return 0.0
        return 1 / (1 + abs(mine - other))

    def _same(self, trial: PastTrial) -> bool:
        """Whether a trial was of this very variant; of tiles, whether it did the same to them."""
        if trial.effect.growth is None or self.case.effect.growth is None:
            return trial.variant == self.variant
        return self._nearness(trial) == 1

    def _similarity(self, trial: PastTrial) -> float:
        """The share of features that two kernels have in common, in 0..1; 1 where neither has any."""
        one, other = set(trial.features), set(self.case.features)
        return len(one & other) / len(one | other) if one | other else 1.0

    def _alike(self, trial: PastTrial) -> float:
        return self._similarity(trial) * (1 if trial.architecture == self.case.target else ELSEWHERE)

    def _fits(self, treat: Treat) -> bool:
        return not treat.opposes(self.case.effect.growth, self.case.effect.grid)

    def _kin(self, pattern: str) -> bool:
        """Whether what is known of `pattern` says something of this variant."""
        return (not pattern or _knobs(pattern) == _knobs(self.variant)) and not self._opposed(pattern)

    def _opposed(self, pattern: str) -> bool:
        """Whether one of the two undoes what the other does."""
        inverses = rules.inverses(self.graph, self.optimization.id)
        return any(matches(inverse, self.variant) != matches(inverse, pattern) for inverse in inverses)


HINTS = ("num_worker_warps",)  # that a tile may need to fit


def _knobs(variant: str) -> frozenset[str]:
    """What a variant sets, without the values: {"tile_m", "tile_n"}."""
    return frozenset(setting.partition("=")[0] for setting in variant.split(","))


def hints_of(variant: str) -> frozenset[str]:
    """The hints among the settings of a variant, with their values."""
    return frozenset(setting for setting in variant.split(",") if setting.startswith(HINTS))


def _summary(trials: Sequence[PastTrial]) -> str:
    speedups = [trial.speedup for trial in trials if trial.speedup]
    median = [f"median {statistics.median(speedups):.2f}x"] if speedups else []
    failed = len(trials) - len(speedups)
    nothing = [f"{failed} without a measurement"] if failed else []
    return ", ".join([f"{len(trials)} trial{'s' * (len(trials) > 1)}", *median, *nothing])
