"""The `kdiag` command: finds the verb's module, runs it, and turns failures into exit codes."""

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from . import __version__, interrupts
from .errors import BUG, INTERRUPTED, UNREAD, USAGE, KdiagError

VERBS = {
    "profile": "Say what limits a kernel, and why: from a report, a workload, or a program.",
    "plan": "Rank the optimizations for a kernel, with evidence and diffs.",
    "apply": "Show one edit of a kernel as a diff, or write it into the file.",
    "verify": "Say whether two versions of a kernel compute the same, gate by gate.",
    "emulate": "Run a kernel on the CPU: is it right, and what does it do that a GPU lets pass?",
    "explain": "Print the reference page of an optimization, a cause or a concept.",
    "doctor": "Say what this machine has for kdiag, and what each missing thing costs.",
    "auto": "Apply optimizations one at a time; keep what is correct and faster.",
    "history": "List what earlier runs tried, and what came of it.",
    "rules": "Check the rules, or draw them as a graph.",
}


class Verbs(click.Group):
    """Imports `kdiag.commands.<verb>` only when that verb is used, so that help and profile start at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order in which they are used."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's click command, or None for an unknown verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"kdiag.commands.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        with _quiet_if_unread():
            return super().invoke(ctx)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the command line, which may be all: `--help`."""
        with _quiet_if_unread():
            return super().make_context(*args, **extra)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing their modules."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@contextlib.contextmanager
def _quiet_if_unread() -> Iterator[None]:
    """Click ends the line on stderr at an interrupt, which is none if nobody reads the output."""
    try:
        yield
    except KeyboardInterrupt:
        if interrupts.output_is_unread():
            raise click.Abort from None
        raise


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="kdiag %(version)s")
def cli() -> None:
    """Say what limits a cuTile kernel and why, rank what helps, and apply it with proof.

    Exit codes: 0 ok, 1 failure, 2 usage, 3 stopped to ask you, 70 bug, 130 interrupted,
    141 nobody reads the output.
    """


def main() -> int:
    """Run the command line; every failure leaves through here with one sentence and its exit code."""
    _usable_streams()
    interrupts.listen()
    return run(sys.argv[1:])


def _usable_streams() -> None:
    """Standard streams that exist, even where the caller closed them, and that can print any path."""
    for descriptor, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
            setattr(sys, name, os.fdopen(descriptor, "r" if descriptor == 0 else "w"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        result = cli.main(arguments, prog_name="kdiag", standalone_mode=False)
        interrupts.check()
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _interrupted()
    except Exception as error:  # noqa: BLE001 - the one place: a bug becomes a log file and exit code 70
        told = getattr(error, "exit_code", None) == INTERRUPTED
        return _interrupted() if interrupts.received and not told else _failed(error)  # of what is half imported
    finally:
        interrupts.received.clear()
    return result if isinstance(result, int) else 0


def _interrupted() -> int:
    if interrupts.output_is_unread():
        return UNREAD
    click.echo("kdiag: interrupted", err=True)
    return INTERRUPTED


def _failed(error: Exception) -> int:
    """Say what failed; its exit code."""
    if isinstance(error, click.ClickException):
        error.show()
        return USAGE
    if isinstance(error, OSError):  # a path that is too long, a folder that may not be read, a disk that is full
        where = f"{error.filename}: " if error.filename else ""
        error = KdiagError(f"{where}{error.strerror or error}")
    if not isinstance(error, KdiagError):
        return _report_bug(error)
    click.echo(f"kdiag: {error}", err=True)
    return error.exit_code


def _report_bug(error: Exception) -> int:
    import tempfile  # two modules that only a bug needs; a report is read in a quarter of a second
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="kdiag-bug-", suffix=".log", delete=False) as log:
        log.write(f"kdiag {__version__}, Python {sys.version}\narguments: {sys.argv[1:]}\n\n")
        traceback.print_exception(error, file=log)
    click.echo(f"kdiag: this is a bug in kdiag ({type(error).__name__}); please report it with {log.name}", err=True)
    return BUG
