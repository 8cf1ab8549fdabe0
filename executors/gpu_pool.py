"""One executor for each GPU that measures; configurations that are timed and candidates that are checked spread over them.

An executor has the interface of `concurrent.futures`: here a thread whose children see one GPU alone. One of Dask or Ray
that is bound to a GPU can take its place: functions of modules are submitted, with picklable arguments. A configuration
stays on its GPU for the whole run, and parent and candidate in one process: cards differ by more than edits gain.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

from kdiag import isolate
from kdiag.errors import UsageError
from kdiag.isolate import Died
from kdiag.workload import Part, Workload

from .bench import Baseline, Trial
from .halving import Speedups

Request = TypeVar("Request")
Answer = TypeVar("Answer")
Measured = TypeVar("Measured", Baseline, Trial)

VISIBLE = "CUDA_VISIBLE_DEVICES"


def visible(selection: str, count: int) -> tuple[str, ...]:
    """The names that CUDA has for the selected GPUs, "0,1" or "all" of the `count` that torch sees.

    Numbers count what is visible already. Raises UsageError for one that is not there.
    """
    names = [name for name in os.environ.get(VISIBLE, "").split(",") if name] or [str(n) for n in range(count)]
    words = [str(n) for n in range(count)] if selection == "all" else selection.split(",")
    numbers = [int(word) for word in words if word.strip().isascii() and word.strip().isdecimal()]
    if len(numbers) != len(words) or len(set(numbers)) != len(numbers) or not numbers:
        raise UsageError(f"--gpus {selection} is no choice of GPUs; give numbers such as 0,1, or all.")
    if max(numbers) >= min(count, len(names)):
        raise UsageError(f"There is no GPU {max(numbers)}: torch sees {count}, counted from 0.")
    return tuple(names[number] for number in numbers)


def executors(devices: Sequence[str]) -> tuple[Executor, ...]:
    """One for each GPU, by the name that CUDA has for it; jobs of one GPU run one after the other."""
    return tuple(
        ThreadPoolExecutor(1, f"gpu-{device}", isolate.environment.set, ({VISIBLE: device},)) for device in devices
    )


def on_each(
    gpus: Sequence[Executor], job: Callable[[Request], Answer], requests: Sequence[Request], timeout_s: float
) -> tuple[Answer | Died, ...]:
    """What the job answers on each GPU, in a fresh child there; without a choice of GPUs, on the current one."""
    timeout_s = isolate.time_left(timeout_s)  # the executors know no deadline of this thread
    if not gpus:
        return tuple(isolate.run(job, request, timeout_s=timeout_s) for request in requests)
    futures = [
        gpu.submit(isolate.run, job, request, timeout_s=timeout_s) for gpu, request in zip(gpus, requests, strict=True)
    ]
    return _results(futures)


def in_turn(
    gpus: Sequence[Executor],
    job: Callable[[Request], Answer],
    requests: Sequence[Request],
    *,
    at_once: int,
    timeout_s: float,
) -> tuple[Answer | Died, ...]:
    """What the job answers to each request, in their order; the GPUs take them in turn, each up to `at_once` children
    beside each other. Without a choice of GPUs all are for the current one.
    """
    timeout_s = isolate.time_left(timeout_s)
    if not gpus:
        return isolate.run_all(job, requests, at_once=at_once, timeout_s=timeout_s)
    shares = [requests[n :: len(gpus)] for n in range(len(gpus))]
    futures = [
        gpu.submit(isolate.run_all, job, share, at_once=at_once, timeout_s=timeout_s)
        for gpu, share in zip(gpus, shares, strict=True)
    ]
    answers = _results(futures)
    return tuple(answers[n % len(gpus)][n // len(gpus)] for n in range(len(requests)))


def _results(futures: Sequence[Future[Answer]]) -> tuple[Answer, ...]:
    try:
        return tuple(future.result() for future in futures)
    except KeyboardInterrupt:
        isolate.kill_all(server=True)  # or the threads would wait for their children to the end
        raise


def parts(workload: Workload, count: int) -> tuple[Workload, ...]:
    """The workload with a part of its configurations each, in their order; `count` is 0 where no GPU was chosen."""
    return tuple(replace(workload, part=Part(n, max(count, 1))) for n in range(max(count, 1)))


def joined(answers: Sequence[Measured | Died], times: str) -> Measured | Died:
    """The parts as one; their field `times` is empty if any check failed. Dead if any part died.

    What is known once of a card is that of the first GPU.
    """
    whole = _whole(answers)
    if isinstance(whole, Died):
        return whole
    rows = [row for answer in whole for row in getattr(answer, times)]
    changes: dict[str, Any] = {
        "checks": tuple(check for answer in whole for check in answer.checks),
        times: tuple(rows if all(answer.passed for answer in whole) else ()),
    }
    return replace(whole[0], **changes)


def one_heat(answers: Sequence[tuple[int, Speedups] | Died]) -> tuple[int, Speedups] | Died:
    """A heat whose configurations were timed on several GPUs: the fewest rounds, and every racer's ratios in a row."""
    whole = _whole(answers)
    if isinstance(whole, Died):
        return whole
    racers = zip(*(speedups for _, speedups in whole), strict=True)
    return min(rounds for rounds, _ in whole), tuple(tuple(chain.from_iterable(parts)) for parts in racers)


def _whole(answers: Sequence[Answer | Died]) -> list[Answer] | Died:
    """All answers, or the first that died."""
    whole = [answer for answer in answers if not isinstance(answer, Died)]
    return whole if len(whole) == len(answers) else next(answer for answer in answers if isinstance(answer, Died))
