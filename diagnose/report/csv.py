"""Reads what `ncu --csv` prints: one row a launch (`--page raw`), or one row a metric (details and `--metrics`).

The rows stand between the profiler's banner and the application's own output; headers can come again, and a second
run can follow in the same file.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from kdiag.rules.load_metrics import load_metrics
from kdiag.rules.load_report_labels import load_report_labels

from .contents import Contents
from .printed import DEVICE, PrintedLaunch, contents

_HEADER = re.compile(r'"?ID"?(?P<delimiter>[,;\t])"?Process ID"?(?P=delimiter)[^\n]*"?Kernel Name"?')
_ROW = re.compile(r'("\d+"|\d+(\.0)?)[,;\t]')  # the id; as a float where a table program wrote the file anew
_UNITS = re.compile(r'(""|)[,;\t](""|)[,;\t]')  # neither an id nor a process
_LONGEST = 100  # lines of a record; the texts of rules have a few
_TORN = 5  # a line with so many delimiters that is no row was one

_IDENTITY = ("Process ID", "ID", "Kernel Name")
_KERNEL, _METRIC, _VALUE = "Kernel Name", "Metric Name", "Metric Value"

# Torn is what must have been one of the others and is not whole.
Kind = Literal["header", "units", "row", "torn"]


@dataclass(frozen=True)
class _Line:
    """One record of the text and the number of its first line."""

    kind: Kind
    number: int
    fields: Sequence[str] = ()


@dataclass(frozen=True)
class _Header:
    """The names of the columns, the units below them in the wide form, and where each name is first."""

    names: Sequence[str] = ()
    units: Sequence[str] = ()
    columns: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_long(self) -> bool:
        return _METRIC in self.columns

    def cell(self, fields: Sequence[str], column: str) -> str:
        index = self.columns.get(column, len(fields))
        return fields[index] if index < len(fields) else ""

    def fits(self, fields: Sequence[str]) -> bool:
        """Whether a row is whole: it has all columns, or in the long form all up to the value."""
        if self.is_long:
            return self.columns.get(_VALUE, len(fields)) < len(fields) <= len(self.names) + 1
        return len(fields) == len(self.names) and self.cell(fields, _KERNEL) != ""


def has_csv(text: str) -> bool:
    """Whether there is a header of `ncu --csv` in the text."""
    return _HEADER.search(text) is not None


def read_csv(text: str) -> Contents:
    """Return the launches of a text that `has_csv`."""
    launches: dict[tuple[str, ...], PrintedLaunch] = {}
    header, torn = _Header(), 0
    for line in _lines(text):
        if line.kind == "header":
            header = _next_header(header, line.fields)
        elif line.kind == "units":
            header = replace(header, units=line.fields)
        elif line.kind == "torn" or not header.fits(line.fields):
            torn = torn or line.number
        else:
            identity = tuple(header.cell(line.fields, column) for column in _IDENTITY)
            if not header.is_long:  # a row is a launch, even where another process had the same number
                identity = tuple(line.fields)
            if identity not in launches:
                launches[identity] = _launch(header, line.fields)
            _add(launches[identity], header, line.fields)
    return contents(list(launches.values()), f"is cut off or damaged at line {torn}" if torn else None)


def _next_header(before: _Header, names: Sequence[str]) -> _Header:
    """A header that comes again keeps its units, which are printed once."""
    if list(names) == list(before.names):
        return before
    return _Header(names, columns={name: index for index, name in reversed(list(enumerate(names)))})


def _launch(header: _Header, fields: Sequence[str]) -> PrintedLaunch:
    launch = PrintedLaunch(header.cell(fields, _KERNEL))
    launch.add_shape("grid", header.cell(fields, "Grid Size"))
    launch.add_shape("block", header.cell(fields, "Block Size"))
    launch.add_capability(header.cell(fields, "CC"))
    return launch


def _add(launch: PrintedLaunch, header: _Header, fields: Sequence[str]) -> None:
    if header.is_long:
        name, unit, value = (header.cell(fields, column) for column in (_METRIC, "Metric Unit", _VALUE))
        launch.add(load_report_labels().get(name, name), value, unit)
    else:
        for name in _names().intersection(header.columns):
            index = header.columns[name]
            launch.add(name, fields[index], header.units[index] if index < len(header.units) else "")


@cache
def _names() -> frozenset[str]:
    return frozenset({DEVICE}.union(*(metric.names for metric in load_metrics().values())))


def _lines(text: str) -> Iterator[_Line]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    delimiter = ""
    number = 0
    while number < len(lines):
        line, number = lines[number], number + 1
        if header := _HEADER.search(line):
            delimiter = header["delimiter"]
            yield _Line("header", number, _fields(line[header.start() :], delimiter))
        elif delimiter and (_ROW.match(line) or _UNITS.match(line)):
            first, number = number, _end(lines, number)
            record = "\n".join(lines[first - 1 : number])
            yield _Line(_kind(record, last=number == len(lines)), first, _fields(record, delimiter))
        elif delimiter and line.count(f'"{delimiter}"') >= _TORN:
            yield _Line("torn", number)


def _end(lines: Sequence[str], number: int) -> int:
    """The number of the line that ends the record of line `number`: the one that closes its last quote."""
    quotes = lines[number - 1].count('"')
    last = min(len(lines), number + _LONGEST)
    while quotes % 2 and number < last and not _ROW.match(lines[number]):
        quotes += lines[number].count('"')
        number += 1
    return number


def _kind(line: str, last: bool) -> Kind:
    """What a record is; one that ends the file with neither a quote nor a line end may have lost digits."""
    if line.count('"') % 2 or (last and not line.endswith('"')):
        return "torn"
    return "row" if _ROW.match(line) else "units"


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except csv.Error:  # a field of more than 128 KiB
        return []
