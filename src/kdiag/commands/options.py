"""Options that several commands take."""

from pathlib import Path

import click

from kdiag.loop.compiler import TARGETS

KERNEL = click.option("--kernel", help="The @ct.kernel function, if the file has several.")
WORKLOAD = click.option(
    "--workload", type=click.Path(path_type=Path), help="Workload file; found beside the kernel file otherwise."
)
TARGET = click.option(
    "--target",
    type=click.Choice(TARGETS),
    metavar="SM",
    default="sm_90",
    show_default=True,
    help="Architecture that the kernel is for.",
)
