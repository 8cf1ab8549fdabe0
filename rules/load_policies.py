"""The policies as data: one TOML file each in `rules/policies`, every figure with its source."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any, get_type_hints

from kdiag.errors import UsageError

DEFAULT = "adaptive"
_FOLDER = "policies"


class PolicyError(ValueError):
    """A policy file that does not say what a policy needs; a mistake in kdiag, not of its user."""


@dataclass(frozen=True)
class Policy:
    """When an edit is kept and when a run stops. None is no limit; percentages of speed-up are (ratio - 1) * 100.

    `keep_pct`: from here on a gain is a new baseline. `low_priority_pct`: from here on it is kept and its branch of the tree
    tried later; below it is kept, and ends the run if `stop_on_small_gain`; one that makes a configuration slower at all is
    kept only if `small_gain_may_lose`. `slower_pct`: more is a regression. `error_factor`: so many times its parent's error
    an edit may make that is not said to change rounding. `failures_in_a_row`: attempts without improvement that end the
    run. `min_headroom_pct`: the least that must be left to gain; `least_expected_pct`: of one candidate, at best.
    `at_copy_pct`: the share of a copy's bandwidth from which on commands try nothing. `budget_s` limits the run, but for an iteration after one that has gained `gaining_pct`; what an iteration runs is ended
    after `iteration_s`. `ask_when`: bottlenecks at which a person decides. `target_pct_of_peak`: the rate to reach where the user names none. `by_tier`: try the tiers with the fewest attempts first, not what
    is expected to save most. `sources` by field.
    """

    name: str
    title: str
    keep_pct: float
    low_priority_pct: float
    slower_pct: float
    error_factor: float
    stop_on_small_gain: bool
    small_gain_may_lose: bool
    iteration_s: float
    ask_when: tuple[str, ...]
    failures_in_a_row: int | None = None
    max_iterations: int | None = None
    min_headroom_pct: float | None = None
    least_expected_pct: float | None = None
    at_copy_pct: float | None = None
    budget_s: float | None = None
    gaining_pct: float | None = None
    target_pct_of_peak: float | None = None
    by_tier: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)


def names() -> tuple[str, ...]:
    """The policies there are."""
    folder = files("kdiag.rules") / _FOLDER
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml")))


@cache
def load(name: str) -> Policy:
    """The policy called `name`. Raises UsageError for one that does not exist."""
    if name not in names():
        raise UsageError(f"There is no policy {name!r}; choose one of {', '.join(names())}.")
    return parse(name, (files("kdiag.rules") / _FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Policy:
    """A policy from its TOML text. Raises PolicyError if a figure is missing, unknown, mistyped or unsourced."""
    table = tomllib.loads(text)
    hints = get_type_hints(Policy)
    figures = {entry.name for entry in fields(Policy)} - {"name", "title", "sources"}
    if unknown := set(table) - figures - {"title"}:
        raise PolicyError(f"policy {name} has the unknown {', '.join(sorted(unknown))}")
    values: dict[str, Any] = {}
    for key in sorted(figures & set(table)):
        entry = table[key]
        if not isinstance(entry, dict) or set(entry) != {"value", "source"} or not entry["source"]:
            raise PolicyError(f"policy {name}: {key} needs a value and a source")
        values[key] = _typed(name, key, entry["value"], hints[key])
    try:
        sources = {key: table[key]["source"] for key in values}
        return _consistent(Policy(name=name, title=table.get("title", ""), sources=sources, **values))
    except TypeError as error:
        raise PolicyError(f"policy {name}: {error}") from None


def _typed(name: str, key: str, value: object, hint: Any) -> object:
    if isinstance(value, list) and all(isinstance(item, str) for item in value) and hint == tuple[str, ...]:
        return tuple(value)
    for kind in (bool, int, float):
        if type(value) is kind and (hint is kind or hint == kind | None):
            return value
    raise PolicyError(f"policy {name}: {key} is {value!r}, which is not {hint}")


def _consistent(policy: Policy) -> Policy:
    if not policy.title or not 0 <= policy.low_priority_pct <= policy.keep_pct or policy.slower_pct < 0:
        raise PolicyError(f"policy {policy.name} needs a title and 0 <= low_priority_pct <= keep_pct, slower_pct >= 0")
    if policy.error_factor < 1:
        raise PolicyError(f"policy {policy.name} needs an error_factor of at least 1")
    return policy
