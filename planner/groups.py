"""What is known of one edit for one cause: groups of measurements, each shrunk towards the next.

    the variant for this cause, the optimization for this cause, the optimization whatever the cause, no effect.

The rules' gains and the trials of earlier runs are measurements of these groups alike. A trial belongs to a cause if
it was the leading one then, and to each of the present causes if the leading one is the same: it measured a kernel of
this kind as a whole. A variant shares its groups with those that turn the same knobs, not with one that undoes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kdiag.planner import graph as rules
from kdiag.planner.shrinkage import NO_EFFECT, Estimate, Figure, figures, once, shrunk
from kdiag.planner.similarity import as_figure, worth_trying
from kdiag.records import Cause, PastTrial
from kdiag.rules.load_playbook import Optimization, Treat, matches

if TYPE_CHECKING:
    from kdiag.planner.graph import Graph


@dataclass(frozen=True)
class Circumstances:
    """What a gain depends on beside the edit: the target ("sm_90"), the causes found (best first, scores in 0..1), the
    kernel's features, and the trials of earlier runs.
    """

    target: str
    causes: tuple[Cause, ...]
    features: tuple[str, ...] = ()
    trials: tuple[PastTrial, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """One variant of an optimization under given circumstances, and what is known of it."""

    graph: Graph
    optimization: Optimization
    variant: str
    case: Circumstances

    @cached_property
    def trials(self) -> tuple[PastTrial, ...]:
        """The earlier trials of this variant and of its kin."""
        return tuple(
            trial
            for trial in self.case.trials
            if trial.optimization == self.optimization.id
            and (trial.variant == self.variant or _knobs(trial.variant) == _knobs(self.variant))
        )

    def treat(self, cause: str) -> Treat | None:
        """The rules' entry for this variant and cause; a general one does not speak for a variant that undoes it."""
        found = rules.treatment(self.graph, self.optimization.id, self.variant, cause)
        return found if found is not None and not self._opposed(found.variant) else None

    def estimate(self, cause: str) -> Estimate | None:
        """What is expected for one cause, from the broadest group to the narrowest; None where nothing is known."""
        leading = self.case.causes[0].id if self.case.causes else ""
        mine = [trial for trial in self.trials if trial.cause in {cause, leading}]
        exact = [trial for trial in mine if trial.variant == self.variant]
        treat = self.treat(cause)
        if treat is None:
            timed = self._trials(mine)
            return shrunk(self._trials(exact), shrunk(timed, NO_EFFECT)) if timed else None
        group = shrunk((*self._rules(cause), *self._trials(mine)), self._whatever_the_cause)
        return shrunk((*figures(treat.gains, self.case.target), *self._trials(exact)), group)

    def works(self) -> float:
        """The probability that this very variant comes to a measurement on a kernel like this one."""
        exact = [trial for trial in self.trials if trial.variant == self.variant]
        return worth_trying(exact, self.case.features, self.case.target)

    @cached_property
    def _whatever_the_cause(self) -> Estimate:
        return shrunk(map(once, (*self._rules(None), *self._trials(self.trials))), NO_EFFECT)

    def _rules(self, cause: str | None) -> list[Figure]:
        """What the rules know of this optimization for one cause, or for any."""
        return [
            figure
            for treat in rules.treats(self.graph, self.optimization.id)
            if cause in (None, treat.cause) and (self._kin(treat.variant) or treat == self.treat(treat.cause))
            for figure in figures(treat.gains, self.case.target)
        ]

    def _trials(self, trials: Sequence[PastTrial]) -> list[Figure]:
        known = [as_figure(trial, self.case.features, self.case.target) for trial in trials]
        return [figure for figure in known if figure is not None]

    def _kin(self, pattern: str) -> bool:
        """Whether what is known of `pattern` says something of this variant."""
        return (not pattern or _knobs(pattern) == _knobs(self.variant)) and not self._opposed(pattern)

    def _opposed(self, pattern: str) -> bool:
        """Whether one of the two undoes what the other does."""
        return any(
            matches(inverse, self.variant) != matches(inverse, pattern)
            for inverse in rules.inverses(self.graph, self.optimization.id)
        )


def _knobs(variant: str) -> frozenset[str]:
    """What a variant sets, without the values: {"tile_m", "tile_n"}."""
    return frozenset(setting.partition("=")[0] for setting in variant.split(",") if setting)
