"""How much a trial of an earlier run says of the kernel at hand, and what it says.

A trial counts by the share of features that the two kernels have in common, a quarter of that on another architecture.
Whether the leading causes agree decides which group it belongs to (see `planner.gain`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from kdiag.planner.shrinkage import ELSEWHERE, SHRINK, TRUST_ELSEWHERE, TRUST_MEASURED, Figure
from kdiag.records import PastTrial


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of features that two kernels have in common, in 0..1; 1 where neither has any."""
    both = set(one) | set(other)
    return len(set(one) & set(other)) / len(both) if both else 1.0


def as_figure(trial: PastTrial, features: Sequence[str], target: str) -> Figure | None:
    """The trial as a measurement; None where nothing was timed."""
    if trial.speedup is None or trial.speedup <= 0:
        return None
    alike = similarity(trial.features, features)
    mid = math.log(trial.speedup)
    low, high = (math.log(edge) if edge else mid for edge in (trial.low, trial.high))
    if trial.architecture == target:
        return Figure(min(low, mid), mid, max(high, mid), alike, TRUST_MEASURED)
    mid *= SHRINK
    weight = ELSEWHERE * alike
    return Figure(min(low, mid), mid, max(high, mid), weight, TRUST_ELSEWHERE, trial.architecture)


def worth_trying(trials: Sequence[PastTrial], features: Sequence[str], target: str) -> float:
    """The probability, in 0..1, that trying this comes to a measurement at all: 1 where no trial came to nothing.

    No-ops, crashes and wrong results of similar kernels lower it, as if one trial had succeeded before them.
    """
    weights = [
        (similarity(trial.features, features) * (1 if trial.architecture == target else ELSEWHERE), trial)
        for trial in trials
    ]
    done = sum(weight for weight, trial in weights if trial.speedup is not None)
    return (1 + done) / (1 + sum(weight for weight, _ in weights))


def told(trials: Sequence[PastTrial], target: str) -> tuple[str, ...]:
    """Sentences on the trials of one optimization: how many there are on which architecture, and what came of them."""
    here = [trial for trial in trials if trial.architecture == target]
    others = sorted({trial.architecture for trial in trials} - {target})
    only = "" if here else " only"
    return (
        *([f"experience on {target}: {_summary(here)}"] if here else []),
        *(
            f"seen on {name}{only}, weak evidence: {_summary([t for t in trials if t.architecture == name])}"
            for name in others
        ),
    )


def _summary(trials: Sequence[PastTrial]) -> str:
    speedups = [trial.speedup for trial in trials if trial.speedup is not None]
    nothing = len(trials) - len(speedups)
    parts = [f"{len(trials)} trial{'s' if len(trials) > 1 else ''}"]
    parts += [f"median {statistics.median(speedups):.2f}x"] if speedups else []
    parts += [f"{nothing} without a measurement"] if nothing else []
    return ", ".join(parts)
