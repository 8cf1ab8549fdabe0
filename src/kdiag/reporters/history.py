"""The trials of earlier runs, as tables and as the JSON object `kdiag.history/1`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.box import SIMPLE_HEAD
from rich.table import Table

from kdiag.records import PastTrial

from .stdout import stdout_console

MOST_SHOWN = 40
TRIAL = ("time", "kernel", "edit", "cause", "architecture", "verdict", "speedup")
GROUP = ("optimization", "cause", "architecture")


def groups(trials: Sequence[PastTrial]) -> list[dict[str, object]]:
    """Trials by optimization, leading cause and architecture: their number, the median of those that were timed (None
    without any), and the share that was kept, 0..1.
    """
    import pandas as pd

    by = pd.DataFrame([asdict(trial) for trial in trials]).groupby(list(GROUP))
    found = by.agg(
        trials=("verdict", "size"),
        median_speedup=("speedup", "median"),
        kept_share=("verdict", lambda verdicts: (verdicts == "keep").mean()),
    )
    rows = found.reset_index().astype(object)
    return [{str(k): None if pd.isna(v) else v for k, v in row.items()} for row in rows.to_dict("records")]


def to_json(trials: Sequence[PastTrial]) -> dict[str, object]:
    """The trials, latest first, and their groups; a number that was not measured is None."""
    grouped = groups(trials) if trials else []
    return {"schema": "kdiag.history/1", "trials": [asdict(trial) for trial in trials], "groups": grouped}


def render(trials: Sequence[PastTrial]) -> None:
    """Print the latest trials and all groups."""
    console = stdout_console()
    if not trials:
        console.print("There is no such trial; `kdiag auto` keeps one for every candidate on which it has decided.")
        console.print("Candidates that wait for a GPU are none: nothing was measured (kdiag auto --resume RUN_DIR).")
        return
    shown = [{**asdict(t), "time": t.time[:16], "edit": f"{t.optimization} {t.variant}"} for t in trials]
    console.print(_table(TRIAL, shown[:MOST_SHOWN]))
    if len(trials) > MOST_SHOWN:
        console.print(f"{len(trials) - MOST_SHOWN} earlier ones are left out; --export and --json have all.")
    console.print(_table((*GROUP, "trials", "median_speedup", "kept_share"), groups(trials)))
    if any(trial.speedup is None for trial in trials):
        console.print("- is not timed: the candidate was wrong, did not run, or compiled to the same machine code.")


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> Table:
    table = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name.split("_")[0], overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in columns))
    return table


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else str(value)
