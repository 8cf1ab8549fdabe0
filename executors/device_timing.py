"""Times functions on the GPU with CUDA events: cold L2, interleaved, each round in random order.

Child processes only: this module is imported where torch is.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Generic, TypeVar

import torch

from kdiag.records import Clocks

from .clocks import Meter
from .paired_statistics import until_settled

COPY_MARGIN = 1.02  # over the measured copy bandwidth: its own spread
# Over the rate of the library's product, which is no limit of the card: it keeps the tensor pipe 0.85 busy at the clock
# that its power allows, 1.53 GHz of 1.98 on an H200, and another kernel may do better at both.
MATRIX_MARGIN = 1.5
# A pair of events tells times to about 0.5 us: what is shorter than the first runs several times in a sample, as do the
# versions beside it, unless one then takes longer than the third, or the host longer for it than the fourth.
SHORT_MS, SAMPLE_MS, LONGEST_MS, HOST_MS, MOST_RUNS = 0.05, 0.1, 2.0, 1.0, 32
MOST_FLUSHES = 256  # in front of a sample, about 12 ms
MEMORY_SHARE = 0.1  # of the free memory, for the inputs of these runs
QUEUED_CYCLES = 2_000_000  # about 1 ms in which the host gets ahead of the GPU
Run = Callable[[], object]
Inputs = TypeVar("Inputs")


@dataclass(frozen=True)
class Budget:
    """How long to sample one configuration: rounds between `least` and `most`, about `seconds` in all."""

    least: int = 15
    most: int = 100
    seconds: float = 0.8


@dataclass
class Turns(Generic[Inputs]):
    """One version of a kernel on the inputs of all that it is timed beside, those of one after the other.

    Where inputs lie makes a kernel of 3 us up to 5 % slower, one of 6 us 0.5 % (H200, 2026-12-01). Who gets which is
    drawn anew for every round, so that this is noise, and charged to no version. Those of one window differ: its last
    run finds L2 as cold as the first.
    """

    run: Callable[[Inputs], object]
    pools: list[list[Inputs]]
    place: int
    round: int = 0

    def __call__(self) -> None:
        drawn = random.Random(self.round).sample(self.pools, len(self.pools))[self.place]
        self.round += 1
        for inputs in drawn:
            self.run(inputs)


def by_turns(versions: Sequence[Callable[[Inputs], object]], make: Callable[[], Inputs]) -> list[Turns[Inputs]]:
    """The versions ready to be timed beside each other, on as many inputs of `make` as there are versions.

    Where one takes microseconds, each runs on several in a window: as often as the others, so that what a window costs
    beside its kernels is charged to all alike.
    """
    before = torch.cuda.memory_allocated()
    pools = [[make()] for _ in versions]
    needed = max(1, torch.cuda.memory_allocated() - before)
    arms = [Turns(version, pools, place) for place, version in enumerate(versions)]
    times, host = zip(*map(_queued_ms, arms), strict=True)
    fit = 1 + int(MEMORY_SHARE * torch.cuda.mem_get_info()[0] / needed)
    most = min(MOST_RUNS, fit, int(LONGEST_MS / max(times)), int(HOST_MS / max(host)))
    count = 1 if min(times) >= SHORT_MS else max(1, min(most, math.ceil(SAMPLE_MS / min(times))))
    for pool in pools:
        pool += [make() for _ in range(count - 1)]
    return arms


def _queued_ms(run: Run) -> tuple[float, float]:
    """The GPU's and the host's ms of a second run, which is queued before it begins: the first compiles, or searches."""
    run()
    torch.cuda.synchronize()
    torch.cuda._sleep(QUEUED_CYCLES)
    began = time.perf_counter()
    pair = _sample(run, lambda: None)
    host = time.perf_counter() - began
    torch.cuda.synchronize()
    return max(pair[0].elapsed_time(pair[1]), 1e-3), max(host * 1e3, 1e-3)


class Flush:
    """Evicts L2 before each sample by reading a buffer of four times its size.

    Reading leaves clean lines; a fill would leave dirty ones, whose write-back would be charged to the kernel.
    The read also keeps the GPU busy while the host enqueues the next launch, so no launch gap is timed. `clocks` are
    those of the last rounds.
    """

    def __init__(self) -> None:
        cache = torch.cuda.get_device_properties().L2_cache_size or 64 << 20
        self._buffer = torch.zeros(cache, dtype=torch.float32, device="cuda")
        self.repeats, self.meter = 1, Meter()
        self.clocks: Clocks | None = None

    def __call__(self) -> None:
        for _ in range(self.repeats):
            self._buffer.amax()

    def cover(self, host_ms: float) -> None:
        """Make the flush last at least twice the host's time to enqueue one run."""
        self.repeats = 1
        one_ms = max(_elapsed_ms(self), 1e-3)
        self.repeats = min(MOST_FLUSHES, max(1, math.ceil(2 * host_ms / one_ms)))


