"""Successive halving: variants in few rounds, the better half in twice as many, until one is left or all had enough.

A round of a fast kernel takes less than the start of another heat: its first heat then has all the rounds there are.
"""

import statistics
from collections.abc import Callable, Sequence

from kdiag.isolate import Died

from .bench import Heat

FIRST_ROUNDS, ROUNDS = 4, 16

Speedups = Sequence[tuple[float, ...]]
# Times these racers in at least so many rounds: how many it were, and the speed-ups of each by configuration.
Timing = Callable[[Sequence[int], int], tuple[int, Speedups] | Died]


def halved(count: int, time: Timing, slower_pct: float) -> Heat | Died:
    """What each of `count` racers did in the last heat that it took part in; a heat that died ends the race."""
    alive, least = list(range(count)), FIRST_ROUNDS
    found: dict[int, tuple[int, tuple[float, ...]]] = {}
    while True:
        heat = time(alive, least)
        if isinstance(heat, Died):
            return heat
        rounds, speedups = heat
        found.update((racer, (rounds, each)) for racer, each in zip(alive, speedups, strict=True))
        alive.sort(key=lambda racer: score(found[racer][1], slower_pct), reverse=True)
        alive, least = alive[: (len(alive) + 1) // 2], min(ROUNDS, 2 * rounds)
        if len(alive) == 1 or rounds >= ROUNDS:
            return Heat(tuple(found[n][1] for n in range(count)), tuple(found[n][0] for n in range(count)))


def score(speedups: Sequence[float], slower_pct: float) -> tuple[bool, float]:
    """No slower than it may be anywhere counts first, then the geometric mean."""
    return min(speedups) >= 1 / (1 + slower_pct / 100), statistics.geometric_mean(speedups)
