"""The statistics of a paired comparison: is the candidate faster than its parent by more than noise?

Times on a shared card drift together, so the figure is the ratio within a round. Its logarithm is as often above zero
as below if the two kernels are one, whatever the noise looks like; Wilcoxon's signed-rank test needs no more than that
symmetry. The figure is the shift that the test finds most plausible, the median of the means of all pairs of rounds
(Hodges and Lehmann 1963), and the interval holds every shift that the test does not reject.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
import numpy.typing as npt

from kdiag.records import ConfigurationTiming

TAIL = 1.96  # standard deviations that leave 2.5 % on either side
# A gain shows where it exceeds the interval by as much again: 1.5 %, under the 2 % that policies ask for.
SETTLED = 0.0075
FEWEST = 6  # rounds that can reject at 5 %: all on one side is 2 / 2^6 = 3 % by chance, of five 6 %
MOST_BLOCKS = 8  # on a noisy machine; the interval is then about a third of what one block gives

Times = list[list[float]]  # by arm and round; a round's times are of one unit and were taken one after the other


@dataclass(frozen=True)
class Ratio:
    """The typical ratio (the median of the means of all pairs of rounds) with its 95 % interval."""

    median: float
    low: float
    high: float


def paired_ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Ratio:
    """The typical numerator/denominator, round by round. Both hold as many positive times of one unit, at least one.

    Fewer than FEWEST rounds cannot reject at 5 %: the interval is then all that was seen.
    """
    logs = np.log(np.asarray(numerator, float) / np.asarray(denominator, float))
    n, (i, j) = logs.size, np.triu_indices(logs.size)
    # The normal approximation of the signed-rank statistic, with the correction for continuity.
    rejected = n * (n + 1) / 4 - TAIL * sqrt(n * (n + 1) * (2 * n + 1) / 24) - 0.5
    cut = max(0, int(rejected))
    means = np.partition((logs[i] + logs[j]) / 2, [cut, i.size - 1 - cut])
    return Ratio(exp(np.median(means)), exp(means[cut]), exp(means[-1 - cut]))


def noise_floor(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """How far from 1 the same statistic lies for two runs of one kernel: the larger end of the A/A interval."""
    same = paired_ratio(first, second)
    return max(same.high, 1 / same.low) - 1


def timing(name: str, parent: list[float], twin: list[float], candidate: list[float]) -> ConfigurationTiming:
    """The candidate beside its parent in the configuration `name`; times in ms, round by round, `twin` those of the
    parent once more.
    """
    return _timing(name, parent, candidate, paired_ratio(parent, candidate), noise_floor(parent, twin))


def timing_between(name: str, parent: list[float], candidate: list[float]) -> ConfigurationTiming:
    """The same where every run of the candidate lies between two of the parent, which there is one more of.

    The parent of a round is the geometric mean of its two, so that a steady drift cancels. Fewer than FEWEST rounds
    claim no more than the extremes do: interval and noise floor hold the ratios of all pairs of runs. That all runs of
    a candidate are faster than all of its parent is chance once in 35 at three rounds (the rank-sum test), once in 10 at two.
    """
    before, after = parent[:-1], parent[1:]
    if len(candidate) < FEWEST:
        middle = statistics.median(parent) / statistics.median(candidate)
        ratio = Ratio(middle, min(parent) / max(candidate), max(parent) / min(candidate))
        return _timing(name, parent, candidate, ratio, max(parent) / min(parent) - 1)
    ratio = paired_ratio(np.sqrt(np.multiply(before, after)), candidate)
    return _timing(name, parent, candidate, ratio, noise_floor(before, after))


def _timing(name: str, parent: list[float], candidate: list[float], ratio: Ratio, floor: float) -> ConfigurationTiming:
    return ConfigurationTiming(
        configuration=name,
        parent_ms=statistics.median(parent),
        candidate_ms=statistics.median(candidate),
        speedup=ratio.median,
        low=ratio.low,
        high=ratio.high,
        noise_floor=floor,
        samples=len(candidate),
    )


def until_settled(sample: Callable[[], Times]) -> Times:
    """Blocks of rounds, parent and its twin first, until the interval of the two is within 0.75 % of its middle.

    How long to go on is not decided by the candidate: looking at a gain until it is significant would find one.
    """
    times = sample()
    for _ in range(MOST_BLOCKS - 1):
        same = paired_ratio(times[0], times[1])
        if same.high / same.low <= (1 + SETTLED) ** 2:
            break
        times = [so_far + more for so_far, more in zip(times, sample(), strict=True)]
    return times