def interleaved(arms: Sequence[Run], budget: Budget, flush: Flush) -> list[list[float]]:
    """Milliseconds a run, per arm and round; sample i of every arm belongs to round i. The first round is dropped."""
    return _block(arms, _rounds(arms, budget, flush), random.Random(0), flush)


def compared(arms: Sequence[Run], budget: Budget, flush: Flush) -> list[list[float]]:
    """As `interleaved`, for a kernel, the same once more, and others: on a noisy machine the budget is spent again."""
    rounds, order = _rounds(arms, budget, flush), random.Random(0)
    return until_settled(lambda: _block(arms, rounds, order, flush))


def _rounds(arms: Sequence[Run], budget: Budget, flush: Flush) -> int:
    """How many rounds the budget allows, found out while the GPU warms up."""
    host_ms, arms_ms = _warm_up(arms, flush)
    flush.cover(host_ms)
    round_ms = arms_ms + len(arms) * _elapsed_ms(flush)
    return max(budget.least, min(budget.most, int(budget.seconds * 1e3 / max(round_ms, 1e-3))))


def _block(arms: Sequence[Run], rounds: int, random_order: random.Random, flush: Flush) -> list[list[float]]:
    """Milliseconds a run, per arm and round, after one round that is dropped."""
    order = list(range(len(arms)))
    samples: list[list[tuple[torch.cuda.Event, torch.cuda.Event]]] = [[] for _ in arms]
    for _ in range(rounds + 1):
        random_order.shuffle(order)
        for arm in order:
            samples[arm].append(_sample(arms[arm], flush))
    flush.clocks = flush.meter.read()  # while the GPU is busy with what is queued
    torch.cuda.synchronize()
    counts = [len(arm.pools[0]) if isinstance(arm, Turns) else 1 for arm in arms]
    ends = zip(samples, counts, strict=True)
    return [[start.elapsed_time(end) / count for start, end in pairs[1:]] for pairs, count in ends]


def _sample(run: Run, flush: Run) -> tuple[torch.cuda.Event, torch.cuda.Event]:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    flush()
    start.record()
    run()
    end.record()
    return start, end


def _warm_up(arms: Sequence[Run], flush: Flush) -> tuple[float, float]:
    """Run for at least 0.4 s and until two rounds agree within 1 %, at most 1 s, so that clocks and power have settled.

    Returns (the host's ms for the arm that takes it longest, GPU ms of the runs of a round).
    """
    previous, started, spent = math.inf, time.perf_counter(), 0.0
    while spent < 1.0:
        pairs, begun = [], [time.perf_counter()]
        for run in arms:
            pairs.append(_sample(run, flush))
            begun.append(time.perf_counter())
        host_ms = 1e3 * max(after - before for before, after in pairwise(begun))
        torch.cuda.synchronize()
        now = sum(start.elapsed_time(end) for start, end in pairs)
        spent = time.perf_counter() - started
        if spent >= 0.4 and abs(now - previous) <= 0.01 * now:
            break
        previous = now
    return host_ms, now


def _elapsed_ms(run: Run) -> float:
    """Behind what the GPU has been given already."""
    start, end = _sample(run, lambda: None)
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))


def copy_gbs(flush: Flush) -> float:
    """The most DRAM traffic that plain streaming reaches: best median of a copy and of a three-stream addition."""
    a, b, c = (torch.ones(1 << 28, device="cuda") for _ in range(3))  # 1 GiB each, many times any L2
    copy, add = interleaved([lambda: c.copy_(a), lambda: torch.add(a, b, out=c)], Budget(10, 20, 0.1), flush)
    size = a.numel() * a.element_size()
    bytes_per_ms: float = max(2 * size / median(copy), 3 * size / median(add))
    return bytes_per_ms / 1e6


def matrix_tflops(dtype: torch.dtype, flush: Flush) -> float:
    """The rate of the library's own 8192^3 product on random data, TF32 allowed for float32."""
    n = 8192
    torch.backends.cuda.matmul.allow_tf32 = True
    a, b = (torch.randn((n, n), device="cuda").to(dtype) for _ in range(2))
    (times,) = interleaved([lambda: a @ b], Budget(10, 20, 0.1), flush)
    return 2 * n**3 / median(times) / 1e9


def shortest_ms(moved: float, copy_gbs: float, operations: float, matrix_tflops: float | None) -> float:
    """What no correct kernel can undercut; at most 0 where nothing limits it.

    `moved` are bytes without those that L2 may still hold when the kernel ends. Without a `matrix_tflops` nothing is
    said of operations.
    """
    through_memory = moved / (copy_gbs * COPY_MARGIN) / 1e6
    return max(through_memory, operations / (matrix_tflops * MATRIX_MARGIN) / 1e9 if matrix_tflops else 0.0)
