"""What an emulation found: a table of configurations, then each fault once, with where it happened."""

import linecache
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from kdiag.records import EmulatedConfiguration, Fault

from .stdout import stdout_console


def render(found: Sequence[EmulatedConfiguration]) -> None:
    console = stdout_console()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in ("configuration", "result", "error", "tolerance", "faults", "launches", "seconds"):
        table.add_column(column, justify="left" if column in {"configuration", "result"} else "right")
    for one in found:
        table.add_row(*_row(one))
    console.print(table)
    for one in found:
        if one.check.reason:
            console.print(Text(f"{one.check.configuration}: {one.check.reason}"))
    for fault, names in _by_fault(found).items():
        console.print()
        console.print(_headline(fault))
        console.print(Text(f"  {fault.file}:{fault.line}:{fault.column}, kernel {fault.kernel}", "dim"))
        if source := linecache.getline(fault.file, fault.line).strip():
            console.print(Text(f"  | {source}"))
        for line in filter(None, (", ".join(filter(None, (fault.where, fault.extent))), _listed(names))):
            console.print(Text(f"  {line}", "dim"))
        console.print(Text(f"  help: {fault.advice}"))


def _row(one: EmulatedConfiguration) -> tuple[str | Text, ...]:
    check = one.check
    result = Text("right", "green") if check.passed else Text("wrong", "bold red")
    faults = sum(not fault.warning for fault in one.faults)
    return (
        check.configuration,
        result,
        "-" if check.error is None else f"{check.error:.2g}",
        "-" if check.tolerance is None else f"{check.tolerance:.2g}",
        Text(str(faults), "bold red" if faults else "green"),
        str(one.launches),
        f"{one.seconds:.2f}",
    )


def _headline(fault: Fault) -> Text:
    style = "yellow" if fault.warning else "bold red"
    return Text.assemble((f"{'warning' if fault.warning else 'fault'}: {fault.kind}", style), f": {fault.text}")


def _by_fault(found: Sequence[EmulatedConfiguration]) -> dict[Fault, list[str]]:
    """The first fault of each place, with the configurations it was seen with."""
    kept: dict[tuple[object, ...], Fault] = {}
    names: dict[Fault, list[str]] = {}
    for one in found:
        for fault in one.faults:
            key = (fault.kind, fault.kernel, fault.file, fault.line, fault.column, fault.array)
            names.setdefault(kept.setdefault(key, fault), []).append(one.check.configuration)
    return names


def _listed(names: Sequence[str]) -> str:
    more = len(names) - 1
    return f"with {names[0]}" + (f" and {more} more configuration{'s' * (more > 1)}" if more else "")
