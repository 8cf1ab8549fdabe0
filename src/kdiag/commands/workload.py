"""`kdiag workload`: a draft of the file that says how to run and check a kernel."""

from pathlib import Path

import click

from kdiag.errors import UsageError
from kdiag.loop.workload_draft import draft


@click.command("workload")
@click.argument("kernel_file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--kernel", help="The @ct.kernel function, if the file has several.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this new file.")
def command(kernel_file: Path, kernel: str | None, output: Path | None) -> None:
    """Draft a workload for KERNEL_FILE from its launch wrapper; two functions are left for you to write."""
    text = draft(kernel_file, kernel, output.parent if output else kernel_file.parent)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with output.open("x") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{output} exists already; name a new file with -o.") from None
    click.echo(f"{output}: write configs() and reference(), then: kdiag auto {output}", err=True)
