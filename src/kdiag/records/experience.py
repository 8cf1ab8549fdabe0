"""What became of an edit in an earlier run."""

from dataclasses import dataclass, field

from .plan import Effect
from .run import VerdictName


@dataclass(frozen=True)
class PastTrial:
    """One candidate that a run tried. `features` are words for its kernel in order, `cause` is the leading one or "".

    `speedup` is the geometric mean over the `configurations` of parent over candidate, None where nothing was timed;
    `low`..`high` spans their 95 % intervals. `effect` is what the edit did to the code.
    """

    time: str  # ISO 8601
    version: str
    kernel: str
    parent_hash: str
    candidate_hash: str
    features: tuple[str, ...]
    cause: str
    bottleneck: str
    architecture: str  # e.g. sm_90
    toolchain: str
    optimization: str
    variant: str
    verdict: VerdictName
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    configurations: int = 0
    effect: Effect = field(default_factory=Effect)
