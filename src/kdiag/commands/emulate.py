"""`kdiag emulate`: a kernel on the CPU, checked against its reference and for what a GPU would let pass."""

import json
from pathlib import Path

import click
from click.core import ParameterSource

from kdiag.errors import FAILURE, ToolMissing, UsageError

from .files import EXISTING
from .numbers import Number
from .options import TARGET


@click.command("emulate")
@click.argument("what", type=EXISTING)
@click.option("--workload", type=EXISTING, help="How the kernel file is run and checked.")
@click.option(
    "--configuration",
    type=click.IntRange(min=0),
    help="Which of configs(), from 0.  [default: the edge_configs() of the workload, else all]",
)
@click.option("--all", "every", is_flag=True, help="All of configs() and edge_configs().")
@TARGET
@click.option("--shuffle", is_flag=True, help="Run the blocks in a random order.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of that order.")
@click.option("--one-by-one", is_flag=True, help="Run one block after the other: slow, the same result.")
@click.option("--timeout", type=Number(min=1), default=600, show_default=True, help="Seconds for everything.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (schema kdiag.emulate/1).")
@click.pass_context
def command(
    ctx: click.Context,
    what: Path,
    workload: Path | None,
    configuration: int | None,
    every: bool,
    target: str,
    shuffle: bool,
    seed: int,
    one_by_one: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Run a kernel on the CPU and say what it does that a GPU lets pass.

    \b
    kdiag emulate my_workload/            the workload's edge configurations
    kdiag emulate kernel.py --shuffle     with the blocks in a random order (a workload.py lies beside it)

    Out-of-bounds accesses, reads of what was never written, undetermined padding that reaches an output, races between
    blocks, index overflow and broken rules of cuTile are told with line, block and element. The exit code is 1 if
    there is a fault or a result is wrong.
    """
    from kdiag.executors.bench import Source
    from kdiag.executors.emulator.cases import cannot_emulate
    from kdiag.executors.emulator.workload_run import EmulationRequest, emulate_workload
    from kdiag.loop.kernel_evidence import python_workload

    if missing := cannot_emulate():
        raise ToolMissing(f"Nothing can be emulated here: {missing}.")
    if not shuffle and ctx.get_parameter_source("seed") is ParameterSource.COMMANDLINE:
        raise UsageError("--seed is of the order that --shuffle makes; add --shuffle, or leave it out.")
    if every and configuration is not None:
        raise UsageError("--all and --configuration exclude each other; leave one out.")
    described = python_workload(what, workload)
    order = seed if shuffle else None
    request = EmulationRequest(
        described, Source.of(described.kernel_file), target, configuration, every, order, not one_by_one
    )
    found = emulate_workload(request, timeout_s=timeout)
    if as_json:
        from kdiag.reporters import json_emulate

        click.echo(json.dumps(json_emulate.to_json(str(described.kernel_file), target, found), indent=2))
    else:
        from kdiag.reporters import terminal_emulate

        terminal_emulate.render(found)
    if not all(one.passed for one in found):
        ctx.exit(FAILURE)
