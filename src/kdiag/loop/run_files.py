"""What a run leaves for people beside its journal: the table of iterations, the log of rounds, and patches."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kdiag.executors import repo
from kdiag.journal import CandidateReady
from kdiag.records import Iteration
from kdiag.reporters.markdown import perf_results, write_atomically

from . import headroom
from .attempt import Arena
from .experiments import log_file, write_log
from .reached import Reached


@dataclass(frozen=True)
class RunFiles:
    """The files of a run; `patches` is the folder of candidates that wait for a GPU, beside the journal."""

    arena: Arena
    patches: Path

    @property
    def results(self) -> Path:
        """`sandbox/perf_results.md` in the worktree, never part of a commit."""
        return repo.sandbox(self.arena.worktree) / "perf_results.md"

    @property
    def log(self) -> Path:
        """The log of rounds, likewise in the sandbox."""
        return log_file(self.arena.worktree)

    def write(self, iterations: Sequence[Iteration], reached: Reached) -> None:
        """Write the table and the log as they now stand."""
        write_atomically(self.results, perf_results(iterations))
        self.write_log(iterations, reached, "in progress")

    def write_log(self, iterations: Sequence[Iteration], reached: Reached, ending: str) -> None:
        """Write the log alone; without a baseline there is nothing to say in it."""
        if reached.baseline is not None:
            write_log(self.arena, iterations, reached.goal, headroom.times(reached.baseline), ending)

    def save_patch(self, row: Iteration) -> CandidateReady:
        """Keep what the worktree holds as the patch of this iteration, and say where."""
        self.patches.mkdir(exist_ok=True)
        path = self.patches / f"{row.n:02d}-{row.optimization}-{row.variant.replace(',', '-')}.patch"
        write_atomically(path, repo.patch(self.arena.worktree))
        return CandidateReady(row.optimization, row.variant, str(path), row.source_hash)
