"""`kdiag plan`: which optimization to apply first, why, and as which diff."""

import json
import tempfile
from pathlib import Path

import click
from rich.console import Console

from kdiag import workload as workloads
from kdiag.diagnose.profile_compiled import failure_of
from kdiag.errors import UsageError
from kdiag.journal import read as read_journal
from kdiag.loop.brief import BriefRequest, brief
from kdiag.loop.candidates import PlanRequest, Rounding, permitted, plan
from kdiag.loop.compiler import Compiler
from kdiag.loop.findings import choose_kernel, gather
from kdiag.loop.raced_plan import bench_for, raced
from kdiag.loop.racing import MOST
from kdiag.planner.experience import Experience, database
from kdiag.records import Brief, Compilation, CompileFailure
from kdiag.reporters import json_brief, json_plan, markdown_brief, terminal_plan
from kdiag.reporters.markdown import write_atomically
from kdiag.run_state import state
from kdiag.workload import CommandWorkload, Workload

from .files import EXISTING, writable
from .options import KERNEL, TARGET, WORKLOAD


@click.command("plan")
@click.argument("what", metavar="KERNEL_FILE|WORKLOAD", type=EXISTING)
@KERNEL
@click.option("--report", type=EXISTING, help="An Nsight Compute report (.ncu-rep).")
@WORKLOAD
@TARGET
@click.option("--allow-rounding", is_flag=True, help="Edits that change rounding may be applied.")
@click.option("--exact", is_flag=True, help="Edits that change rounding are out of the question.")
@click.option(
    "--brief",
    "brief_file",
    type=click.Path(path_type=Path),
    callback=writable,
    help="Write all that is known for a person or an agent: Markdown, or JSON for a name that ends in .json.",
)
@click.option(
    "--run",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The directory of an auto run, whose iterations the brief is to tell.",
)
@click.option("--race", is_flag=True, help="Check and time the first eight on this machine's GPU, and rank by that.")
@click.option("--no-experience", is_flag=True, help="Leave the trials of earlier runs out of account.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Every variant, not the best of each optimization.")
def command(
    what: Path,
    kernel: str | None,
    report: Path | None,
    workload: Path | None,
    target: str,
    allow_rounding: bool,
    exact: bool,
    brief_file: Path | None,
    run: Path | None,
    race: bool,
    no_experience: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Rank the optimizations for a kernel: expected gain, evidence, safety, diff.

    With --brief the plan is also written down with everything behind it, for what rules cannot do.
    Without a report the plan rests on what the tile compiler and the source say; without a workload on the source.
    """
    if exact and allow_rounding:
        raise UsageError("--exact and --allow-rounding contradict each other; give one of them.")
    if brief_file is not None and brief_file.suffix in (".py", ".toml"):
        raise UsageError(f"--brief writes text over {brief_file}; name a .md or .json file.")
    if run is not None and brief_file is None:
        raise UsageError("--run is for the brief; add --brief FILE, or leave it out.")
    tried = () if run is None else state(read_journal(run / "journal.jsonl")).iterations
    kernel_file, described = workloads.named(what, workload)
    source = workloads.read_source(kernel_file)
    name = choose_kernel(source, str(kernel_file), kernel)
    declares = isinstance(described, CommandWorkload) or (described is not None and described.declares_tolerance)
    with tempfile.TemporaryDirectory(prefix="kdiag-plan-") as folder:
        compiler = Compiler(described, kernel_file.name, target, Path(folder))
        bench = bench_for(described, target) if race else None
        if (workload is not None or kernel_file != what) and isinstance(described, Workload):
            _require_launches(described, compiler.compile_one(source), target)
        findings = gather(source, name, compiler, report)
        rounding: Rounding = "no" if exact else "yes" if allow_rounding or declares else "ask"
        trials = () if no_experience else Experience(database(), _note).known()
        request = PlanRequest(source, name, findings, rounding, thorough=True, trials=trials, race=MOST if race else 1)
        suggestions = permitted(plan(request, compiler), rounding) if race else plan(request, compiler)
        if bench is not None:
            suggestions = raced(suggestions, source, compiler, bench)
        if brief_file is not None:
            about = BriefRequest(kernel_file, source, name, findings, suggestions, tried)
            _write(brief_file, brief(about, compiler))
    if as_json:
        click.echo(json.dumps(json_plan.to_json(suggestions, name, target), indent=2))
        return
    for note in findings.notes:
        _note(note)
    console = Console()
    terminal_plan.render_diagnosis(findings.diagnosis, console)
    terminal_plan.render(suggestions, name, target, console, verbose=verbose)


def _require_launches(named: Workload, compiled: Compilation, target: str) -> None:
    """Raise WorkloadError if a workload that the user named fails before anything is compiled."""
    if isinstance(compiled, CompileFailure) and compiled.kind == "error" and not compiled.kernel:
        raise failure_of(compiled, named, target)


def _note(text: str) -> None:
    click.echo(f"note: {text}", err=True)


def _write(file: Path, written: Brief) -> None:
    """Write a brief in the form that its file's name asks for."""
    if file.suffix == ".json":
        write_atomically(file, json.dumps(json_brief.to_json(written), indent=2) + "\n")
    else:
        write_atomically(file, markdown_brief.render(written))
    _note(f"{file} holds what is known of {written.kernel}")
