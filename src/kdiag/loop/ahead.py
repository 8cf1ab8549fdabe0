"""Work for the CPU that is begun before it is asked for, while the GPU measures and most cores are idle.

What comes of it lies where it will be asked for: the compiler's, the emulator's and the planner's answers by source. It
decides nothing, and what was guessed wrong is never looked at. Timing does not notice: it takes the device's own events,
the flush in front of each launch covers the time of the host, and the same load lies on both kernels of a round.
"""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kdiag import isolate
from kdiag.errors import KdiagError

Key = TypeVar("Key")
Answer = TypeVar("Answer")


def idle_cores() -> int:
    """How many jobs may run beside a measurement: half of the cores are its own, and what plans."""
    return max(0, (os.cpu_count() or 1) // 2 - 1)


@dataclass
class Ahead:
    """Begins up to `workers` jobs beside each other until the block ends; with none, nothing before it is asked for."""

    workers: int = 0
    _begun: list[Future[object]] = field(default_factory=list)
    _pool: ThreadPoolExecutor | None = None
    _over: threading.Event = field(default_factory=threading.Event)

    def begin(self, job: Callable[..., object], *arguments: object) -> None:
        """Do this when a worker is free, in the order asked."""
        if self.workers:
            self._pool = self._pool or ThreadPoolExecutor(self.workers, "ahead", isolate.over.set, (self._over,))
            self._begun.append(self._pool.submit(job, *arguments))

    def drop(self) -> None:
        """Nobody will ask for what has not begun."""
        for future in self._begun:
            future.cancel()

    def __enter__(self) -> "Ahead":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop everything: no child is left. Raises a bug of a job; of any other failure its asker was told."""
        if self._pool is None:
            return
        self._pool.shutdown(wait=False, cancel_futures=True)
        if kind is KeyboardInterrupt:
            isolate.end_server()
        isolate.finish(self._over, self._begun)
        failures = [each.exception() for each in self._begun if not each.cancelled()]
        for failure in failures if kind is None else ():
            if failure is not None and not isinstance(failure, KdiagError | OSError):
                raise failure


@dataclass
class AskedOnce(Generic[Key, Answer]):
    """Answers that several threads ask for: the first works one out, the others wait for it."""

    known: dict[Key, Answer]
    _begun: dict[Key, threading.Event] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answers(self, keys: Iterable[Key], work: Callable[[Sequence[Key]], Iterable[Answer]]) -> dict[Key, Answer]:
        """The answer to each key; `work` is asked for those that are neither known nor begun, all at once."""
        keys, done = tuple(dict.fromkeys(keys)), threading.Event()
        with self._lock:
            missing = [key for key in keys if key not in self.known]
            others = {key: self._begun[key] for key in missing if key in self._begun}
            mine = [key for key in missing if key not in others]
            self._begun |= dict.fromkeys(mine, done)
        try:
            if mine:
                self.known.update(zip(mine, work(mine), strict=True))
        finally:
            with self._lock:
                for key in mine:
                    del self._begun[key]
            done.set()
        for other in others.values():
            other.wait(isolate.time_left(threading.TIMEOUT_MAX))
        # It failed there, or takes longer than this thread has.
        failed = [key for key in others if key not in self.known]
        again = dict(zip(failed, work(failed), strict=True)) if failed else {}
        return {key: again[key] if key in again else self.known[key] for key in keys}
