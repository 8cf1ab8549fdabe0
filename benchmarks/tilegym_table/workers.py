"""Jobs in child processes, several at a time; what was answered before is not asked again."""

import hashlib
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from kdiag import isolate
from kdiag.isolate import Died


class Job(Protocol):
    """What a child is asked. `identity` says all that decides the answer, "" where it must be asked every time."""

    @property
    def identity(self) -> str: ...


Request = TypeVar("Request", bound=Job)
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Workers:
    """`jobs` children at a time; `folder` keeps their answers."""

    jobs: int
    folder: Path

    def each(
        self, job: Callable[[Request], Answer], requests: Sequence[Request], timeout_s: float
    ) -> list[Answer | Died]:
        """The answer to each request, in order, or how its child died."""
        isolate.warm_up()
        began = time.monotonic()
        with ThreadPoolExecutor(self.jobs) as pool:
            answers = list(pool.map(lambda one: self._one(job, one, timeout_s), requests))
        print(f"{job.__name__}: {len(requests)} in {time.monotonic() - began:.0f} s", file=sys.stderr)
        return answers

    def sure(self, job: Callable[[Request], Answer], requests: Sequence[Request], timeout_s: float) -> list[Answer]:
        """As `each`, for what must succeed. Raises RuntimeError with what the child printed."""
        answers = []
        for answer in self.each(job, requests, timeout_s):
            if isinstance(answer, Died):
                raise RuntimeError(f"{job.__name__}: {answer.message}\n{answer.output}")
            answers.append(answer)
        return answers

    def _one(self, job: Callable[[Request], Answer], request: Request, timeout_s: float) -> Answer | Died:
        name = hashlib.sha256(f"{job.__name__} {request.identity}".encode()).hexdigest()
        path = self.folder / f"{name}.pickle"
        if request.identity and path.is_file():
            known: Answer = pickle.loads(path.read_bytes())  # noqa: S301 - written below
            return known
        answer = isolate.run(job, request, timeout_s=timeout_s)
        if request.identity and not isinstance(answer, Died):
            part = path.with_suffix(".part")
            part.write_bytes(pickle.dumps(answer))
            part.replace(path)
        return answer
