"""Speed-ups estimated from few figures, as logarithms, so that 2x and 0.5x are equally far from no effect.

A group's estimate is the weighted mean of its figures and of its broader group's estimate, which counts as `BROADER`
measurements: n of its own have the weight n / (n + BROADER). Variants of one optimization differ more from one another
(0.07x to 1.04x for the tiles of one matrix product) than one of them from kernel to kernel, so `BROADER` is small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kdiag.records import ExpectedSpeedup
from kdiag.rules.load_playbook import Gain

BROADER = 0.25
GUESS = 0.5  # measurements that a figure counts for that nobody measured
# Another architecture's figure keeps half of its logarithm (4x becomes 2x) and counts a quarter; all of a group together
# count no more than one measurement.
SHRINK, ELSEWHERE, MOST_ELSEWHERE = 0.5, 0.25, 1.0
# How far a figure is believed: measured on this architecture, on another, or not measured at all; and nothing known.
TRUST_MEASURED, TRUST_ELSEWHERE, TRUST_GUESS, TRUST_NOTHING = 1.0, 0.6, 0.4, 0.2


@dataclass(frozen=True)
class Figure:
    """A speed-up (logarithms), what it counts for in measurements, and the other architecture that it comes from."""

    low: float
    mid: float
    high: float
    weight: float
    trust: float = TRUST_MEASURED
    elsewhere: str = ""


@dataclass(frozen=True)
class Estimate:
    """What a group says (logarithms); `elsewhere` names the other architectures that had a say."""

    low: float
    mid: float
    high: float
    trust: float = TRUST_NOTHING
    elsewhere: frozenset[str] = frozenset()

    @property
    def speedup(self) -> ExpectedSpeedup:
        """The same as ratios of times."""
        return ExpectedSpeedup(math.exp(self.low), math.exp(self.mid), math.exp(self.high))


NO_EFFECT = Estimate(math.log(0.9), 0.0, math.log(1.05))  # give or take noise


def foreign(figure: Figure, architecture: str) -> Figure:
    """The figure as weak evidence: closer to no effect, its interval as far as it was."""
    mid = SHRINK * figure.mid
    low, high = min(figure.low, mid), max(figure.high, mid)
    return Figure(low, mid, high, ELSEWHERE * figure.weight, TRUST_ELSEWHERE, architecture)


def figures(gains: Mapping[str, Gain], target: str) -> tuple[Figure, ...]:
    """What a rule's gains say for a target such as "sm_90": its own entry, else "any" and the other architectures'."""
    known = {name: _figure(gain) for name, gain in gains.items()}
    if target in known:
        return (known[target],)
    return tuple(figure if name == "any" else foreign(figure, name) for name, figure in known.items())


def _figure(gain: Gain) -> Figure:
    counts, trust = (gain.n, TRUST_MEASURED) if gain.n else (GUESS, TRUST_GUESS)
    return Figure(math.log(gain.low), math.log(gain.mid), math.log(gain.high), counts, trust)


def shrunk(group: Iterable[Figure], broader: Estimate) -> Estimate:
    """The group's estimate. It lies inside what its figures and `broader` span, and narrows as measurements agree."""
    known = [figure for figure in group if figure.weight]
    outside = sum(figure.weight for figure in known if figure.elsewhere)
    scale = min(1.0, MOST_ELSEWHERE / outside) if outside else 1.0
    weights = [figure.weight * (scale if figure.elsewhere else 1.0) for figure in known]
    if not known:
        return broader
    total = sum(weights) + BROADER
    shares: list[tuple[float, Figure | Estimate]] = [
        *zip((weight / total for weight in weights), known, strict=True),
        (BROADER / total, broader),
    ]
    mid = sum(share * each.mid for share, each in shares)
    narrow = min(1.0, math.sqrt((1 + BROADER) / total))
    below = sum(share * max(mid - each.low, 0.0) for share, each in shares) * narrow
    above = sum(share * max(each.high - mid, 0.0) for share, each in shares) * narrow
    trust = sum(w * figure.trust for w, figure in zip(weights, known, strict=True)) / sum(weights)
    names = {figure.elsewhere for figure in known if figure.elsewhere}
    return Estimate(mid - below, mid, mid + above, trust, broader.elsewhere | names)
