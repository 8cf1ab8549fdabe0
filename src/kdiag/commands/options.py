"""Options that several commands take."""

import click

from kdiag.loop.compiler import TARGETS

from .files import EXISTING

KERNEL = click.option("--kernel", help="The @ct.kernel function, if the file has several.")
WORKLOAD = click.option("--workload", type=EXISTING, help="Workload file; found beside the kernel file otherwise.")
TARGET = click.option(
    "--target",
    type=click.Choice(TARGETS),
    metavar="SM",
    default="sm_90",
    show_default=True,
    help="Architecture that the kernel is for.",
)
