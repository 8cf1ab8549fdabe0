"""An edit for the terminal: what it is, what the compiler says, warnings, and the diff last, so that it can be piped."""

import shlex

import click
from rich.table import Table
from rich.text import Text

from kdiag.records import Proposal

from .edit_report import EditReport
from .json_apply import Offers
from .stdout import stdout_console
from .terminal_plan import DIFF_STYLES
from .terminal_verify import gate_table

WIDE = 2.0  # so many times the low end of a range: the cause decides, which a profile knows


def render(report: EditReport) -> None:
    """Print the report to stdout; why an edit does not apply, and how to undo it, to stderr."""
    made = report.proposal
    name = f"{made.variant.optimization} {made.variant.name}".strip()
    if made.source is None:
        click.echo(f"kdiag: {name} does not apply to {report.kernel}: {made.why_not}.", err=True)
        _also(report)
        return
    console = stdout_console()
    console.print(Text.assemble((name, "bold cyan"), f"  {made.title}, {made.safety.replace('-', ' ')}"))
    for line in (*_expected(report), *_facts(made)):
        console.print(Text(line))
    if report.gates:
        console.print(gate_table(report.gates))
    console.print()
    for line in made.diff.splitlines():
        click.secho(line, fg=DIFF_STYLES.get(line[:1]))
    _also(report)
    if report.undo:
        click.echo(f"written to {report.file}; undo: {report.undo}", err=True)


def render_list(kernel: str, target: str, every: Offers) -> None:
    """Print all variants of the edits, and why those do not apply that do not."""
    console = stdout_console()
    console.print(Text.assemble("Edits for ", (kernel, "bold cyan"), f" on {target}"))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in ("edit", "variant", "safety", "applies"):
        table.add_column(column, overflow="fold")
    for name, (title, made_of_it) in every.items():
        table.add_row(Text(name, "bold"), Text(title, "bold"), "", "" if made_of_it else "nothing to change")
        for made in made_of_it:
            applies = Text("yes", "green") if made.source is not None else Text(made.why_not or "no", "dim")
            table.add_row("", made.variant.name, made.safety.replace("-", " "), applies)
    console.print(table)


def _expected(report: EditReport) -> tuple[str, str]:
    """The middle, how sure that is, how far it goes, and what to do about it; then what that rests on."""
    speedup, file = report.suggestion.expected_speedup, shlex.quote(report.file)
    span = f"{speedup.mid:.2f}x, by kernel and cause from {speedup.low:.2f}x to {speedup.high:.2f}x"
    sure = f"{report.suggestion.confidence:.0%} sure of the cause and these figures"
    wide = speedup.high >= WIDE * speedup.low
    advice = f"kdiag plan {file} " + ("--report REPORT says more" if wide else "compares it with other edits")
    return f"expected without a profile: {span}; {sure}; {advice}", report.suggestion.explanation


def _facts(made: Proposal) -> list[str]:
    lines = [] if made.where is None else [f"begins at {made.where.file}:{made.where.line}"]
    lines += [f"promises that {promise.text}" for promise in made.promises]
    return lines + [f"warning: {warning}" for warning in made.warnings]


def _also(report: EditReport) -> None:
    """The other variants that apply."""
    mine = report.proposal.variant.name
    names = [made.variant.name for made in report.others if made.source is not None and made.variant.name != mine]
    if names:
        click.echo(f"other variants: {'  '.join(names)}  (--variant)", err=True)
