"""What is asked of a child that emulates: cases of a workload for one kernel file."""

from dataclasses import dataclass
from pathlib import Path

from kdiag.records import EmulationCase
from kdiag.workload import Workload

from ..bench import Source


@dataclass(frozen=True)
class CasesRequest:
    """Cases to run for one kernel file, in this order; results go to `folder`.

    `optional` cases, at the end, are begun only within `optional_s` seconds of processor time.
    """

    workload: Workload
    source: Source
    target: str
    cases: tuple[EmulationCase, ...]
    folder: Path
    optional: frozenset[EmulationCase] = frozenset()
    optional_s: float = 0.0


@dataclass(frozen=True)
class Sized:
    """A configuration, and how much work it is: bytes moved, or a sixteenth of its operations if these are more."""

    configuration: str
    edge: bool
    index: int
    work: float
