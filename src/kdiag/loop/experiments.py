"""The log of rounds that document 2 calls `experiments/README.md`: one section a run, below what the project has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kdiag.executors.decide import Progress, attempts, round_status
from kdiag.loop.attempt import Arena
from kdiag.loop.target import Goal
from kdiag.records import Iteration
from kdiag.reporters.markdown import Round, experiments_log, final_line, with_section, write_atomically
from kdiag.rules import load_playbook


def log_of(
    arena: Arena, iterations: Sequence[Iteration], goal: Goal | None, before: Mapping[str, float], ending: str
) -> str:
    """The section of a run; `before` is the unedited kernel's time in ms by configuration.

    Without a known amount of work the metric is not measured and the log says so.
    """
    rounds = [_round(row, goal, before) for row in iterations if row.verdict != "ready"]
    kept = [each.metric for each in rounds if each.iteration.verdict == "keep" and each.metric is not None]
    best = kept[-1] if kept else None
    unit = goal.unit if goal else ""
    share = 100 * best / goal.peak if goal and goal.peak and best is not None else None
    wanted = goal.wanted if goal else None
    met = best is not None and wanted is not None and best >= wanted
    final = final_line(best, unit, share, len(attempts(iterations)), "target met" if met else ending)
    gpu = arena.bench.gpu() if arena.bench else None
    return experiments_log(arena.kernel, gpu.name if gpu else "no GPU", unit, rounds, final)


def write_log(path: Path, earlier: Path, section: str, branch: str) -> None:
    """Put the section of a run, named by its branch, into the log at `path`, which begins as `earlier` stands."""
    known = next((file.read_text() for file in (path, earlier) if file.is_file()), "")
    write_atomically(path, with_section(known, section, branch))


def _round(row: Iteration, goal: Goal | None, before: Mapping[str, float]) -> Round:
    optimization = load_playbook.load().get(row.optimization)
    metric = goal.rate_of(row, before) if goal else None
    progress = Progress(1, 0.0, metric=metric, target=goal.wanted if goal else None)
    met = row.verdict == "keep" and round_status(row, progress, last=False) == "TARGET_MET"
    return Round(row, optimization.tier if optimization else None, metric, met)
