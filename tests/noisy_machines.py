"""Machines whose kernel times jitter by 3 %, each in another way, and what a run makes of a kernel there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kdiag.executors.decide import CandidateOutcome, confirmation, decide, needs_confirmation
from kdiag.executors.paired_statistics import Times, noise_floor, paired_ratio, until_settled
from kdiag.records import ConfigurationCheck, ConfigurationTiming
from kdiag.rules.load_policies import Policy

JITTER = 0.03
ARMS = 3  # parent, the parent again, candidate
Logs = npt.NDArray[np.float64]
# Logarithms of the relative times of one block, by round and arm.
Machine = Callable[[np.random.Generator, int], Logs]


def gaussian(rng: np.random.Generator, rounds: int) -> Logs:
    return rng.normal(0, JITTER, (rounds, ARMS))


def heavy_tailed(rng: np.random.Generator, rounds: int) -> Logs:
    """Student's t with three degrees of freedom: one time in a hundred is off by 14 %."""
    return JITTER * rng.standard_t(3, (rounds, ARMS))


def late(rng: np.random.Generator, rounds: int) -> Logs:
    """Interruptions make times longer, never shorter."""
    return rng.exponential(JITTER, (rounds, ARMS))


def drifting(rng: np.random.Generator, rounds: int) -> Logs:
    """The clock wanders by 1 % from one launch to the next."""
    wander = np.cumsum(rng.normal(0, 0.01, (rounds, ARMS))).reshape(rounds, ARMS)
    return _in_random_order(rng, wander) + gaussian(rng, rounds)


def throttling(rng: np.random.Generator, rounds: int) -> Logs:
    """Two clocks, 15 % apart; one launch in twenty finds the other one."""
    slow = np.cumsum(rng.random((rounds, ARMS)) < 0.05).reshape(rounds, ARMS) % 2
    return _in_random_order(rng, np.log(1.15) * slow) + gaussian(rng, rounds)


def autocorrelated(rng: np.random.Generator, rounds: int) -> Logs:
    """Each kernel's time remembers half of what it was a round ago, as if its buffers' cache sets did."""
    return _remembering(rng.normal(0, JITTER, (rounds, ARMS)), 0.5)


def placed(rng: np.random.Generator, rounds: int) -> Logs:
    """In each process each kernel is faster or slower by 0.3 %: where its buffers and its code happen to lie."""
    return gaussian(rng, rounds) + rng.normal(0, 0.003, ARMS)


MACHINES: tuple[Machine, ...] = (
    gaussian,
    heavy_tailed,
    late,
    drifting,
    throttling,
    autocorrelated,
    placed,
)


def _in_random_order(rng: np.random.Generator, by_time: Logs) -> Logs:
    """The arms take turns in another order each round, as in `device_timing`."""
    return rng.permuted(by_time, axis=1)


def _remembering(fresh: Logs, memory: float) -> Logs:
    logs = fresh.copy()
    for row in range(1, len(logs)):
        logs[row] = memory * logs[row - 1] + (1 - memory**2) ** 0.5 * fresh[row]
    return logs


def measured(
    machine: Machine, rng: np.random.Generator, rounds: int, speedup: float
) -> tuple[ConfigurationTiming, ...]:
    """One process's timing of a candidate that is faster by `speedup`; `rounds` in a block."""

    def block() -> Times:
        times = np.exp(machine(rng, rounds)) / (1.0, 1.0, speedup)
        return [list(arm) for arm in times.T]

    parent, twin, candidate = until_settled(block)
    ratio = paired_ratio(parent, candidate)
    floor = noise_floor(parent, twin)
    return (ConfigurationTiming("n", 1, 1, ratio.median, ratio.low, ratio.high, floor, len(parent)),)


def kept(machine: Machine, rng: np.random.Generator, policy: Policy, *, rounds: int, speedup: float) -> bool:
    """Whether a run keeps such a candidate: measured, and once more in a fresh process where that is asked for."""
    check = (ConfigurationCheck("n", True, 0.0, 1.0),)
    timings = measured(machine, rng, rounds, speedup)
    verdict = decide(CandidateOutcome(checks=check, timings=timings), policy)
    if verdict.name == "keep" and needs_confirmation(timings, policy):
        timings = confirmation(timings, measured(machine, rng, rounds, speedup))
        verdict = decide(CandidateOutcome(checks=check, timings=timings), policy)
    return verdict.name == "keep"
