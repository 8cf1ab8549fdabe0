"""`kdiag apply`: one edit of one kernel, as a diff or written into the file."""

import json
import shlex
import tempfile
from dataclasses import replace
from pathlib import Path

import click

from kdiag.errors import FAILURE, KdiagError
from kdiag.executors.edits.registry import EDITS, offers
from kdiag.executors.user_file import replace_text
from kdiag.loop.applying import EditRequest, choose, compiler_says, edit_named, expected, subject
from kdiag.loop.compiler import Compiler
from kdiag.loop.findings import choose_kernel
from kdiag.records import failed
from kdiag.reporters import json_apply, terminal_apply
from kdiag.reporters.edit_report import EditReport
from kdiag.workload import named, read_source

from .files import EXISTING
from .options import KERNEL, TARGET, WORKLOAD


@click.command("apply")
@click.argument("what", metavar="KERNEL_FILE|WORKLOAD", type=EXISTING)
@click.argument("optimization", required=False)
@click.option("--variant", metavar="NAME|K=V,...", help="Which variant.  [default: what the planner expects most of]")
@click.option("--list", "listing", is_flag=True, help="All variants, of OPTIMIZATION or of every edit.")
@KERNEL
@WORKLOAD
@TARGET
@click.option("--write", is_flag=True, help="Write the edited file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (schema kdiag.apply/1).")
def command(
    what: Path,
    optimization: str | None,
    variant: str | None,
    listing: bool,
    kernel: str | None,
    workload: Path | None,
    target: str,
    write: bool,
    as_json: bool,
) -> None:
    """Show what an edit changes in a kernel: the diff, its safety, what the compiler must say of it, and warnings.

    \b
    kdiag apply softmax.py H                     the variant of H that the planner expects most of
    kdiag apply matmul.py G --variant tile_k=32  any setting
    kdiag apply softmax.py --list                what there is for this kernel

    With a workload an edit knows how the kernel is launched, and the compiler is asked whether the edit does what it
    promises. Nothing is run: `kdiag verify` does that. Without --write nothing is changed; the diff is what
    `patch -p1` and `git apply` take. The exit code is 1 if the edit does not apply.
    """
    kernel_file, described = named(what, workload)
    source = read_source(kernel_file)
    name = choose_kernel(source, str(kernel_file), kernel)
    edits = EDITS if optimization is None else (edit_named(optimization),)
    with tempfile.TemporaryDirectory(prefix="kdiag-apply-") as folder:
        compiler = Compiler(described, kernel_file.name, target, Path(folder))
        request = EditRequest(source, name, _file(kernel_file), compiler)
        about, why_no_launches = subject(request)
        if described is not None and why_no_launches:
            click.echo(f"note: nothing is known of the launches: {why_no_launches}", err=True)
        if listing or optimization is None:
            every = {edit.id: (edit.title, offers(edit, about, request.file)) for edit in edits}
            _print_list(request, every, as_json)
            return
        proposal, others = choose(edits[0], request, variant)
        gates = compiler_says(request, proposal)
        (suggestion,) = expected(request, (proposal,))
        report = EditReport(name, target, str(kernel_file), proposal, others, suggestion, gates)
    if write and proposal.source is not None:
        report = _written(report, kernel_file, source)
    if as_json:
        click.echo(json.dumps(json_apply.to_json(report), indent=2))
    else:
        terminal_apply.render(report)
    if proposal.source is None:
        click.get_current_context().exit(FAILURE)


def _file(kernel_file: Path) -> str:
    """What the diff calls the file: its path from here, if it is below."""
    path, here = kernel_file.resolve(), Path.cwd().resolve()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else kernel_file.name


def _written(report: EditReport, kernel_file: Path, source: str) -> EditReport:
    """The report after the file was replaced. Raises KdiagError for what does not compile or cannot be written."""
    refused = failed(report.gates)
    if refused is not None and refused.gate == "compile":
        raise KdiagError(f"The edited kernel does not compile, and was not written: {refused.reason}.")
    assert report.proposal.source is not None
    try:
        kept = replace_text(kernel_file, source, report.proposal.source)
    except OSError as error:
        folder = Path(str(error.filename)).parent
        raise KdiagError(f"{kernel_file} is as it was, for {folder} cannot be written: {error.strerror}.") from None
    return replace(report, undo=shlex.join(["cp", str(kept), str(kernel_file)]))


def _print_list(request: EditRequest, every: json_apply.Offers, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(json_apply.list_to_json(request.kernel, request.compiler.target, every), indent=2))
    else:
        terminal_apply.render_list(request.kernel, request.compiler.target, every)
