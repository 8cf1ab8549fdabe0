"""Reads `metric_sets.toml`: how much Nsight Compute can be asked for, what it costs, and which chip has which counter."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from kdiag.errors import UsageError

from .load_metrics import load_metrics

Capability = tuple[int, int]


@dataclass(frozen=True)
class MetricSet:
    """A set by name. `passes` a launch and `seconds_per_launch` are estimates, measured where `source` says.

    `ncu_set` and `sections` are ncu's names; a set with neither is the counters of `metrics.toml` (`counters`).
    """

    name: str
    meaning: str
    passes: int
    seconds_per_launch: float
    source: str
    ncu_set: str = ""
    sections: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChipRule:
    """Counters whose name has the part `contains` exist from the compute capability `first` to `last`."""

    contains: str
    first: Capability
    last: Capability
    source: str

    def allows(self, counter: str, capability: Capability) -> bool:
        """Say whether a chip of this capability can have the counter, as far as this rule knows."""
        return self.contains not in counter or self.first <= capability <= self.last


def parse_capability(text: str) -> Capability:
    """Return (9, 0) for "9.0". Raises ValueError for anything else."""
    major, minor = text.strip().split(".")
    return int(major), int(minor)


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files("kdiag.rules").joinpath("metric_sets.toml").read_text(encoding="utf-8"))


@cache
def load_metric_sets() -> Mapping[str, MetricSet]:
    """Return the sets by name, cheapest first. Raises TypeError for a key that `MetricSet` does not know."""
    return {
        name: MetricSet(name=name, **{**entry, "sections": tuple(entry.get("sections", ()))})
        for name, entry in _data()["set"].items()
    }


def metric_set(name: str) -> MetricSet:
    """Return one set. Raises UsageError, naming the sets, for an unknown one."""
    sets = load_metric_sets()
    if name not in sets:
        raise UsageError(f"There is no metric set {name!r}; choose one of: {', '.join(sets)}.")
    return sets[name]


@cache
def load_chip_rules() -> tuple[ChipRule, ...]:
    return tuple(
        ChipRule(
            contains=entry["contains"],
            first=parse_capability(entry.get("first", "0.0")),
            last=parse_capability(entry.get("last", "99.9")),
            source=entry["source"],
        )
        for entry in _data()["chip"]
    )


def counters(capability: Capability | None) -> tuple[str, ...]:
    """Return ncu's names of the minimal set, for a chip of `capability`; None when it is not known.

    Of each metric the first name that the chip has is taken. A metric that starts with `sass__` is asked for under all
    its names, because those come by patching the code and are missing where that fails.
    """
    not_alone = tuple(_data()["by_name"]["not_alone"])
    chosen: list[str] = []
    for metric in load_metrics().values():
        names = [each for each in metric.names if not each.startswith(not_alone) and _has(each, capability)]
        chosen += names if metric.names[0].startswith("sass__") else names[:1]
    return tuple(dict.fromkeys(chosen))


def _has(counter: str, capability: Capability | None) -> bool:
    return capability is None or all(rule.allows(counter, capability) for rule in load_chip_rules())
