"""Estimates of speed-ups from few measurements, in logarithms, so that 2x and 0.5x are equally far from no effect.

A group of measurements is shrunk towards its broader group: the estimate is the weighted mean of the group's figures
and of the broader group's estimate, which counts as `BROADER` measurements. With n figures the group's own mean has
the weight n / (n + BROADER): one measurement outvotes its group four to one, nine of them thirty-six to one.
Variants of one optimization differ far more from one another (0.07x to 1.04x for the tiles of one matrix product) than
one variant does from kernel to kernel, which is why `BROADER` is less than one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kdiag.records import ExpectedSpeedup
from kdiag.rules.load_playbook import Gain

BROADER = 0.25
# A figure that nobody measured counts as half a measurement.
GUESS = 0.5
# Another architecture's figure keeps half of its logarithm (4x becomes 2x) and counts a quarter, and all such figures
# of a group together no more than one measurement, however many they are.
SHRINK, ELSEWHERE, MOST_ELSEWHERE = 0.5, 0.25, 1.0
# How far a figure is believed: measured on this architecture, on another, or not measured at all.
TRUST_MEASURED, TRUST_ELSEWHERE, TRUST_GUESS, TRUST_NOTHING = 1.0, 0.6, 0.4, 0.2


@dataclass(frozen=True)
class Figure:
    """One known speed-up: the logarithms of low, middle and high, and for how many measurements it counts.

    `elsewhere` names the architecture it was measured on where that is not the target.
    """

    low: float
    mid: float
    high: float
    weight: float
    trust: float
    elsewhere: str = ""


@dataclass(frozen=True)
class Estimate:
    """What a group says, as logarithms. `elsewhere` names the other architectures that had a say."""

    low: float
    mid: float
    high: float
    trust: float = TRUST_NOTHING
    elsewhere: frozenset[str] = frozenset()

    @property
    def speedup(self) -> ExpectedSpeedup:
        """The same as ratios of times."""
        return ExpectedSpeedup(math.exp(self.low), math.exp(self.mid), math.exp(self.high))


# What is expected of an edit of which nothing is known: nothing, give or take noise.
NO_EFFECT = Estimate(math.log(0.9), 0.0, math.log(1.05))


def figure(gain: Gain, *, weight: float, trust: float = TRUST_MEASURED, elsewhere: str = "") -> Figure:
    """A gain as a figure; one from elsewhere is brought closer to no effect, and its interval keeps its far end."""
    low, mid, high = math.log(gain.low), math.log(gain.mid), math.log(gain.high)
    if elsewhere:
        mid *= SHRINK
        weight, trust = ELSEWHERE * weight, TRUST_ELSEWHERE
    return Figure(min(low, mid), mid, max(high, mid), weight, trust, elsewhere)


def figures(gains: Mapping[str, Gain], target: str) -> tuple[Figure, ...]:
    """What a rule's gains say for a target such as "sm_90": its own entry, else "any" and what others measured."""
    if target in gains:
        return (_own(gains[target]),)
    general = (_own(gains["any"]),) if "any" in gains else ()
    others = (
        figure(gain, weight=gain.n, elsewhere=name)
        for name, gain in gains.items()
        if name != "any" and gain.n
    )
    guesses = (
        replace(_own(gain), elsewhere=name) for name, gain in gains.items() if name != "any" and not gain.n
    )
    return (*general, *others) or tuple(guesses)


def _own(gain: Gain) -> Figure:
    return figure(gain, weight=gain.n or GUESS, trust=TRUST_MEASURED if gain.n else TRUST_GUESS)


def once(known: Figure) -> Figure:
    """The figure as one opinion on causes that it was not measured for: no more than a guess, however large its n."""
    return replace(known, weight=min(known.weight, GUESS))


def shrunk(known: Iterable[Figure], broader: Estimate) -> Estimate:
    """The group's estimate. It lies inside what the figures and `broader` span, and narrows as measurements agree."""
    group = _limited(tuple(known))
    weight = sum(each.weight for each in group)
    if not weight:
        return broader
    total = weight + BROADER
    parts = [(each.weight / total, each) for each in group]
    shares: list[tuple[float, Figure | Estimate]] = [*parts, (BROADER / total, broader)]
    mid = sum(share * each.mid for share, each in shares)
    narrow = min(1.0, math.sqrt((1 + BROADER) / total))
    below = sum(share * max(mid - each.low, 0.0) for share, each in shares) * narrow
    above = sum(share * max(each.high - mid, 0.0) for share, each in shares) * narrow
    trust = sum(each.weight * each.trust for each in group) / weight
    names = {each.elsewhere for each in group if each.elsewhere and each.weight}
    return Estimate(mid - below, mid, mid + above, trust, broader.elsewhere | names)


def _limited(group: tuple[Figure, ...]) -> tuple[Figure, ...]:
    """The group, with what other architectures say scaled down to one measurement."""
    foreign = sum(each.weight for each in group if each.elsewhere)
    scale = min(1.0, MOST_ELSEWHERE / foreign) if foreign else 1.0
    return tuple(replace(e, weight=e.weight * scale) if e.elsewhere else e for e in group)
