"""Reads `metrics.toml`: which counters stand for which of kdiag's own metric names."""

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
        name: Metric(name=name, names=tuple(entry.pop("names")), **entry) for name, entry in tomllib.loads(text).items()
    }
