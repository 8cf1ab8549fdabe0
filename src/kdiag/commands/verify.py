"""`kdiag verify`: two versions of a kernel through the gates."""

import json
from pathlib import Path

import click

from kdiag.errors import FAILURE, UsageError, WorkloadError
from kdiag.loop.findings import choose_kernel
from kdiag.loop.verifying import VerifyRequest, verify
from kdiag.records import failed
from kdiag.reporters import json_verify, terminal_verify
from kdiag.workload import CommandWorkload, Workload, of_kernel_file, read, read_source

from .options import KERNEL, TARGET, WORKLOAD


@click.command("verify")
@click.argument("before", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("after", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@WORKLOAD
@KERNEL
@TARGET
@click.option("--edit", metavar="H[:VARIANT]", help="The edit that made AFTER: its lines, promises and safety hold.")
@click.option("--exact", is_flag=True, help="Not a bit of the result may change.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (schema kdiag.verify/1).")
def command(
    before: Path,
    after: Path,
    workload: Path | None,
    kernel: str | None,
    target: str,
    edit: str | None,
    exact: bool,
    as_json: bool,
) -> None:
    """Say whether AFTER still computes what BEFORE does: two versions of one kernel file, however AFTER was made.

    \b
    kdiag verify softmax.py mine.py                       a workload.py lies beside softmax.py
    kdiag verify softmax.py mine.py --edit H:exp2 --json  held against what H promises

    The gates are those of `kdiag auto`: scope, compile, no-op, effect, emulation on the CPU and, where there is a GPU,
    correctness on it; the first that fails is the last. The exit code is 1 if one failed, or if there is a GPU
    and the check on it could not run. A gate that could not run has proved nothing, and is named.
    """
    described = _workload(before, after, workload)
    texts = read_source(before), read_source(after)
    name = choose_kernel(texts[0], str(before), kernel)
    request = VerifyRequest(*texts, described, name, target, after.name, edit, exact)
    verified = verify(request, lambda note: click.echo(f"note: {note}", err=True))
    records = verified.records
    if as_json:
        found = json_verify.to_json(request.kernel, target, (before, after), records, unable=verified.unable)
        click.echo(json.dumps(found, indent=2))
    else:
        terminal_verify.render(request.kernel, target, records)
    if failed(records) is not None or verified.unable:
        click.get_current_context().exit(FAILURE)


def _workload(before: Path, after: Path, named: Path | None) -> Workload:
    """The workload that is named, else one beside either file. Raises WorkloadError, UsageError for one of commands."""
    found = read(named) if named is not None else of_kernel_file(before, None) or of_kernel_file(after, None)
    if found is None:
        raise WorkloadError(
            f"Neither {before} nor {after} has a workload beside it; name one with --workload (docs/workload.md)."
        )
    if isinstance(found, CommandWorkload):
        raise UsageError(f"{found.path} has commands only; verify needs a Python workload (docs/workload.md).")
    return found
