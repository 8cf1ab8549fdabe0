"""`kdiag profile`: what limits each launch of a profiler report, and why."""

from __future__ import annotations

import json
from pathlib import Path

import click

from kdiag.diagnose.profile import profile_report


@click.command("profile")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--kernel", metavar="REGEX", help="Only launches whose name or symbol matches.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (schema kdiag.profile/1).")
def command(report: Path, kernel: str | None, as_json: bool) -> None:
    """Say what limits each kernel of an Nsight Compute report (.ncu-rep), and why.

    SM, memory and DRAM are percent of their peaks; roof is percent of what the roofline allows, with limits taken from
    the report itself. A figure that the report does not hold is "-", and causes that need it are not evaluated.
    """
    profile = profile_report(report, kernel)
    if as_json:
        from kdiag.reporters import json_profile  # each reporter is loaded only when it is used

        click.echo(json.dumps(json_profile.to_json(profile), indent=2))
        return
    from kdiag.reporters import terminal_profile  # rich takes longer to load than a report

    terminal_profile.render(profile)
