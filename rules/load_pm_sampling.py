"""Reads `pm_sampling/sm_*.toml`: which hardware counters can be sampled together while a kernel runs."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from .load_metrics import load_metrics

Reduction = Literal["mean", "active", "launch"]
DEFAULT = "default"


@dataclass(frozen=True)
class SampledMetric:
    """A CUPTI metric `name` that stands for kdiag's `metric`; `reduce` as the head of `sm_90.toml` explains."""

    name: str
    metric: str
    reduce: Reduction
    difference: str = ""


@dataclass(frozen=True)
class Window:
    """The metrics that prove what the window held.

    `busy`: percent of the time in which the card worked at all; `active`: percent of the time in which an SM had
    work; `blocks`: blocks that started, or "" where the architecture does not count them.
    """

    busy: str
    active: str
    blocks: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics to sample in every run."""
        return tuple(filter(None, (self.busy, self.active, self.blocks)))


@dataclass(frozen=True)
class MetricSet:
    """What can be sampled on an architecture. `passes` by name: each is one or more runs of one hardware pass."""

    architecture: str
    interval_ns: int
    source: str
    window: Window
    passes: Mapping[str, tuple[tuple[SampledMetric, ...], ...]]


class MetricSetError(ValueError):
    """A file of `rules/pm_sampling` that breaks its own rules; the message names the file's architecture."""


@cache
def load_metric_set(architecture: str) -> MetricSet | None:
    """The metric set of e.g. "sm_90"; None when there is none. Raises MetricSetError for a file that is wrong."""
    table = _table(architecture)
    return None if table is None else parse(table)


def _table(architecture: str) -> dict[str, Any] | None:
    """The file's table, with what it takes from the one that it is `like`."""
    file = files("kdiag.rules").joinpath("pm_sampling", f"{architecture}.toml")
    if not file.is_file():
        return None
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    like, without = table.pop("like", None), table.pop("without", [])
    if like is None:
        return table
    if (base := _table(like)) is None:
        raise MetricSetError(f"{architecture}: is like {like}, of which there is no file")
    names = [entry["name"] for entry in _default_run(base)]
    if unknown := set(without) - set(names):
        raise MetricSetError(f"{architecture}: without {', '.join(sorted(unknown))}, which {like} does not have")
    kept = [entry for entry in _default_run(base) if entry["name"] not in without]
    run = {"pass": DEFAULT, "metrics": [*kept, *_default_run(table)]}
    return {**base, **table, "window": {**base["window"], **table.get("window", {})}, "run": [run]}


def _default_run(table: Mapping[str, Any]) -> list[dict[str, str]]:
    """Of the passes a card shares with another this one alone: how many runs the others take differs."""
    return [entry for run in table.get("run", ()) if run["pass"] == DEFAULT for entry in run["metrics"]]


def parse(table: dict[str, Any]) -> MetricSet:
    """The metric set that a TOML table describes. Raises MetricSetError."""
    architecture = str(table.get("architecture"))
    passes: dict[str, tuple[tuple[SampledMetric, ...], ...]] = {}
    try:
        window = Window(**table["window"])
        for run in table["run"]:
            metrics = tuple(SampledMetric(**entry) for entry in run["metrics"])
            passes[run["pass"]] = (*passes.get(run["pass"], ()), metrics)
        found = MetricSet(architecture, int(table["interval_ns"]), str(table["source"]), window, passes)
    except (KeyError, TypeError, ValueError) as error:
        raise MetricSetError(f"{architecture}: {error!r}") from None
    _check(found)
    return found


def _check(found: MetricSet) -> None:
    entries = [metric for runs in found.passes.values() for run in runs for metric in run]
    if DEFAULT not in found.passes or not all(run for runs in found.passes.values() for run in runs):
        raise MetricSetError(f"{found.architecture}: needs a pass {DEFAULT!r}, and no run may be empty")
    if unknown := {entry.metric for entry in entries} - set(load_metrics()):
        raise MetricSetError(f"{found.architecture}: not in metrics.toml: {', '.join(sorted(unknown))}")
    if wrong := {entry.reduce for entry in entries} - set(get_args(Reduction)):
        raise MetricSetError(f"{found.architecture}: unknown reduce {', '.join(sorted(map(str, wrong)))}")
