"""Reads the tables that ncu prints for people: a kernel's line, sections, and rows of label, unit and value.

    softmax_k (32768, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
      Section: GPU Speed Of Light Throughput
      ----------------------- ----------- ------------
      Duration                         us       176.83

The dashes give the columns. Two decimals are all that this page has; `--page raw --csv` has six.
"""

import re

from kdiag.rules.load_report_labels import load_report_labels

from .contents import Contents
from .printed import PrintedLaunch, contents

_KERNEL = re.compile(
    r"\s+(?P<symbol>\S.*?)"
    r"(?: (?P<grid>\(\d+, \d+, \d+\))x(?P<block>\(\d+, \d+, \d+\)))?"
    r"(?:, \d{4}-\w{3}-\d\d \d\d:\d\d:\d\d)?"
    r", Context \d+, Stream \d+(?:, Device \d+)?(?:, CC (?P<capability>\d+\.\d))?\s*"
)
_SECTION = re.compile(r"\s+Section: \S.*")
_DASHES = re.compile(r"\s+(-{5,}) (-{5,}) (-{5,})\s*")

Columns = tuple[slice, slice, slice]


def has_table(text: str) -> bool:
    """Whether there is a table of ncu in the text."""
    return any(_SECTION.fullmatch(line) for line in text.splitlines())


def read_table(text: str) -> Contents:
    """Return the launches of a text that `has_table`."""
    launches: list[PrintedLaunch] = []
    columns: Columns | None = None
    rows = 0
    for line in text.splitlines():
        kernel = _KERNEL.fullmatch(line)
        dashes = _DASHES.fullmatch(line)
        if kernel:
            launches.append(_launch(kernel))
        if kernel or _SECTION.fullmatch(line):
            columns, rows = None, 0
        elif dashes:
            # A second line of dashes stands below the names of the columns; one below rows ends the table.
            columns, rows = (_columns(dashes), 0) if rows == 0 else (None, 0)
        elif columns and launches:
            rows += _add(launches[-1], line, columns)
    return contents(launches)


def _columns(dashes: re.Match[str]) -> Columns:
    label, unit, value = (slice(*dashes.span(group)) for group in (1, 2, 3))
    return label, unit, value


def _launch(kernel: re.Match[str]) -> PrintedLaunch:
    launch = PrintedLaunch(kernel["symbol"])
    launch.add_shape("grid", kernel["grid"] or "")
    launch.add_shape("block", kernel["block"] or "")
    launch.add_capability(kernel["capability"] or "")
    return launch


def _add(launch: PrintedLaunch, line: str, columns: Columns) -> bool:
    """Take a row if it is one: something in the first and last column, and nothing between the columns."""
    label, unit, value = (line[column].strip() for column in columns)
    gaps = (line[column.stop : column.stop + 1].strip() for column in columns[:2])
    if not label or not value or any(gaps) or line[columns[2].stop :].strip() or label == "Metric Name":
        return False
    launch.add(load_report_labels().get(label, label), value, unit)
    return True
