"""Jobs in child processes, several at a time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from kdiag import isolate
from kdiag.isolate import Died

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Workers:
    """`jobs` children at a time."""

    jobs: int

    def each(
        self, job: Callable[[Request], Answer], requests: Sequence[Request], timeout_s: float
    ) -> list[Answer | Died]:
        """The answer to each request, in order, or how its child died."""
        isolate.warm_up()
        began = time.monotonic()
        with ThreadPoolExecutor(self.jobs) as pool:
            answers = list(pool.map(lambda one: isolate.run(job, one, timeout_s=timeout_s), requests))
        print(f"{job.__name__}: {len(requests)} in {time.monotonic() - began:.0f} s", file=sys.stderr)
        return answers

    def sure(
        self, job: Callable[[Request], Answer], requests: Sequence[Request], timeout_s: float
    ) -> list[Answer]:
        """As `each`, for what must succeed. Raises RuntimeError with what the child printed."""
        answers = []
        for answer in self.each(job, requests, timeout_s):
            if isinstance(answer, Died):
                raise RuntimeError(f"{job.__name__}: {answer.message}\n{answer.output}")
            answers.append(answer)
        return answers
