"""`kdiag history`: what earlier runs tried, and what came of it."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from kdiag.errors import KdiagError
from kdiag.planner.experience import COLUMNS, Experience, database
from kdiag.reporters import history
from kdiag.reporters.markdown import write_atomically

from .files import writable


@click.command("history")
@click.option("--kernel", help="Only trials of this kernel.")
@click.option("--optimization", help="Only trials of this optimization, e.g. H.")
@click.option("--gpu", metavar="SM", help="Only trials on this architecture, e.g. sm_90.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (schema kdiag.history/1).")
@click.option("--export", type=click.Path(path_type=Path), callback=writable, help="Write a CSV file.")
def command(kernel: str | None, optimization: str | None, gpu: str | None, as_json: bool, export: Path | None) -> None:
    """List the trials of earlier runs, the latest first, then what each optimization did for each cause.

    `kdiag auto` keeps a trial for every candidate on which it has decided, not for one that waits for a GPU, nor in a replay; `kdiag plan`
    and `kdiag auto` learn from them.
    """
    wanted = {"kernel": kernel, "optimization": optimization, "architecture": gpu}
    trials = tuple(
        trial
        for trial in Experience(database(), _refuse).all()
        if all(value in (None, getattr(trial, name)) for name, value in wanted.items())
    )
    if export is not None:
        import pandas as pd

        rows = [
            {**asdict(trial), "features": " ".join(trial.features), "effect": json.dumps(asdict(trial.effect))}
            for trial in trials
        ]
        write_atomically(export, pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False))
    if as_json:
        click.echo(json.dumps(history.to_json(trials), indent=2))
    else:
        history.render(trials)


def _refuse(reason: str) -> None:
    raise KdiagError(reason)
