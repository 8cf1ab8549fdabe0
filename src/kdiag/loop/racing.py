"""Successive halving: many variants in few rounds, the better half in twice as many, until one is left.

Correctness is checked on the device before the first round, so that wrong code is never timed. A race only chooses:
its figures have no interval, and the winner still passes every gate and the full trial before it is kept.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kdiag.executors.bench import Heat, Trial
from kdiag.isolate import Died
from kdiag.records import Standing, Suggestion

FIRST_ROUNDS = 4
MOST = 8  # racers: three heats, and as many sets of inputs beside each other on a card

Checking = Callable[[Sequence[Suggestion]], Sequence[Trial | Died]]
Timing = Callable[[Sequence[Suggestion], int], Heat | Died]  # in so many rounds


@dataclass(frozen=True)
class Result:
    """What is tried next, None if no racer was right; what became of the `wrong`; how the race `died`, if it did.

    `closed` names the variants that need no trial any more, with the reason.
    """

    winner: Suggestion | None
    standings: tuple[Standing, ...] = ()
    wrong: tuple[tuple[Suggestion, Trial | Died], ...] = ()
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


def race(racers: Sequence[Suggestion], check: Checking, time: Timing, slower_pct: float) -> Result:
    """Check the racers, then halve those that are right until one is left. `slower_pct` is how much slower a
    configuration may become. Where a heat dies, or all checks do, the first goes on untimed.
    """
    answers = tuple(zip(racers, check(racers), strict=True))
    dead = [answer for _, answer in answers if isinstance(answer, Died)]
    if len(dead) == len(racers):
        return Result(racers[0], died=dead[0])
    wrong = tuple((racer, answer) for racer, answer in answers if isinstance(answer, Died) or not answer.passed)
    alive = [racer for racer, answer in answers if not isinstance(answer, Died) and answer.passed]
    left = [_out(racer, answer) for racer, answer in wrong]
    rounds = FIRST_ROUNDS
    while len(alive) > 1 or (rounds == FIRST_ROUNDS and alive):
        heat = time(alive, rounds)
        if isinstance(heat, Died):
            return Result(alive[0], died=heat)
        scores = {racer.variant: _score(times, slower_pct) for racer, times in zip(alive, heat.speedups, strict=True)}
        alive.sort(key=lambda racer: scores[racer.variant], reverse=True)
        half = (len(alive) + 1) // 2
        for place, racer in reversed(list(enumerate(alive))):
            if place >= half or half == 1:
                fate: Literal["won", "lost"] = "won" if place == 0 else "lost"
                mean = scores[racer.variant][1]
                left.append(Standing(racer.variant, fate, f"{mean:.3f}x of its parent in {rounds} rounds", mean))
        alive, rounds = alive[:half], 2 * rounds
    return Result(alive[0] if alive else None, tuple(left), wrong)


def _out(racer: Suggestion, answer: Trial | Died) -> Standing:
    """How a racer leaves that is not timed."""
    reason = answer.message if isinstance(answer, Died) else "a check failed, so it was not timed"
    return Standing(racer.variant, "wrong", reason)


def _score(speedups: Sequence[float], slower_pct: float) -> tuple[bool, float]:
    """No slower than it may be anywhere counts first, then the geometric mean."""
    return min(speedups) >= 1 / (1 + slower_pct / 100), statistics.geometric_mean(speedups)


def _knobs(variant: str) -> set[str]:
    """What a variant sets: tile_m and tile_n of "tile_m=64,tile_n=128"; nothing of "exp2"."""
    return {part.partition("=")[0] for part in variant.split(",") if "=" in part}
