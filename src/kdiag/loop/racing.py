"""Races between the suggestions that lead the plan, of whatever optimization.

Correctness is checked on the device before the first round, so that wrong code is never timed. A race only chooses:
its figures have no interval, and the winner still passes every gate and the full trial before it is kept.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kdiag.executors.bench import Heat, Trial
from kdiag.executors.halving import score
from kdiag.isolate import Died
from kdiag.planner.search import searches
from kdiag.records import Standing, Suggestion

ALIKE = 1.01  # a race has no interval, and cannot tell less apart
SEARCH = 1.02  # what a search has to gain beside others, as every first call pays for it
MOST = 8  # racers: as many sets of inputs beside each other on a card

Name = tuple[str, str]
Checking = Callable[[Sequence[Suggestion]], Sequence[Trial | Died]]
Timing = Callable[[Sequence[Suggestion]], Heat | Died]
Timed = tuple[int, Sequence[float], Suggestion]


@dataclass(frozen=True)
class Closed:
    """Why a racer needs no trial: it is "outraced" for good, or is no gain ("no-gain") over this parent."""

    state: Literal["outraced", "no-gain"]
    reason: str
    speedup: float


@dataclass(frozen=True)
class Result:
    """What is tried next, None if no racer was right or worth it; what became of the `wrong`; how the race `died`, if it did.

    `no_gain` and `beaten` need no trial, by (optimization, variant): beside this parent the ones gain nothing; the others
    lost to a winner that sets the same knobs (another may add to it).
    """

    winner: Suggestion | None
    standings: tuple[Standing, ...] = ()
    wrong: tuple[tuple[Suggestion, Trial | Died], ...] = ()
    died: Died | None = None
    no_gain: Mapping[Name, Closed] = field(default_factory=dict)
    beaten: Mapping[Name, Closed] = field(default_factory=dict)

    @property
    def gain(self) -> float | None:
        """How fast the winner was in the race, None if none was held."""
        return next((each.speedup for each in self.standings if each.fate == "won"), None)


def race(
    racers: Sequence[Suggestion],
    check: Checking,
    time: Timing,
    slower_pct: float,
    least: float | None = None,
    registers: Callable[[Suggestion], float] = lambda _: 0,
) -> Result:
    """Check the racers, then time those that are right, if these are several. `slower_pct` is how much slower a
    configuration may become, `least` the speed-up for which one is tried; without it the fastest is, whatever it gives.
    Of those that are alike the one with the fewest `registers` wins: what comes after needs some. Where the timing dies, or
    all checks do, the first goes on untimed.
    """
    answers = tuple(zip(racers, check(racers), strict=True))
    dead = [answer for _, answer in answers if isinstance(answer, Died)]
    if len(dead) == len(racers):
        return Result(racers[0], died=dead[0])
    wrong = tuple((racer, answer) for racer, answer in answers if isinstance(answer, Died) or not answer.passed)
    right = [racer for racer, answer in answers if not isinstance(answer, Died) and answer.passed]
    left = tuple(_out(racer, answer) for racer, answer in wrong)
    if len(right) < 2:
        return Result(next(iter(right), None), left, wrong)
    heat = time(right)
    if isinstance(heat, Died):
        return Result(right[0], died=heat)
    times = zip(heat.rounds, heat.speedups, right, strict=True)
    timed = sorted(times, key=lambda each: (each[0], _place(each[2], each[1], slower_pct)))
    worth = [each for each in timed if least is None or _gains(each[1], slower_pct, least)]
    won = winner(worth, slower_pct, registers) if worth else None
    timed.sort(key=lambda each: each[2] is won)
    ranked, no_gain, beaten = list(left), dict[Name, Closed](), dict[Name, Closed]()
    for rounds, speedups, racer in timed:
        name, mean = racer.pair, statistics.geometric_mean(speedups)
        reason = f"{mean:.3f}x of its parent in {rounds} rounds"
        ranked.append(Standing(*name, "won" if racer is won else "lost", reason, mean))
        if racer is not won and not _gains(speedups, slower_pct, least or 1.0):
            no_gain[name] = Closed("no-gain", reason, mean)
        elif won is not None and racer is not won and _replaces(won, racer):
            beaten[name] = Closed("outraced", f"lost a race to {won.variant}: {reason}", mean)
    return Result(won, tuple(ranked), wrong, no_gain=no_gain, beaten=beaten)


def winner(timed: Sequence[Timed], slower_pct: float, registers: Callable[[Suggestion], float]) -> Suggestion:
    """Of what was timed, the last one the fastest: that, or what is alike and leaves more registers."""
    rounds, speedups, fastest = timed[-1]
    no_slower, best = _place(fastest, speedups, slower_pct)
    alike = [
        racer
        for heat, others, racer in reversed(timed)
        if heat == rounds and _place(racer, others, slower_pct) >= (no_slower, best / ALIKE)
    ]
    return min(alike, key=lambda one: (one.optimization in searches(), registers(one)))


def _place(racer: Suggestion, speedups: Sequence[float], slower_pct: float) -> tuple[bool, float]:
    no_slower, mean = score(speedups, slower_pct)
    return no_slower, mean / (SEARCH if racer.optimization in searches() else 1.0)


def _gains(speedups: Sequence[float], slower_pct: float, least: float) -> bool:
    no_slower, mean = score(speedups, slower_pct)
    return no_slower and mean > least


def _replaces(winner: Suggestion, racer: Suggestion) -> bool:
    """Whether a variant sets the same knobs, or none; another may add to the winner."""
    same = racer.optimization == winner.optimization
    return same and _knobs(racer.variant) in (_knobs(winner.variant), set())


def _out(racer: Suggestion, answer: Trial | Died) -> Standing:
    """How a racer leaves that is not timed."""
    reason = answer.message if isinstance(answer, Died) else "a check failed, so it was not timed"
    return Standing(racer.optimization, racer.variant, "wrong", reason)


def _knobs(variant: str) -> set[str]:
    """What a variant sets: tile_m and tile_n of "tile_m=64,tile_n=128"; nothing of "exp2"."""
    return {part.partition("=")[0] for part in variant.split(",") if "=" in part}
