"""Where the time of a run goes: what its thread waits for, and what the loop takes itself."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Laps = Iterator[tuple[float, dict[str, float]]]
# Where a thread counts the seconds it has waited, by what for; None in one that works ahead, and within a wait.
_waited: ContextVar[dict[str, float] | None] = ContextVar("waited", default=None)


@contextmanager
def waiting(what: Literal["compiler", "baseline", "counters", "checks", "race", "trial"]) -> Iterator[None]:
    waited, token, began = _waited.get(), _waited.set(None), time.monotonic()
    try:
        yield
    finally:
        _waited.reset(token)
        if waited is not None:
            waited[what] = waited.get(what, 0.0) + time.monotonic() - began


def laps() -> Laps:
    """The seconds of this thread from one `next` to the next, and those of them it waited, for what; the first begins."""
    lap = 0.0, dict[str, float]()
    while True:
        began, waited = time.monotonic(), dict[str, float]()
        _waited.set(waited)
        yield lap
        lap = time.monotonic() - began, waited
