"""Reads `metrics.toml`: which counters stand for which of kdiag's own metric names."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Metric:
    """A profiler quantity: Nsight Compute `names` by preference; `scale` leads from their base unit to `unit`."""

    name: str
    names: tuple[str, ...]
    unit: str
    meaning: str
    scale: float = 1.0


@cache
def load_metrics() -> Mapping[str, Metric]:
    """Return all metrics by kdiag's name, in the order of the file.

    Raises TypeError for a key that `Metric` does not know.
    """
    text = files("kdiag.rules").joinpath("metrics.toml").read_text(encoding="utf-8")
    return {
        name: Metric(name=name, names=tuple(entry.pop("names")), **entry)
        for name, entry in tomllib.loads(text).items()
    }


def to_collect() -> tuple[str, ...]:
    """The names to ask Nsight Compute for: the first of each metric, and the others of one that starts with `sass__`.

    Those are filled in by whole sections only; asked for alone they are left out without a word (ncu 2025.3.1).
    """
    metrics = load_metrics().values()
    return tuple(
        name for m in metrics for name in (m.names if m.names[0].startswith("sass__") else m.names[:1])
    )
