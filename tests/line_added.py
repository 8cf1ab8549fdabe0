"""An edit that takes no time to make: every variant adds one line in front of the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kdiag.executors.edits.base import Applied, Edit, Example, Outcome, Skipped, Subject
from kdiag.records import Variant


class LineAdded(Edit):
    """Stands for H; `lines` are the comments by variant. What a candidate does is up to the bench that reads them."""

    id: ClassVar[str] = "H"
    title: ClassVar[str] = "Another line"
    examples: ClassVar[tuple[Example, ...]] = ()

    def __init__(self, lines: Mapping[str, str]) -> None:
        self.lines = lines

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        return tuple(Variant(self.id, name) for name in self.lines)

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        line = self.lines[variant.name]
        if line in subject.source:
            return Skipped("it is there")
        return Applied(subject.source.replace("@ct.kernel", f"{line}\n@ct.kernel"))
