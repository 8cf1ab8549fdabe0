"""Samples hardware counters with CUPTI while a window of launches runs. Child processes only.

`cupti.pm_sampling` of cupti-python 13.4 with libcupti 13.4. The CUDA context must exist before a collector is enabled.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kdiag.errors import COUNTER_PERMISSION

from .records import INSTALL_CUPTI, SamplingFailed
from .samples import Series
from .windows import Launched, Overflow

# 1,000 samples of 28 metrics of an H200 need more than 16 MB; a larger buffer takes longer to set up.
BUFFER_BYTES = 64 << 20
PERMISSION = (
    "The driver lets only administrators read GPU counters (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES): "
    f"{COUNTER_PERMISSION}."
)
REASONS = {
    "ERROR_INSUFFICIENT_PRIVILEGES": PERMISSION,
    "ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES": "The hypervisor does not let this machine read GPU counters; "
    "ask for a machine with profiling enabled.",
    "ERROR_HARDWARE_BUSY": "Another profiler holds the GPU's counters; end it (ncu, nsys, dcgm) and try again.",
    "ERROR_NOT_SUPPORTED": "This GPU or its driver does not support PM sampling; use ncu.",
    "ERROR_INVALID_DEVICE": "This GPU does not support PM sampling; use ncu.",
    "ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED": "PM sampling does not work on a virtual GPU; use ncu.",
    "ERROR_MIG_DEVICE_NOT_SUPPORTED": "PM sampling does not work on a MIG slice; use ncu.",
    "ERROR_WSL_DEVICE_NOT_SUPPORTED": "PM sampling does not work under WSL; use ncu.",
    "ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED": "PM sampling does not work with confidential computing; use ncu.",
}


@dataclass(frozen=True)
class CuptiSampler:
    """The sampler of the CUDA device `device_index`, whose context must exist."""

    device_index: int

    def record(
        self, metrics: Sequence[str], interval_ns: int, window: Callable[[], Launched]
    ) -> tuple[Series, Launched]:
        """See `Sampler`. `window` must not return before its work is done."""
        with self._collecting() as collector:
            with _explained():
                collector.configure(
                    metrics=list(metrics), sampling_interval=interval_ns, hardware_buffer_size=BUFFER_BYTES
                )
                started = time.monotonic_ns()
                collector.start()
            try:
                launched = window()
            finally:
                with _explained():
                    collector.stop()
            # Room for every sample and little more: 80 kB each are set to zero first.
            most = (time.monotonic_ns() - started) // interval_ns + 10
            with _explained():
                samples = list(collector.decode(max_samples=most))
        return _series(metrics, samples), launched

    @contextlib.contextmanager
    def _collecting(self) -> Iterator[Any]:
        """A collector for one recording: to configure one twice ends the process (SIGSEGV, libcupti 13.4.92)."""
        try:
            from cupti.pm_sampling import Collector
        except ImportError as error:
            raise SamplingFailed(f"cupti-python cannot be used ({error}); {INSTALL_CUPTI}.") from None
        with _explained():
            collector = Collector(device_index=self.device_index)
            collector.enable()
        try:
            yield collector
        finally:
            collector.disable()


def _series(metrics: Sequence[str], samples: Sequence[Any]) -> Series:
    return Series(
        names=tuple(metrics),
        starts_ns=tuple(int(sample.start_timestamp) for sample in samples),
        ends_ns=tuple(int(sample.end_timestamp) for sample in samples),
        values=tuple(tuple(map(float, sample.metric_values)) for sample in samples),
    )


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turn what cupti-python raises into Overflow or a sentence."""
    from cupti import cupti

    try:
        yield
    except MemoryError as error:  # how cupti-python reports records lost in the hardware buffer
        raise Overflow(str(error)) from None
    except PermissionError:
        raise SamplingFailed(PERMISSION) from None
    except cupti.cuptiError as error:
        name = str(error).partition(" ")[0]  # "ERROR_HARDWARE_BUSY (26)"; the status itself is a bare number
        raise SamplingFailed(REASONS.get(name, f"CUPTI refused to sample counters: {error}.")) from None
    except (ValueError, RuntimeError) as error:
        first = str(error).partition(". ")[0].rstrip(".")
        raise SamplingFailed(f"CUPTI cannot sample these counters: {first}.") from None
