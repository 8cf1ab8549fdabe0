"""What `kdiag doctor` finds on a machine: cards, counters, programs and packages."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """A GPU as its driver names it. `architecture` is a word (Hopper), `cutile` whether cuTile supports it,
    `limits_known` whether `rules/devices` has a card of exactly this name.
    """

    name: str
    compute_capability: str | None
    memory_mib: int | None
    architecture: str | None
    cutile: bool | None
    limits_known: bool


@dataclass(frozen=True)
class CounterAccess:
    """Whether this process may read GPU performance counters, None when that cannot be told, and why."""

    allowed: bool | None
    reason: str


@dataclass(frozen=True)
class Tool:
    """A program or package. `problem` says why one that is there is of no use, or of less.

    `without` is what its absence costs; `required` ones are those without which kdiag cannot work at all.
    """

    name: str
    found: bool
    version: str = ""
    path: str = ""
    problem: str = ""
    without: str = ""
    required: bool = False

    @property
    def usable(self) -> bool:
        """There, and without a problem."""
        return self.found and not self.problem


@dataclass(frozen=True)
class Environment:
    """`no_cards` says why `cards` is empty, `driver_problem` why the driver will not do."""

    python: str
    cards: tuple[Card, ...]
    no_cards: str
    driver: str | None
    driver_problem: str
    counters: CounterAccess
    tools: tuple[Tool, ...]
