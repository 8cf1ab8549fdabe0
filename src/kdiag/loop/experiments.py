"""The log of rounds that the optimization loop asks for, `experiments/README.md`: one section a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kdiag.executors import repo
from kdiag.executors.repo import Worktree
from kdiag.executors.stopping import Progress, attempts, round_status
from kdiag.planner.order import tier_of
from kdiag.records import Iteration
from kdiag.reporters.markdown import Round, experiments_log, final_line, with_section, write_atomically

from .attempt import Arena
from .target import Goal

Times = Mapping[str, float]


def log_file(worktree: Worktree) -> Path:
    """A copy of the project's `experiments/README.md` with this run's section, in the sandbox, never part of a commit."""
    return repo.sandbox(worktree) / "experiments" / "README.md"


def write_log(arena: Arena, iterations: Sequence[Iteration], goal: Goal | None, before: Times, ending: str) -> None:
    """Put the section of a run, as it now stands, into its log.

    `before` is the unedited kernel's time in ms by configuration; `ending` says how the run ended, if it did. The
    metric is the time in ms where no goal tells the work.
    """
    path, project = log_file(arena.worktree), arena.worktree.repository / "experiments" / "README.md"
    known = next((file.read_text() for file in (path, project) if file.is_file()), "")
    section = _section(arena, iterations, goal, before, ending)
    write_atomically(path, with_section(known, section, arena.worktree.branch))


def _section(arena: Arena, iterations: Sequence[Iteration], goal: Goal | None, before: Times, ending: str) -> str:
    rounds = [_round(row, goal, before) for row in iterations if row.verdict != "ready"]
    kept = [each.metric for each in rounds if each.iteration.verdict == "keep" and each.metric is not None]
    best = kept[-1] if kept else None
    share = 100 * best / goal.peak if goal and goal.peak and best is not None else None
    met = any(each.target_met for each in rounds)
    unit, count = goal.unit if goal else "ms", len(attempts(iterations))
    final = final_line(best, unit, share, count, "target met" if met else ending)
    gpu = arena.bench.gpu() if arena.bench else None
    return experiments_log(arena.kernel, gpu.name if gpu else "no GPU", unit, rounds, final)


def _round(row: Iteration, goal: Goal | None, before: Times) -> Round:
    metric = goal.rate_of(row, before) if goal else row.latency_ms
    progress = Progress(1, 0.0, metric=metric, target=goal.wanted if goal else None)
    met = row.verdict == "keep" and round_status(row, progress, last=False) == "TARGET_MET"
    return Round(row, tier_of(row), metric, met)
