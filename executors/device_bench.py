"""The bench on this machine's GPU: every request is a child process with a time limit."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kdiag import isolate
from kdiag.errors import KdiagError, ToolMissing, UsageError
from kdiag.executors import gpu_pool
from kdiag.executors.bench import Baseline, Counters, Source, Trial
from kdiag.executors.ncu.collect import NoCounters, collect
from kdiag.isolate import Died
from kdiag.records import Gpu, Observations
from kdiag.workload import Workload

PROBE_S = 120.0  # the first child also waits for the server's `import torch`


@dataclass(frozen=True)
class DeviceBench:
    """Measures a Python workload. `timeout_s` bounds one baseline or one trial, compilation included.

    `metrics` are the counters to collect, by Nsight Compute's names; `read_report` turns the report into
    observations of one kernel. `gpus` are the executors to spread the configurations over (see `gpu_pool`); without
    any, all is measured on the current GPU.
    """

    workload: Workload
    card: Gpu
    metrics: tuple[str, ...]
    read_report: Callable[[Path, str], Observations]
    timeout_s: float = 120.0
    gpus: tuple[Executor, ...] = ()

    def gpu(self) -> Gpu | None:
        """The card that measures."""
        return self.card

    def baseline(self, source: Path) -> Baseline | Died:
        """Check and time one source."""
        from kdiag.executors import device_jobs

        requests = [
            device_jobs.BaselineRequest(part, Source.of(source))
            for part in gpu_pool.parts(self.workload, len(self.gpus))
        ]
        answers = gpu_pool.on_each(self.gpus, device_jobs.baseline, requests, self.timeout_s)
        return gpu_pool.joined(answers, "configurations")

    def counters(self, source: Path, kernel: str) -> Counters | Died:
        """Profile the second launch of `kernel` in the first configuration with Nsight Compute."""
        with tempfile.TemporaryDirectory(prefix="kdiag-ncu-") as folder:
            report = Path(folder) / "counters.ncu-rep"
            answer = collect(self.workload, source, kernel, self.metrics, report)
            if isinstance(answer, NoCounters):
                return Died("error", answer.reason)
            return Counters(self.read_report(report, kernel))

    def trial(self, parent: Path, candidate: Path) -> Trial | Died:
        """Check `candidate`, then time it interleaved with `parent`."""
        from kdiag.executors import device_jobs

        requests = [
            device_jobs.TrialRequest(part, Source.of(parent), Source.of(candidate))
            for part in gpu_pool.parts(self.workload, len(self.gpus))
        ]
        answers = gpu_pool.on_each(self.gpus, device_jobs.trial, requests, self.timeout_s)
        return gpu_pool.joined(answers, "timings")


def choose_gpus(selection: str, workload: Workload) -> tuple[tuple[str, ...], Gpu]:
    """The GPUs of `--gpus` by CUDA's names, as many as the workload has configurations, and their card.

    Raises KdiagError, also if they are of several kinds: the times of all are compared with one limit.
    """
    from kdiag.executors import device_jobs

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
    from kdiag.executors.device_jobs import probe

    answer = isolate.run(probe, None, timeout_s=PROBE_S)
    if isinstance(answer, Died):
        raise ToolMissing(f"Asking torch for a GPU failed: {answer.message}; try `python -c 'import torch'`.")
    return answer


def check_on_device(
    workload: Workload, parent: Path, candidate: Path, *, timeout_s: float = 120.0
) -> Trial | Died:
    """The checks of a trial alone; nothing is timed."""
    from kdiag.executors import device_jobs

    request = device_jobs.TrialRequest(workload, Source.of(parent), Source.of(candidate))
    return isolate.run(device_jobs.check, request, timeout_s=timeout_s)
