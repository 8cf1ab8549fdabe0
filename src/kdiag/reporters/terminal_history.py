"""The trials of earlier runs for the terminal: the latest as a table, then all of them by what they were for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from kdiag.records import PastTrial, TrialGroup
from kdiag.reporters.stdout import stdout_console

MOST_SHOWN = 40


def render(trials: Sequence[PastTrial], groups: Sequence[TrialGroup]) -> None:
    """Print both tables to stdout, or that there is nothing."""
    console = stdout_console()
    if not trials:
        console.print("There is no such trial; `kdiag auto` keeps one for every candidate that it tries.")
        return
    console.print(_trials(trials[:MOST_SHOWN]))
    if len(trials) > MOST_SHOWN:
        console.print(
            Text(f"{len(trials) - MOST_SHOWN} earlier trials are left out; --export has all.", "dim")
        )
    console.print(_groups(groups))


def _trials(trials: Sequence[PastTrial]) -> Table:
    table = _table("time", "kernel", "edit", "leading cause", "GPU", "verdict", right=("speed-up",))
    for trial in trials:
        table.add_row(
            trial.time[:16].replace("T", " "),
            trial.kernel,
            f"{trial.optimization} {trial.variant}".strip(),
            trial.cause or "-",
            trial.architecture,
            trial.verdict,
            "-" if trial.speedup is None else f"{trial.speedup:.3f}",
        )
    return table


def _groups(groups: Sequence[TrialGroup]) -> Table:
    table = _table("optimization", "leading cause", "GPU", right=("trials", "median speed-up", "kept"))
    for group in groups:
        table.add_row(
            group.optimization,
            group.cause or "-",
            group.architecture,
            str(group.trials),
            "-" if group.median_speedup is None else f"{group.median_speedup:.3f}",
            f"{group.kept_share:.0%}",
        )
    return table


def _table(*left: str, right: Sequence[str]) -> Table:
    table = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for title in left:
        table.add_column(title, overflow="fold")
    for title in right:
        table.add_column(title, justify="right", no_wrap=True)
    return table
