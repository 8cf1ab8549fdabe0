"""`kdiag doctor`: what this machine has for kdiag, and what each missing thing costs."""

import json

import click

from kdiag.diagnose.environment import examine
from kdiag.errors import ToolMissing
from kdiag.executors.ncu.command import find_ncu


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (schema kdiag.doctor/1).")
def command(as_json: bool) -> None:
    """Look at this machine: cards, driver, permission for GPU counters, compiler, profiler and packages.

    Nothing of it is needed to read a report but kdiag's own packages; the exit code is 1 only when one of those is
    missing. For everything else it says what cannot be done without it.
    """
    environment = examine(find_ncu())
    missing = [tool.name for tool in environment.tools if tool.required and not tool.usable]
    if as_json:
        from kdiag.reporters import json_doctor  # each reporter is loaded only when it is used

        click.echo(json.dumps(json_doctor.to_json(environment), indent=2))
    elif "rich" not in missing:
        from kdiag.reporters import terminal_doctor

        terminal_doctor.render(environment)
    if missing:
        raise ToolMissing(f"kdiag cannot work without {', '.join(missing)}: pip install {' '.join(missing)}.")
