"""Where the time of a run goes: what its thread waits for, and what the loop takes itself."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Laps = Iterator[tuple[float, dict[str, float]]]
# Where a thread counts the seconds it has waited; None in one that works ahead, and within a wait.
_waited: ContextVar[dict[str, float] | None] = ContextVar("waited", default=None)


@contextmanager
def waiting(whom: Literal["compiler", "device"]) -> Iterator[None]:
    waited, token, began = _waited.get(), _waited.set(None), time.monotonic()
    try:
        yield
    finally:
        _waited.reset(token)
        if waited is not None:
            waited[whom] += time.monotonic() - began


def laps() -> Laps:
    """The seconds of this thread from one `next` to the next, and those of them it waited, for whom; the first begins."""
    lap = 0.0, dict[str, float]()
    while True:
        began, waited = time.monotonic(), {"compiler": 0.0, "device": 0.0}
        _waited.set(waited)
        yield lap
        lap = time.monotonic() - began, waited
