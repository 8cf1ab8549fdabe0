"""What became of an edit in an earlier run."""

from __future__ import annotations

from dataclasses import dataclass

from kdiag.records.run import VerdictName


@dataclass(frozen=True)
class PastTrial:
    """One candidate that a run tried. `time` is ISO 8601, `architecture` e.g. sm_90, `features` words in order ("mma").

    `speedup` is the geometric mean over the `configurations` of parent over candidate, None where nothing was timed;
    `low`..`high` spans their 95 % intervals. `cause` is the leading one of the parent, "" where none was found.
    """

    time: str
    version: str
    kernel: str
    parent_hash: str
    candidate_hash: str
    features: tuple[str, ...]
    cause: str
    bottleneck: str
    architecture: str
    toolchain: str
    optimization: str
    variant: str
    verdict: VerdictName
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    configurations: int = 0


@dataclass(frozen=True)
class TrialGroup:
    """What trials of one optimization for one leading cause on one architecture came to.

    `median_speedup` is over those that were timed, None where none was; `kept_share` of all `trials` is 0..1.
    """

    optimization: str
    cause: str
    architecture: str
    trials: int
    median_speedup: float | None
    kept_share: float
