"""What an edit is: a reversible change of one kernel's source that carries its own examples.

An edit never raises on source text: it applies, or it skips and says why, or it failed and says how. It changes the
named kernel, and its launch wrapper where both must change; comments and formatting stay.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kdiag.records import Launch, Place, Promise, Safety, Scalar, Variant


@dataclass(frozen=True)
class Subject:
    """What an edit looks at: one kernel of a file, on `target` (e.g. sm_90).

    `launches` are the captured launches of this kernel, of every configuration of a workload; empty where nobody knows
    how it is launched, and then what only launches can prove is refused.
    """

    source: str
    kernel: str
    target: str = "sm_90"
    launches: tuple[Launch, ...] = ()


@dataclass(frozen=True)
class Applied:
    """The edited source. `where` is the first changed statement in the source before the edit.

    `safety` overrides the variant's where what was changed is safer or less safe than the variant in general.
    `warnings` are sentences for whoever reads the diff.
    """

    source: str
    where: Place | None = None
    promises: tuple[Promise, ...] = ()
    safety: Safety | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Skipped:
    """The edit does not apply; `reason` is one sentence."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """The edit should have applied and could not; `error` is one sentence."""

    error: str


Outcome = Applied | Skipped | Failed


@dataclass(frozen=True)
class Example:
    """An example of an edit: `before` becomes `after`, or is refused with a reason that contains `refused`.

    `launches` are what was captured of the kernel, where the edit asks for that.
    """

    name: str
    kernel: str
    variant: str
    before: str
    after: str | None = None
    refused: str = ""
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    launches: tuple[Launch, ...] = ()

    @property
    def subject(self) -> Subject:
        return Subject(self.before, self.kernel, launches=self.launches)


class Edit(ABC):
    """One optimization as source edits. `id` is its letter in the playbook, or "hints"."""

    id: ClassVar[str]
    title: ClassVar[str]
    examples: ClassVar[tuple[Example, ...]]

    @abstractmethod
    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """The settings worth trying for this kernel on its target, the most promising first."""

    @abstractmethod
    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Apply one variant to the source text of the file."""

    def safety(self, variant: Variant) -> Safety:
        """Whether the variant may change rounding; overridden where it may."""
        return "safe"
