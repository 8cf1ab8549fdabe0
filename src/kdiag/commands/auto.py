"""`kdiag auto`: apply, prove, measure, keep or revert, until nothing is left to gain."""

import json
import shlex
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import click
from rich.console import Console

from kdiag.errors import AsksUser, KdiagError, UsageError
from kdiag.loop.auto import Run
from kdiag.loop.compiler import TARGETS
from kdiag.loop.generated_test import checks
from kdiag.loop.request import Request
from kdiag.loop.setup import Plan, begin, offered_tests, prepare
from kdiag.loop.target import METRICS, Target, Vendor
from kdiag.reporters import json_auto
from kdiag.reporters.run_summary import RunHeader, RunSummary
from kdiag.reporters.terminal_auto import Terminal, removal
from kdiag.rules.load_policies import DEFAULT, names
from kdiag.workload import CommandWorkload

from .files import EXISTING, writable
from .numbers import Number
from .options import KERNEL

POSITIVE = Number(min=0, min_open=True)
PERCENT = Number(min=0, min_open=True, max=100)

NO_GPU = "no GPU here: every candidate is edited, compiled and kept as a patch; resume on a GPU machine to measure"


@click.command("auto")
@click.argument("workload", type=EXISTING, required=False)
@click.option("--tilegym", metavar="OPERATOR", help="An operator of the TileGym checkout WORKLOAD or this folder.")
@click.option("--test", metavar="COMMAND", help="A shell line that checks the kernel by its exit code.")
@click.option("--bench", metavar="COMMAND", help="A shell line that prints latencies.")
@KERNEL
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    metavar="SM",
    help="Architecture to compile for where there is no GPU.  [default: sm_90]",
)
@click.option(
    "--policy", type=click.Choice(names()), help=f"When to keep and stop.  [default: {DEFAULT}, or the run's]"
)
@click.option("--target-metric", type=click.Choice(METRICS), help="The rate that --target-value is about.")
@click.option("--target-value", type=POSITIVE, help="Stop at this rate, in GB/s or TFLOP/s, in every configuration.")
@click.option("--target-pct-of-peak", type=PERCENT, help="Stop at this share of the card's peak: 70, or 0.7.")
@click.option("--max-iterations", type=click.IntRange(min=1), help="Rounds at most, no-ops not counted.")
@click.option("--gpu", type=click.Choice(get_args(Vendor)), help="nvidia insists on a GPU.  [default: auto]")
@click.option("--continue-anyway", is_flag=True, help="Go on where the policy asks you, or ends at a small gain.")
@click.option("--exact", is_flag=True, help="Never apply an edit that changes rounding.")
@click.option("--allow-rounding", is_flag=True, help="Apply edits that change rounding without a declared tolerance.")
@click.option("--budget", type=Number(min=0), help="Seconds after which no new iteration begins.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A report in place of a profile taken now.",
)
@click.option("--run-dir", type=click.Path(path_type=Path), help="Where journal, worktree and patches go.")
@click.option("--resume", type=EXISTING, help="The directory of a run to go on with.")
@click.option(
    "--record", type=click.Path(path_type=Path), callback=writable, help="Write every answer of the GPU to this file."
)
@click.option("--replay", type=EXISTING, help="Take the answers from a recording.")
@click.option("--no-experience", is_flag=True, help="Neither use the trials of earlier runs nor keep these.")
@click.option("--gpus", help="Spread the configurations over these GPUs: 0,1 or all.  [default: the current one]")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def command(*, yes: bool, as_json: bool, **options: Any) -> None:
    """Optimize the kernel of WORKLOAD: a workload .py, a kdiag.toml, the folder with one, or a kernel file.

    Works in a git worktree on a branch of its own. Your checkout is not touched, and at any stop the branch holds the
    best version that was verified. --resume needs nothing else: the journal of the run knows the rest.
    """
    goal = Target(**{entry.name: options.pop(entry.name) for entry in fields(Target)})
    request = Request(goal=goal, **options)
    plan = prepare(request)
    if not (yes or sys.stdin.isatty()):
        raise UsageError("kdiag auto asks once before it starts; say --yes where nobody can answer.")
    terminal = Terminal()
    with offered_tests(plan) as tests:
        if not yes:
            _confirm(plan, tests)
        run, header = _begin(plan, terminal)
    if tests is not None:
        taken = "; --yes took it as confirmed" if yes else ""
        terminal.on_note(f"pytest {tests} repeats the checks of this run on its best version{taken}")
    with run.journal, terminal:
        if request.resume is None:
            terminal.on_start(header)
        if run.arena.bench is None:
            terminal.on_note(NO_GPU)
        try:
            reason = _execute(run, terminal, header)
        except AsksUser as question:
            if as_json:
                _print(_summary(run, header, question.question))
            raise
    summary = _summary(run, header, reason)
    if as_json:
        _print(summary)
    else:
        terminal.summary(summary)


