"""How far a run has come, and whether it goes on: the time, what could still be gained, and the target."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from kdiag.executors.bench import Baseline
from kdiag.executors.decide import speedup_so_far
from kdiag.executors.stopping import Progress, round_status, stop_reason
from kdiag.records import ConfigurationTiming, Iteration
from kdiag.rules.load_policies import Policy

from . import headroom
from .target import Goal


@dataclass
class Reached:
    """The unedited kernel's figures beside those of the best version; all are unknown where nothing is measured.

    `now_ms` is the best version's time by configuration.
    """

    policy: Policy
    baseline: Baseline | None = None
    now_ms: dict[str, float] = field(default_factory=dict)
    goal: Goal | None = None
    started: float = field(default_factory=time.monotonic)

    def begin(self, baseline: Baseline, goal: Goal | None, iterations: Sequence[Iteration]) -> None:
        """The unedited kernel was measured; the iterations are those of the run before it was resumed."""
        so_far = speedup_so_far(iterations)
        self.baseline, self.goal = baseline, goal
        self.now_ms = {name: ms / so_far.get(name, 1.0) for name, ms in headroom.times(baseline).items()}

    def keep(self, timings: tuple[ConfigurationTiming, ...]) -> None:
        self.now_ms |= {timing.configuration: timing.candidate_ms for timing in timings}

    def headroom(self) -> float | None:
        """The speed-up that could still be gained, None if unknown."""
        return None if self.baseline is None else headroom.headroom(self.baseline, self.now_ms)

    def stop(self, iterations: Sequence[Iteration], open_candidates: int) -> str | None:
        return stop_reason(self.policy, iterations, self._progress(open_candidates))

    def round(self, row: Iteration, *, last: bool) -> str | None:
        """Where a run has a target: how the round ended, in the words of the optimization loop."""
        progress = self._progress(1)
        if progress.target is None or progress.metric is None or self.goal is None:
            return None
        word = round_status(row, progress, last=last)
        return f"round {row.n}: {word}, {progress.metric:.4g} of {progress.target:.4g} {self.goal.unit}"

    def _progress(self, open_candidates: int) -> Progress:
        left = self.headroom()
        return Progress(
            open_candidates=open_candidates,
            elapsed_s=time.monotonic() - self.started,
            headroom_pct=None if left is None else (left - 1) * 100,
            metric=self.goal.rate(self.now_ms) if self.goal else None,
            target=self.goal.wanted if self.goal else None,
        )
