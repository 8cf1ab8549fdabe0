"""Launches from printed reports (CSV, tables): cells of text that become figures once the whole file has been seen."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from .contents import Contents, Figure, RecordedLaunch
from .symbol import function_name
from .units import Mark, decimal_mark, parse_number

DEVICE = "device__attribute_display_name"

_SHAPE = re.compile(r"\((\d{1,10}), *(\d{1,5}), *(\d{1,5})\)")
_CAPABILITY = re.compile(r"(\d{1,2})\.(\d)")


@dataclass
class PrintedLaunch:
    """A launch while its rows are read: under each of the profiler's names the texts and units printed for it."""

    symbol: str
    cells: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, text: str, unit: str) -> None:
        """Take a cell; of several for one name the first that is a figure in the right unit will count."""
        self.cells[name].append((text.strip(), unit.strip()))

    def add_shape(self, what: str, text: str) -> None:
        """Take the "(32768, 1, 1)" of a "grid" or "block" as if the launch's own metrics had been printed."""
        match = _SHAPE.fullmatch(text.strip())
        if match is not None:
            for axis, size in zip("xyz", match.groups(), strict=True):
                self.add(f"launch__{what}_dim_{axis}", size, "")
            self.add(f"launch__{what}_size", str(math.prod(map(int, match.groups()))), "")

    def add_capability(self, text: str) -> None:
        """Take the compute capability, printed as "9.0"."""
        match = _CAPABILITY.fullmatch(text.strip())
        if match is not None:
            self.add("device__attribute_compute_capability_major", match[1], "")
            self.add("device__attribute_compute_capability_minor", match[2], "")


def contents(printed: Sequence[PrintedLaunch], damage: str | None = None) -> Contents:
    """Return the launches with their texts read as numbers, by the one decimal mark that the file proves."""
    mark = decimal_mark(text for each in printed for cells in each.cells.values() for text, _ in cells)
    return Contents(tuple(_recorded(each, mark) for each in printed), damage)


def _recorded(printed: PrintedLaunch, mark: Mark | None) -> RecordedLaunch:
    def figures(name: str) -> Sequence[Figure]:
        read = [(parse_number(text, mark), unit) for text, unit in printed.cells.get(name, ())]
        return [Figure(value, unit) for value, unit in read if value is not None]

    device = [text for text, _ in printed.cells.get(DEVICE, ()) if text.strip()]
    return RecordedLaunch(
        symbol=printed.symbol,
        base_name=function_name(printed.symbol),
        figures=figures,
        gpu_name=device[0] if device else None,
    )