def _begin(plan: Plan, terminal: Terminal) -> tuple[Run, RunHeader]:
    try:
        return begin(plan, terminal)
    except KeyboardInterrupt:
        if (plan.run_dir / "journal.jsonl").exists():
            terminal.on_note(f"to go on: {_resumption(plan.run_dir, plan.request)}")
        raise


def _print(summary: RunSummary) -> None:
    click.echo(json.dumps(json_auto.to_json(summary), indent=2))


def _execute(run: Run, terminal: Terminal, header: RunHeader) -> str:
    try:
        return run.execute()
    except KeyboardInterrupt:
        run.interrupt()
        again = _resumption(run.journal.path.parent, run.request)
        terminal.on_note(f"{header.branch} holds the best version; to go on: {again}")
        raise
    except (KdiagError, OSError) as error:
        run.leave_best()
        if not isinstance(error, AsksUser):
            terminal.on_note(f"{header.branch} stays; to remove its worktree: {removal(header)}")
        raise


def _confirm(plan: Plan, tests: Path | None) -> None:
    """Show what is to be run, and ask. `tests` were written for this run. Raises click.Abort at no."""
    console = Console(stderr=True, markup=False, emoji=False)

    def say(name: str, text: str) -> None:
        console.print(f"{name:<9} {text}", soft_wrap=True)

    say("kernel", f"{plan.kernel} in {plan.workload.kernel_file}")
    say("machine", f"{plan.gpu.name if plan.gpu else 'no GPU (compile only)'}, target {plan.target}")
    say("policy", f"{plan.policy.name}: {plan.policy.title}")
    if isinstance(plan.workload, CommandWorkload):
        say("tests", shlex.join(plan.workload.test))
        say("benchmark", shlex.join(plan.workload.bench))
    elif plan.tests is None:
        say(
            "tests",
            "none found in the repository" + (f"; read what was written for this run: {tests}" if tests else ""),
        )
        say("checks", checks(plan.workload))
    rounding = {"yes": "may change within the tolerance", "ask": "unchanged (see --allow-rounding)", "no": "unchanged"}
    say("rounding", rounding[plan.rounding])
    click.confirm("Start?", default=True, abort=True, err=True)


def _summary(run: Run, header: RunHeader, reason: str) -> RunSummary:
    files = {"journal": str(run.journal.path)}
    if run.files.results.is_file() and run.arena.bench is not None:
        files |= {"results": str(run.files.results), "log": str(run.files.log)}
    hint = ""
    if run.files.patches.is_dir() and run.arena.bench is None:
        files["patches"] = str(run.files.patches)
        hint = f"With a GPU: {_resumption(run.journal.path.parent, run.request)}"
    tree = run.strategy.tree
    outline = tree.outline() if tree.leaves else ""  # a run that is over when it is resumed plans no more
    return RunSummary(header, tuple(run.iterations), reason, files, hint, run.final, outline)


def _resumption(run_dir: Path, request: Request) -> str:
    replay = f" --replay {shlex.quote(str(request.replay.resolve()))}" if request.replay else ""
    return f"kdiag auto --resume {shlex.quote(str(run_dir))}{replay} --yes"
