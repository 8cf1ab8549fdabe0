"""What could be done to a kernel: variants, proposals and ranked suggestions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .observations import Evidence, Place, Scalar

Safety = Literal["safe", "changes-rounding", "manual"]
Grid = Literal["", "kept", "changed"]  # the number of blocks after an edit; "" where it is not known


@dataclass(frozen=True)
class Promise:
    """What the compiler must say after an edit, relative to its parent; the effect gate checks it.

    `observation` is a name of `diagnose.compiler.observe.from_compilation` (e.g. `compile.tma_loads`), `change` how it
    must move. With `lines`, of the edited source, the compiler must say it of each of these lines ("at-lines") or of none
    of them ("not-at-lines").
    """

    observation: str
    change: Literal["increases", "decreases", "is-zero", "not-worse", "at-lines", "not-at-lines"]
    text: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Variant:
    """One setting of an optimization, e.g. G with tile_m=128. `name` is unique within the optimization.

    `present` holds what the source has in the place of each setting, where that is known: {"tile_m": 64}.
    """

    optimization: str
    name: str
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    present: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def growth(self) -> float | None:
        """How many times as many elements the tiles get that it resizes; None where it does not say what they had."""
        sizes = [(value, self.present[name]) for name, value in self.settings.items() if name in self.present]
        known = [(new, old) for new, old in sizes if isinstance(new, int) and isinstance(old, int) and old > 0]
        return math.prod(new / old for new, old in known) if known else None


@dataclass(frozen=True)
class Effect:
    """What a variant does, by which it is alike to one of another kernel: `growth` is `Variant.growth`, `grid` whether the
    number of blocks changes, `spilled` the bytes by which the stack frame of a thread grows, None where it is not known.
    """

    growth: float | None = None
    grid: Grid = ""
    spilled: int | None = None


@dataclass(frozen=True)
class Proposal:
    """What an executor offers for one variant. `source` is the whole edited file, None when skipped.

    `warnings` are sentences for whoever reads the diff.
    """

    variant: Variant
    title: str
    safety: Safety
    source: str | None
    why_not: str | None
    where: Place | None
    diff: str = ""
    promises: tuple[Promise, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExpectedSpeedup:
    """A ratio of times, parent over edited: 1.35 is 35 % faster, 0.2 five times slower."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True)
class Suggestion:
    """A ranked entry of a plan. `proposal` is None for an optimization without executor. `works`, a part of `confidence`,
    is the probability that it comes to a measurement.
    """

    rank: int
    optimization: str
    variant: str
    title: str
    cause: str
    tier: int
    expected_speedup: ExpectedSpeedup
    confidence: float
    safety: Safety
    applicable: bool
    why_not: str | None
    where: Place | None
    evidence: tuple[Evidence, ...]
    explanation: str
    proposal: Proposal | None = None
    works: float = 1.0

    @property
    def pair(self) -> tuple[str, str]:
        """(optimization, variant), which no two of a plan share."""
        return (self.optimization, self.variant)


def parts(optimization: str, variant: str) -> tuple[tuple[str, str], ...]:
    """The (optimization, variant) that a candidate is made of: ("I+B", "x+y") of two, any other of itself."""
    names = optimization.split("+")
    return tuple(zip(names, variant.split("+") if len(names) > 1 else (variant,), strict=True))
