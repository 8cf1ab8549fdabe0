"""`kdiag history`: what earlier runs tried, and what came of it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from kdiag.errors import KdiagError
from kdiag.planner.experience import Experience, database, groups
from kdiag.reporters.markdown import write_atomically


@click.command("history")
@click.option("--kernel", help="Only trials of this kernel.")
@click.option("--optimization", help="Only trials of this optimization, e.g. H.")
@click.option("--gpu", metavar="SM", help="Only trials on this architecture, e.g. sm_90.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (schema kdiag.history/1).")
@click.option(
    "--export", type=click.Path(path_type=Path, dir_okay=False), help="Write the trials to this CSV file."
)
def command(
    kernel: str | None, optimization: str | None, gpu: str | None, as_json: bool, export: Path | None
) -> None:
    """List the trials of earlier runs, the latest first, then what each optimization did for each cause.

    `kdiag auto` keeps a trial for every candidate it tries; `kdiag plan` and `kdiag auto` learn from them.
    """
    wanted = {"kernel": kernel, "optimization": optimization, "architecture": gpu}
    trials = tuple(
        trial
        for trial in Experience(database(), _refuse).all()
        if all(value is None or getattr(trial, name) == value for name, value in wanted.items())
    )
    if export is not None:
        from kdiag.reporters.csv_history import to_csv  # each reporter is loaded only when it is used

        write_atomically(export, to_csv(trials))
        click.echo(f"note: {export} holds {len(trials)} trials", err=True)
    if as_json:
        from kdiag.reporters import json_history

        click.echo(json.dumps(json_history.to_json(trials, groups(trials)), indent=2))
    elif export is None:
        from kdiag.reporters import terminal_history

        terminal_history.render(trials, groups(trials))


def _refuse(reason: str) -> None:
    raise KdiagError(f"{reason[0].upper()}{reason[1:]}.")
