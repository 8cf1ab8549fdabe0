"""Where an undefined value came from, so that the fault at its use can say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kdiag.records import FaultKind

from .faults import place

if TYPE_CHECKING:
    from .run import Run

MOST = 255  # origins told apart in a launch; later ones are told as the last


@dataclass(frozen=True)
class Origin:
    """A source of undefined values: the kind of fault that using one is, where it arose, and what it is."""

    kind: FaultKind
    line: int
    text: str

    @classmethod
    def never_written(cls, run: Run, location: Any, address: int) -> Origin:
        """An element of memory that nothing wrote, read at `location`."""
        array, element = run.array_at(address)
        what = "an element" if element is None else f"element {list(element)} of {array}"
        return cls("uninitialized", place(location)[1], f"{what}, read in line {place(location)[1]}, was never written")

    @classmethod
    def padding(cls, location: Any, array: str | None) -> Origin:
        """Padding of a load whose value cuTile leaves undetermined."""
        line = place(location)[1]
        what = "padding" if array is None else f"padding of {array}"
        return cls("undetermined-padding", line, f"{what}, loaded in line {line} with an undetermined value")

    @classmethod
    def undefined(cls, location: Any, text: str) -> Origin:
        """A value that the language leaves undefined."""
        line = place(location)[1]
        return cls("undefined-value", line, f"{text} in line {line}")
