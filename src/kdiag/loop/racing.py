"""Successive halving: many variants in few rounds, the better half in twice as many, until one is left.

Correctness is checked on the device before the first round, so that wrong code is never timed. A race only chooses:
its figures have no interval, and the winner still passes every gate and the full trial before it is kept.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kdiag.executors.bench import Heat, Trial
from kdiag.isolate import Died
from kdiag.records import Standing, Suggestion

FIRST_ROUNDS = 4
MOST = 8  # racers: three heats, and as many sets of inputs beside each other on a card

# Times these racers in so many rounds; True for the first time, to check them before.
Timing = Callable[[Sequence[Suggestion], int, bool], Heat | Died]


@dataclass(frozen=True)
class Result:
    """What is tried next, None if no racer was right; the checks of the `wrong`; how a heat `died`, if one did.

    `closed` names the variants that need no trial any more, with the reason.
    """

    winner: Suggestion | None
    standings: tuple[Standing, ...] = ()
    wrong: tuple[tuple[Suggestion, Trial], ...] = ()
    died: Died | None = None

    @property
    def closed(self) -> dict[str, str]:
        """Who was no faster than the parent, or lost to a winner that sets the same knobs (another may add to it)."""
        if self.winner is None:
            return {}
        won = f"lost a race to {self.winner.variant}"
        knobs = _knobs(self.winner.variant)
        return {
            each.variant: f"{won}: {each.reason}"
            for each in self.standings
            if each.fate == "lost" and ((each.speedup or 0) <= 1 or _knobs(each.variant) in (knobs, set()))
        }


def race(racers: Sequence[Suggestion], time: Timing, slower_pct: float) -> Result:
    """Halve the racers until one is left. `slower_pct` is how much slower a configuration may become."""
    alive, rounds, first = list(racers), FIRST_ROUNDS, True
    left: list[Standing] = []
    wrong: list[tuple[Suggestion, Trial]] = []
    while len(alive) > 1 or (first and alive):
        heat = time(alive, rounds, first)
        if isinstance(heat, Died):
            return Result(racers[0], died=heat)
        scores: dict[str, tuple[bool, float]] = {}
        for racer, trial, speedups in zip(alive, heat.trials, heat.speedups, strict=True):
            if first and not trial.passed:
                wrong.append((racer, trial))
                left.append(Standing(racer.variant, "wrong", "a check failed, so it was not timed"))
            else:
                mean = math.exp(math.fsum(map(math.log, speedups)) / len(speedups))
                scores[racer.variant] = min(speedups) >= 1 / (1 + slower_pct / 100), mean
        alive = [racer for racer in alive if racer.variant in scores]
        alive.sort(key=lambda racer: scores[racer.variant], reverse=True)
        half = (len(alive) + 1) // 2
        for place, racer in reversed(list(enumerate(alive))):
            if place >= half or half == 1:
                fate: Literal["won", "lost"] = "won" if place == 0 else "lost"
                mean = scores[racer.variant][1]
                left.append(Standing(racer.variant, fate, f"{mean:.3f}x of its parent in {rounds} rounds", mean))
        alive, rounds, first = alive[:half], 2 * rounds, False
    return Result(alive[0] if alive else None, tuple(left), tuple(wrong))


def _knobs(variant: str) -> set[str]:
    """What a variant sets: tile_m and tile_n of "tile_m=64,tile_n=128"; nothing of "exp2"."""
    return {part.partition("=")[0] for part in variant.split(",") if "=" in part}
