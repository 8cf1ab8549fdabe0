"""The statistics of a paired comparison: is the candidate faster than its parent by more than noise?

Times on a shared card drift together, so the figure is the ratio within a round, not the ratio of two averages.
The median resists the occasional slow round; its interval comes from a percentile bootstrap (Efron 1979).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 1000
CONFIDENCE_PCT = 95.0


@dataclass(frozen=True)
class Ratio:
    """Median of paired ratios with its 95 % interval."""

    median: float
    low: float
    high: float


def paired_ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Ratio:
    """Median of numerator/denominator, round by round. Both hold at least three positive times of one unit."""
    logs = np.log(np.asarray(numerator, float) / np.asarray(denominator, float))
    if logs.size < 3:
        return Ratio(float(np.exp(np.median(logs))), float(np.exp(logs.min())), float(np.exp(logs.max())))
    picks = np.random.default_rng(0).integers(0, logs.size, (RESAMPLES, logs.size))
    medians = np.median(logs[picks], axis=1)
    tail = (100 - CONFIDENCE_PCT) / 2
    low, high = np.percentile(medians, [tail, 100 - tail])
    return Ratio(float(np.exp(np.median(logs))), float(np.exp(low)), float(np.exp(high)))


def noise_floor(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """How far from 1 the same statistic lies for two runs of one kernel: the larger end of the A/A interval."""
    same = paired_ratio(first, second)
    return max(same.high, 1 / same.low) - 1
