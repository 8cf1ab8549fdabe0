"""The trials of earlier runs, as tables and as the JSON object `kdiag.history/1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from rich.box import SIMPLE_HEAD
from rich.table import Table

from kdiag.records import PastTrial
from kdiag.reporters.stdout import stdout_console

MOST_SHOWN = 40


@dataclass(frozen=True)
class Group:
    """Trials of one optimization for one leading cause on one architecture; `kept_share` of `trials` is 0..1."""

    optimization: str
    cause: str
    architecture: str
    trials: int
    median_speedup: float | None
    kept_share: float


def groups(trials: Sequence[PastTrial]) -> list[Group]:
    """The trials by optimization, cause and architecture; the median is over those that were timed."""
    found: dict[tuple[str, str, str], list[PastTrial]] = {}
    for trial in trials:
        found.setdefault((trial.optimization, trial.cause, trial.architecture), []).append(trial)
    made = []
    for key, mine in sorted(found.items()):
        speedups = [trial.speedup for trial in mine if trial.speedup is not None]
        kept = sum(trial.verdict == "keep" for trial in mine) / len(mine)
        made.append(Group(*key, len(mine), median(speedups) if speedups else None, kept))
    return made


def to_json(trials: Sequence[PastTrial]) -> dict[str, object]:
    """The trials, latest first, and their groups; a number that was not measured is None."""
    listed, grouped = ([asdict(each) for each in some] for some in (trials, groups(trials)))
    return {"schema": "kdiag.history/1", "trials": listed, "groups": grouped}


def render(trials: Sequence[PastTrial]) -> None:
    """Print the latest trials and all groups."""
    console = stdout_console()
    if not trials:
        console.print("There is no such trial; `kdiag auto` keeps one for every candidate that it tries.")
        return
    table = _table("time", "kernel", "edit", "leading cause", "GPU", "verdict", "speed-up")
    for t in trials[:MOST_SHOWN]:
        edit = f"{t.optimization} {t.variant}"
        when = t.time[:16].replace("T", " ")
        table.add_row(when, t.kernel, edit, t.cause, t.architecture, t.verdict, _ratio(t.speedup))
    console.print(table)
    if len(trials) > MOST_SHOWN:
        console.print(f"{len(trials) - MOST_SHOWN} earlier ones are left out; --export and --json have all.")
    table = _table("optimization", "leading cause", "GPU", "trials", "median", "kept")
    for g in groups(trials):
        figures = (str(g.trials), _ratio(g.median_speedup), f"{g.kept_share:.0%}")
        table.add_row(g.optimization, g.cause, g.architecture, *figures)
    console.print(table)


def _ratio(speedup: float | None) -> str:
    return "-" if speedup is None else f"{speedup:.3f}x"


def _table(*titles: str) -> Table:
    table = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    return table
