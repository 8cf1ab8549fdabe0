"""Lets blocks that wait for one another take turns: one runs at a time, until it ends or gives way.

Blocks are run in order, and hardly ever wait for one that has not run. Those that do (a grid-wide barrier, a chain of
blocks run in a random order) spin in a loop; each has a thread, which stands still while another block runs.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

Block = TypeVar("Block")
GiveWay = Callable[[], None]


class _Ended(BaseException):
    """Unwinds a block that is not needed any more, because another failed."""


class _Turn(threading.Thread):
    def __init__(self, job: Callable[[GiveWay], None]) -> None:
        super().__init__(daemon=True)
        self._job = job
        self._go, self._back = threading.Event(), threading.Event()
        self._unwinding = False
        self.done = False
        self.error: BaseException | None = None

    def run(self) -> None:
        self._go.wait()
        try:
            if not self._unwinding:
                self._job(self._give_way)
        except _Ended:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by who runs the blocks
            self.error = error
        self.done = True
        self._back.set()

    def _give_way(self) -> None:
        self._go.clear()
        self._back.set()
        self._go.wait()
        if self._unwinding:
            raise _Ended

    def go_on(self) -> None:
        """Let the block run until it ends or gives way."""
        self._back.clear()
        self._go.set()
        self._back.wait()

    def unwind(self) -> None:
        """End the block where it stands."""
        self._unwinding = True
        self.go_on()


def in_turns(blocks: Iterable[Block], job: Callable[[Block, GiveWay], None]) -> None:
    """Run `job(block, give_way)` for every block; a job calls `give_way` where it waits for another.

    Raises what the first job to fail raises; the others end where they stand.
    """
    waiting: deque[_Turn] = deque()
    fresh = iter(blocks)
    try:
        while (turn := _next(fresh, waiting, job)) is not None:
            turn.go_on()
            if turn.error is not None:
                raise turn.error
            if not turn.done:
                waiting.append(turn)
    finally:
        for turn in waiting:
            turn.unwind()


def _next(fresh: Iterable[Block], waiting: deque[_Turn], job: Callable[[Block, GiveWay], None]) -> _Turn | None:
    """A block that has not begun, else the one that has waited longest."""
    for block in fresh:
        turn = _Turn(partial(job, block))
        turn.start()
        return turn
    return waiting.popleft() if waiting else None
