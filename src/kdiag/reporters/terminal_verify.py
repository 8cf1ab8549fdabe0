"""Gates for the terminal: a row for each with its outcome and why, then the verdict in one sentence."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from kdiag.records import GATES, GateRecord, failed

from .stdout import stdout_console

PROVES = {  # what is left open where a gate could not run
    "compile": "that it compiles",
    "no-op": "that anything has changed",
    "effect": "that the compiler does what was meant",
    "emulation": "that it is right on the CPU",
    "correctness": "that it is right on a GPU",
}
STYLES = {"passed": "green", "failed": "bold red", "could-not-run": "yellow"}


def render(kernel: str, target: str, records: Sequence[GateRecord]) -> None:
    console = stdout_console()
    console.print(Text.assemble("Gates for ", (kernel, "bold cyan"), f" on {target}"))
    console.print(gate_table(records))
    console.print(Text(verdict(records), "bold red" if failed(records) else "bold"))


def gate_table(records: Sequence[GateRecord]) -> Table:
    """The gates that were reached."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in ("gate", "outcome", "why"):
        table.add_column(column, no_wrap=column != "why", overflow="fold")
    for record in records:
        outcome = Text(record.outcome.replace("-", " "), STYLES[record.outcome])
        table.add_row(record.gate, outcome, Text(record.reason))
    return table


def verdict(records: Sequence[GateRecord]) -> str:
    """What the gates come to, those that could not run by name."""
    if (refused := failed(records)) is not None:
        left = GATES[GATES.index(refused.gate) + 1 :]
        return f"{refused.gate} failed" + (f"; not reached: {', '.join(left)}" if left else "")
    unable = [record.gate for record in records if record.outcome == "could-not-run"]
    if not unable:
        return "every gate passed"
    return (
        f"none failed; could not run: {', '.join(unable)}; not proved: {', nor '.join(PROVES[gate] for gate in unable)}"
    )
