"""`kdiag profile`: what limits a kernel, and why: from a report, a workload, or a program run under the profiler."""

import json
from pathlib import Path

import click
from click.core import ParameterSource

from kdiag.errors import UsageError
from kdiag.records import Profile

from .files import EXISTING
from .numbers import Number

# Which options mean something for what is profiled; anything else that was given is refused.
EVERYWHERE = {"what", "kernel", "as_json"}
MEANT = {
    "a report": EVERYWHERE | {"launch_index", "workload"},
    "a workload": EVERYWHERE | {"workload", "configuration", "target", "ncu"},
    "a command": EVERYWHERE | {"set_name", "launch_count", "nvtx_include", "save", "timeout"},
}
FLAGS = {"set_name": "--set"}


class WithCommand(click.Command):
    """Keeps what stands behind `--` apart from kdiag's own arguments; click itself would mix them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave the command behind `--` in `ctx.meta`, None without one."""
        ctx.meta["command"] = None
        if "--" in args:
            at = args.index("--")
            args, ctx.meta["command"] = args[:at], tuple(args[at + 1 :])
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line, with the command it may take."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


@click.command("profile", cls=WithCommand)
@click.argument("what", type=EXISTING, required=False)
@click.option("--kernel", metavar="REGEX", help="Only launches whose name or symbol matches.")
@click.option("--launch-index", type=click.IntRange(min=0), help="Only this launch of a report, from 0.")
@click.option("--workload", type=EXISTING, help="How the kernel is run, and what it needs at least.")
@click.option(
    "--configuration",
    type=click.IntRange(min=0),
    help="Which of the workload's configurations, from 0.  [default: 0 on a GPU, all without]",
)
@click.option("--target", metavar="SM", help="Ask the compiler for this architecture, e.g. sm_100; no GPU is used.")
@click.option("--ncu", is_flag=True, help="Count with Nsight Compute, in place of sampling.")
@click.option(
    "--set",
    "set_name",
    type=click.Choice(["minimal", "sections", "full"]),
    default="minimal",
    show_default=True,
    help="How much ncu counts.",
)
@click.option("--launch-count", type=click.IntRange(min=1), help="Launches that ncu profiles at most.  [default: all]")
@click.option(
    "--nvtx-include", multiple=True, metavar="RANGE", help="Only launches in this NVTX range, as ncu writes it."
)
@click.option("--save", type=click.Path(path_type=Path), help="Keep the report that ncu writes in this file.")
@click.option(
    "--timeout", type=Number(min=1), default=600, show_default=True, help="Seconds for the command under ncu."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (schema kdiag.profile/1).")
@click.pass_context
def command(
    ctx: click.Context,
    what: Path | None,
    kernel: str | None,
    launch_index: int | None,
    workload: Path | None,
    configuration: int | None,
    target: str | None,
    ncu: bool,
    set_name: str,
    launch_count: int | None,
    nvtx_include: tuple[str, ...],
    save: Path | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Say what limits a kernel, and why.

    \b
    kdiag profile report.ncu-rep            a report of Nsight Compute, its CSV or its printed tables
    kdiag profile my_workload/              on a GPU: counters sampled while it runs;
                                            without one: what the compiler says
    kdiag profile kernel.py --target sm_100 what the compiler says, for any architecture
                                            (with a workload.py beside it, or --workload)
    kdiag profile -- python script.py       a program under Nsight Compute

    SM, memory and DRAM are percent of their peaks; roof is percent of what the roofline allows. A figure that is not
    known is "-", and causes that need it are not evaluated.
    """
    program: tuple[str, ...] | None = ctx.meta["command"]
    if (what is None) == (program is None):
        raise UsageError("Name one thing to profile: a report, a kernel, a workload, or a command after --.")
    if program is not None:
        _refuse_others(ctx, "a command")
        from kdiag.executors.ncu.command import NcuOptions
        from kdiag.loop.profile_program import ProgramRequest, profile_program

        options = NcuOptions(set_name, kernel, 0, launch_count, nvtx_include, timeout)
        profile = profile_program(ProgramRequest(program, options, save), _say, _show)
    elif what is not None and _is_report(what):
        _refuse_others(ctx, "a report")
        profile = _of_report(what, kernel, launch_index, workload)
    else:
        assert what is not None
        _refuse_others(ctx, "a workload")
        from kdiag.loop.profile_workload import WorkloadRequest, profile_workload

        profile = profile_workload(WorkloadRequest(what, workload, kernel, configuration, target, ncu), _say)
    _print(profile, as_json)


def _refuse_others(ctx: click.Context, kind: str) -> None:
    """Raise UsageError for an option that was given and means nothing for what is profiled."""
    given = [name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    wrong = [FLAGS.get(name, "--" + name.replace("_", "-")) for name in given if name not in MEANT[kind]]
    if wrong:
        raise UsageError(f"{', '.join(wrong)} does nothing for {kind}; leave it out.")


def _is_report(what: Path) -> bool:
    """Python files, folders and kdiag.toml are kernels and workloads; everything else is read as a report."""
    return not what.is_dir() and what.suffix not in {".py", ".toml"}


def _of_report(path: Path, kernel: str | None, launch_index: int | None, workload: Path | None) -> Profile:
    if workload is not None:
        from kdiag.loop.profile_report_with import profile_report_with

        return profile_report_with(path, workload, kernel, launch_index)
    from kdiag.diagnose.profile import profile_report

    return profile_report(path, kernel, launch_index)


def _print(profile: Profile, as_json: bool) -> None:
    """Each reporter is loaded only when it is used: rich takes longer to load than a report."""
    if as_json:
        from kdiag.reporters import json_profile

        click.echo(json.dumps(json_profile.to_json(profile), indent=2))
        return
    from kdiag.reporters import terminal_profile

    terminal_profile.render(profile)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _show(text: str) -> None:
    click.echo(text, nl=False, err=True)
