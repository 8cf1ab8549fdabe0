"""What any report says before it is interpreted: launches, each with the figures recorded under the profiler's names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A number as recorded, NaN included, and its unit as the report spells it."""

    value: float
    unit: str


@dataclass(frozen=True)
class RecordedLaunch:
    """One launch of a report. `figures` returns what is recorded under one of the profiler's names, mostly one or none.

    `base_name` is the function's name without type, namespace, template and parameters. `base_units` says that a
    figure without unit is in the profiler's base unit (ns, byte, hz), as in `.ncu-rep` files.
    """

    symbol: str
    base_name: str
    figures: Callable[[str], Sequence[Figure]]
    gpu_name: str | None = None
    nvtx: tuple[str, ...] = ()
    base_units: bool = False
    whole: bool = True


@dataclass(frozen=True)
class Contents:
    """All launches of a report in the order of the file; `damage` says in a clause what of it is lost."""

    launches: tuple[RecordedLaunch, ...]
    damage: str | None = None
