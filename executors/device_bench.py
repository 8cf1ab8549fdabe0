"""The bench on this machine's GPU: every request is a child process with a time limit."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from kdiag import isolate
from kdiag.errors import KdiagError, ToolMissing, UsageError
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck, Gpu, NotEvaluated, Observations
from kdiag.workload import Workload

from . import gpu_pool
from .bench import Baseline, Counters, Heat, Source, Trial, counters_in
from .halving import Speedups, halved
from .ncu.collect import NoCounters, Waiting, prepare
from .pm_sampling.sample import request as sampling_of
from .pm_sampling.sample import sample

if TYPE_CHECKING:
    from .device_jobs import BaselineRequest

PROBE_S = 120.0  # the first child also waits for the server's `import torch`
# Racers whose checks share the card, on half of the cores: most of a check is compiling, and the rest is memory.
CHECKED_AT_ONCE = 8
SEARCH = re.compile(r"\b(exhaustive_search|autotune_launch)\(")
# Where the report will be, and who writes it.
Profiler = tuple["tempfile.TemporaryDirectory[str]", Waiting | NoCounters]


@dataclass(frozen=True)
class DeviceBench:
    """Measures a Python workload. `timeout_s` bounds one baseline or one trial, compilation included.

    `metrics` are the counters to collect, by Nsight Compute's names; `read_report` turns the report into
    observations of one kernel. `gpus` are the executors to spread the work over (see `gpu_pool`); without
    any, all is measured on the current GPU.
    """

    workload: Workload
    card: Gpu
    metrics: tuple[str, ...]
    read_report: Callable[[Path, str], Observations]
    timeout_s: float = 120.0
    gpus: tuple[Executor, ...] = ()
    _admitted: set[str] = field(init=False, default_factory=set)
    _searched: set[str] = field(init=False, default_factory=set)
    _profilers: dict[str, Profiler] = field(init=False, default_factory=dict)

    def gpu(self) -> Gpu | None:
        return self.card

    def baseline(self, source: Path) -> Baseline | Died:
        """Check and time one source, and find out what else it can do: candidates must be able to do that as well."""
        from . import device_jobs

        requests = [
            device_jobs.BaselineRequest(part, Source.of(source))
            for part in gpu_pool.parts(self.workload, len(self.gpus))
        ]
        answers = gpu_pool.on_each(self.gpus, device_jobs.baseline, requests, self.timeout_s)
        answer = gpu_pool.joined(answers, "configurations")
        if isinstance(answer, Died) or not answer.passed:
            return answer
        found = _survey(device_jobs.BaselineRequest(self.workload, Source.of(source)), self.timeout_s)
        self._admitted.update(check.configuration for check in found.checks)
        return replace(answer, checks=(*answer.checks, *found.checks), not_evaluated=found.not_evaluated)

    def counters(self, source: Path, kernel: str) -> Counters | Died:
        """Profile a launch of `kernel` with Nsight Compute, in the second run of the first configuration."""
        folder, waiting = self._profilers.pop(kernel) if kernel in self._profilers else self._profiler(kernel)
        with folder:
            answer = waiting if isinstance(waiting, NoCounters) else waiting.collect(source)
            if isinstance(answer, NoCounters):
                return Died("error", answer.reason)
            self.get_ready(kernel)
            return counters_in(answer, kernel, self.read_report)

    def get_ready(self, kernel: str) -> None:
        """Start a profiler of `kernel` that waits, so that the next counters of it are there in half the time."""
        self._profilers[kernel] = self._profiler(kernel)

    def _profiler(self, kernel: str) -> Profiler:
        folder = tempfile.TemporaryDirectory(prefix="kdiag-ncu-")
        return folder, prepare(self.workload, kernel, self.metrics, Path(folder.name) / "counters.ncu-rep")

    def trial(self, parent: Path, candidate: Path) -> Trial | Died:
        from . import device_jobs

        self._compile([candidate])
        requests = [
            device_jobs.TrialRequest(part, Source.of(parent), Source.of(candidate), frozenset(self._admitted))
            for part in gpu_pool.parts(self.workload, len(self.gpus))
        ]
        answers = gpu_pool.on_each(self.gpus, device_jobs.trial, requests, self.timeout_s)
        return gpu_pool.joined(answers, "timings")

    def checks(self, parent: Path, candidates: Sequence[Path]) -> tuple[Trial | Died, ...]:
        """Check each candidate in a child of its own, which also fills the cache of cuTile's compiler.

        One that died is checked again by itself: several together may want more memory than the card has.
        """
        from . import device_jobs

        self._compile(candidates)
        requests = [device_jobs.TrialRequest(self.workload, Source.of(parent), Source.of(one)) for one in candidates]
        cores = (os.cpu_count() or 1) // max(1, len(self.gpus))
        at_once = max(1, min(CHECKED_AT_ONCE, cores // 2))
        answers = gpu_pool.in_turn(self.gpus, device_jobs.check, requests, at_once=at_once, timeout_s=self.timeout_s)
        again = [isinstance(answer, Died) and answer.kind != "timeout" for answer in answers]
        return tuple(
            isolate.run(device_jobs.check, request, timeout_s=self.timeout_s) if retry else answer
            for request, answer, retry in zip(requests, answers, again, strict=True)
        )

    def _compile(self, candidates: Sequence[Path]) -> None:
        """See `compile_searches`; each candidate once."""
        new = [each for path in candidates if (each := Source.of(path)).hash not in self._searched]
        self._searched.update(each.hash for each in new)
        compile_searches(self.workload, new, self.timeout_s)

    def race(self, parent: Path, candidates: Sequence[Path], slower_pct: float) -> Heat | Died:
        """Time the candidates interleaved with `parent`: what one of them breaks ends the race.

        On one GPU all heats are of one child; on several, which must agree after each, every heat has one on each.
        """
        from . import device_race

        of, racers = Source.of(parent), tuple(map(Source.of, candidates))
        if len(self.gpus) < 2:
            request = device_race.RaceRequest(self.workload, of, racers, slower_pct)
            return isolate.run(device_race.race, request, timeout_s=self.timeout_s)
        parts = gpu_pool.parts(self.workload, len(self.gpus))

        def time(alive: Sequence[int], least: int) -> tuple[int, Speedups] | Died:
            left = tuple(racers[n] for n in alive)
            requests = [device_race.HeatRequest(part, of, left, least) for part in parts]
            answers = gpu_pool.on_each(self.gpus, device_race.heat, requests, self.timeout_s)
            return gpu_pool.one_heat(answers)

        return halved(len(racers), time, slower_pct)

    def samples(self, source: Path, kernel: str) -> Counters | Died:
        """Sample the counters of `kernel` in the first configuration while it is launched over and over."""
        answer = sample(sampling_of(self.workload, source, kernel))
        return Died("error", answer.reason) if isinstance(answer, NoCounters) else Counters(answer.observations)


def compile_searches(workload: Workload, sources: Sequence[Source], timeout_s: float) -> None:
    """Fill cuTile's cache with what the sources search, on half of the cores, in so many seconds.

    What fails here will say so when it is checked.
    """
    from . import device_jobs

    cores = max(1, min(CHECKED_AT_ONCE, (os.cpu_count() or 1) // 2))
    searching = [each for each in sources if SEARCH.search(each.path.read_text(encoding="utf-8"))]
    requests = [device_jobs.ShareRequest(workload, each, n, cores) for each in searching for n in range(cores)]
    with isolate.ending_within(timeout_s):  # all together
        isolate.run_all(device_jobs.compile_share, requests, at_once=cores, timeout_s=timeout_s)


def choose_gpus(selection: str, workload: Workload) -> tuple[tuple[str, ...], Gpu]:
    """The GPUs of `--gpus` by CUDA's names, as many as the workload has configurations, and their card.

    Raises KdiagError, also if they are of several kinds: the times of all are compared with one limit.
    """
    from . import device_jobs

    count = isolate.run(device_jobs.devices, None, timeout_s=PROBE_S)
    configurations = isolate.run(device_jobs.configurations, workload, timeout_s=PROBE_S)
    if isinstance(count, Died) or isinstance(configurations, Died):
        died = next(answer for answer in (count, configurations) if isinstance(answer, Died))
        raise KdiagError(f"--gpus {selection} cannot be followed: {died.message}.")
    names = gpu_pool.visible(selection, count)[: max(1, configurations)]
    gpus = gpu_pool.executors(names)
    answers = gpu_pool.on_each(gpus, device_jobs.probe, [None] * len(names), timeout_s=PROBE_S)
    cards = [answer for answer in answers if isinstance(answer, Gpu)]
    kinds = sorted({card.name for card in cards})
    if len(cards) < len(names) or len(kinds) > 1:
        heard = ", ".join(kinds) or "none that answers"
        raise UsageError(f"--gpus {selection} must be cards of one kind, and is: {heard}; choose others.")
    return names, cards[0]


def probe_gpu() -> Gpu | None:
    """The current CUDA device as torch names it; None without a GPU or without torch.

    Raises ToolMissing if torch is there but cannot be asked.
    """
    if find_spec("torch") is None:
        return None
    from .device_jobs import probe

    answer = isolate.run(probe, None, timeout_s=PROBE_S)
    if isinstance(answer, Died):
        raise ToolMissing(f"Asking torch for a GPU failed: {answer.message}; try `python -c 'import torch'`.")
    return answer


def copy_bandwidth() -> float | Died:
    """The GB/s, read and written, that plain streaming reaches on the current GPU: a few seconds."""
    from . import device_jobs

    return isolate.run(device_jobs.copy_bandwidth, None, timeout_s=PROBE_S)


def check_on_device(workload: Workload, parent: Path, candidate: Path, *, timeout_s: float = 120.0) -> Trial | Died:
    """All checks that the parent passes; nothing is timed."""
    from . import device_jobs

    found = _survey(device_jobs.BaselineRequest(workload, Source.of(parent)), timeout_s)
    admitted = frozenset(check.configuration for check in found.checks)
    request = device_jobs.TrialRequest(workload, Source.of(parent), Source.of(candidate), admitted)
    answer = isolate.run(device_jobs.check, request, timeout_s=timeout_s)
    return answer if isinstance(answer, Died) else replace(answer, not_evaluated=found.not_evaluated)


def _survey(request: BaselineRequest, timeout_s: float) -> Trial:
    """What a kernel can do beyond what is required; nothing is asked of others if it takes the device with it."""
    from . import device_jobs

    found = isolate.run(device_jobs.survey, request, timeout_s=timeout_s)
    if isinstance(found, Died):
        found = (NotEvaluated("stress", "every case", f"the unedited kernel: {found.message}"),)
    return Trial(
        tuple(one for one in found if isinstance(one, ConfigurationCheck)),
        (),
        tuple(one for one in found if isinstance(one, NotEvaluated)),
    )
