"""`kdiag auto`: apply, prove, measure, keep or revert, until nothing is left to gain."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from kdiag.errors import KdiagError, UsageError
from kdiag.loop.auto import Run
from kdiag.loop.compiler import TARGETS
from kdiag.loop.setup import Plan, Request, begin, prepare
from kdiag.reporters import json_auto
from kdiag.reporters.run_summary import RunHeader, RunSummary
from kdiag.reporters.terminal_auto import Terminal
from kdiag.rules.load_policies import DEFAULT, load, names

NO_GPU = (
    "no GPU here: every candidate is edited, compiled and kept as a patch; resume on a GPU machine to measure"
)


@click.command("auto")
@click.argument("workload", type=click.Path(path_type=Path))
@click.option("--kernel", help="The @ct.kernel function, if the file has several.")
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    metavar="SM",
    help="Architecture to compile for where there is no GPU.  [default: sm_90]",
)
@click.option(
    "--policy", type=click.Choice(names()), default=DEFAULT, show_default=True, help="When to keep and stop."
)
@click.option("--exact", is_flag=True, help="Never apply an edit that changes rounding.")
@click.option(
    "--allow-rounding", is_flag=True, help="Apply edits that change rounding without a declared tolerance."
)
@click.option("--budget", type=click.FloatRange(min=0), help="Seconds after which no new iteration begins.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A report in place of a profile taken now.",
)
@click.option("--run-dir", type=click.Path(path_type=Path), help="Where journal, worktree and patches go.")
@click.option("--resume", type=click.Path(path_type=Path), help="The directory of a run to go on with.")
@click.option("--record", type=click.Path(path_type=Path), help="Write every answer of the GPU to this file.")
@click.option(
    "--replay", type=click.Path(path_type=Path, exists=True), help="Take the answers from a recording."
)
@click.option("--no-experience", is_flag=True, help="Neither use the trials of earlier runs nor keep these.")
@click.option(
    "--gpus", help="Spread the configurations over these GPUs: 0,1 or all.  [default: the current one]"
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    workload: Path,
    kernel: str | None,
    target: str | None,
    policy: str,
    exact: bool,
    allow_rounding: bool,
    budget: float | None,
    report: Path | None,
    run_dir: Path | None,
    resume: Path | None,
    record: Path | None,
    replay: Path | None,
    no_experience: bool,
    gpus: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Optimize the kernel of WORKLOAD (a workload .py, a kdiag.toml, or the folder with one).

    Works in a git worktree on a branch of its own. Your checkout is not touched, and at any stop the branch holds the
    best version that was verified.
    """
    chosen = load(policy)
    request = Request(
        workload=workload,
        kernel=kernel,
        target=target,
        policy=chosen if budget is None else replace(chosen, budget_s=budget),
        exact=exact,
        allow_rounding=allow_rounding,
        report=report,
        run_dir=run_dir,
        resume=resume,
        record=record,
        replay=replay,
        experience=not no_experience,
        gpus=gpus,
    )
    plan = prepare(request)
    if not yes:
        _confirm(plan)
    terminal = Terminal()
    run, header = begin(plan, terminal)
    with run.journal, terminal:
        if resume is None:
            terminal.on_start(header)
        if run.arena.bench is None:
            terminal.on_note(NO_GPU)
        reason = _execute(run)
    summary = _summary(run, header, workload, reason)
    if as_json:
        click.echo(json.dumps(json_auto.to_json(summary), indent=2))
    else:
        terminal.summary(summary)


def _execute(run: Run) -> str:
    try:
        return run.execute()
    except KeyboardInterrupt:
        run.interrupt()
        raise
    except (KdiagError, OSError):
        run.leave_best()
        raise


def _confirm(plan: Plan) -> None:
    gpu = plan.gpu.name if plan.gpu else "no GPU (compile only)"
    console = Console(stderr=True)
    console.print(f"kernel    {plan.kernel} in {plan.workload.kernel_file}", soft_wrap=True)
    console.print(f"machine   {gpu}, target {plan.target}", soft_wrap=True)
    console.print(f"policy    {plan.request.policy.name}: {plan.request.policy.title}", soft_wrap=True)
    rounding = {
        "yes": "may change within the tolerance",
        "ask": "unchanged (see --allow-rounding)",
        "no": "unchanged",
    }
    console.print(f"rounding  {rounding[plan.rounding]}", soft_wrap=True)
    if not sys.stdin.isatty():
        raise UsageError("kdiag auto asks once before it starts; say --yes where nobody can answer.")
    click.confirm("Start?", default=True, abort=True, err=True)


def _summary(run: Run, header: RunHeader, workload: Path, reason: str) -> RunSummary:
    files = {"journal": str(run.journal.path)}
    if run.results_file.is_file() and run.arena.bench is not None:
        files["results"] = str(run.results_file)
    hint = ""
    if run.patches.is_dir():
        files["patches"] = str(run.patches)
        hint = f"With a GPU: kdiag auto {workload} --kernel {header.kernel} --resume {run.journal.path.parent} --yes"
    return RunSummary(
        header, tuple(run.iterations), reason, files, hint, run.final, run.strategy.tree.outline()
    )
