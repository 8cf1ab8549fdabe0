"""What was observed, where, and the names observations go by."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Scalar = float | int | str | bool | None
EvidenceKind = Literal["metric", "remark", "resource", "source", "timing", "workload"]


@dataclass(frozen=True)
class Place:
    """A position in a source file; `line` counts from 1, `column` from 0 as Python's `ast` does."""

    file: str
    line: int
    column: int = 0


@dataclass(frozen=True)
class Evidence:
    """One observation: a profiler metric, compiler remark, cubin resource, source fact, timing, or what the
    workload says the kernel must do at least.
    """

    kind: EvidenceKind
    name: str
    value: Scalar
    unit: str = ""
    where: Place | None = None
    text: str = ""


# What is known about a launch, by canonical name (`dram_pct`, `compile.stack_bytes`, `source.exact_divisions`).
# A name that is absent, or whose value is None, is unavailable; a test that needs it is not evaluated.
Observations = Mapping[str, Evidence]


def number(observations: Observations, name: str) -> float | None:
    """Return the finite value of `name`, or None when it is unavailable. Booleans count as 0 and 1."""
    evidence = observations.get(name)
    if evidence is None or not isinstance(evidence.value, (int, float)):
        return None
    return float(evidence.value) if math.isfinite(evidence.value) else None
