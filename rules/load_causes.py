"""Reads `causes/*.toml`: what each cause of a slow launch looks like, with the reason for every threshold.

A cause is shown by one or more patterns, each for the kind of observations it can work from. A pattern is a list of
tests; a test grades one metric from 0 (at `none`) to 1 (at `full`), so `none < full` means "the more the likelier".
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any, Literal

from kdiag.errors import KdiagError


@dataclass(frozen=True)
class Test:
    """One graded question. A `shows` test counts by its weight; an `excludes` test can only take away.

    `text` is the evidence sentence, with `{value}`; `reason` says where the two thresholds come from. A file names the
    metric behind the role, and says which tests are not required: `shows = "l2_pct"`, `optional = true`.
    """

    metric: str
    none: float
    full: float
    reason: str
    text: str = ""
    role: Literal["shows", "excludes"] = "shows"
    required: bool = False
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.none - self.full == 0:  # which is a TypeError for what is no number
            raise ValueError(f"none and full of {self.metric} are equal")

    def grade(self, value: float) -> float:
        """Return 0 at `none` or beyond, 1 at `full` or beyond, linear between."""
        return min(1.0, max(0.0, (value - self.none) / (self.full - self.none)))


@dataclass(frozen=True)
class Pattern:
    """Tests that together show a cause; `ceiling` is the most they can prove, on a scale to 1.

    The pattern is left aside when one of `only_without` is known, because a better pattern then decides.
    """

    name: str
    ceiling: float
    tests: tuple[Test, ...]
    only_without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Example:
    """Observations by name, and whether this cause is the answer to them."""

    name: str
    shown: bool
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class CauseRule:
    """A cause. `outranks` names the causes that are only consequences of this one.

    `when_idle` is the class of the launch when neither the SMs nor the memory system reach 60 % of their peak.
    A `fallback` is named only where no other cause is decisive.
    """

    id: str
    bottleneck: str
    title: str
    meaning: str
    what_to_do: str
    when_idle: str
    outranks: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    examples: tuple[Example, ...]
    fallback: bool = False


def parse(name: str, text: str) -> CauseRule:
    """One file, whose `name` ends in the cause's id and .toml. Raises KdiagError naming the file and what is wrong."""
    try:
        return _cause(PurePath(name).stem, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise KdiagError(f"{name} is not valid TOML: {error}.") from None
    except KeyError as error:
        raise KdiagError(f"{name} needs {error.args[0]}.") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise KdiagError(f"{name} does not follow the schema: {error}.") from None


def _test(entry: dict[str, Any]) -> Test:
    role: Literal["shows", "excludes"] = "excludes" if "excludes" in entry else "shows"
    return Test(entry.pop(role), role=role, required=not entry.pop("optional", False), **entry)


def _pattern(entry: dict[str, Any]) -> Pattern:
    tests = tuple(_test(test) for test in entry.pop("test"))
    return Pattern(tests=tests, only_without=tuple(entry.pop("only_without", ())), **entry)


def _cause(name: str, entry: dict[str, Any]) -> CauseRule:
    bottleneck = entry["bottleneck"]
    return CauseRule(
        id=name,
        bottleneck=bottleneck,
        title=entry["title"],
        meaning=entry["meaning"],
        what_to_do=entry["what_to_do"],
        when_idle=entry.get("when_idle", bottleneck),
        outranks=tuple(entry.get("outranks", ())),
        patterns=tuple(_pattern(each) for each in entry.get("pattern", ())),
        examples=tuple(Example(**each) for each in entry.get("example", ())),
        fallback=entry.get("fallback", False),
    )


@cache
def load_causes() -> Mapping[str, CauseRule]:
    """Return every cause by its id, the name of its file. Raises KdiagError for a malformed file."""
    folder = files("kdiag.rules").joinpath("causes")
    pages = sorted((page for page in folder.iterdir() if page.name.endswith(".toml")), key=lambda page: page.name)
    rules = [parse(page.name, page.read_text(encoding="utf-8")) for page in pages]
    return {rule.id: rule for rule in rules}
