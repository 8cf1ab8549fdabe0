"""What is asked of a sampling child, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from kdiag.errors import KdiagError
from kdiag.records import Evidence
from kdiag.workload import Workload

from ..bench import Source

# Not an extra of kdiag: torch pins the libcupti of its own CUDA release (seen for 2.11 to 2.15), so no resolver accepts
# both in one go. Installed afterwards pip replaces libcupti with a remark, and torch works with it.
INSTALL_CUPTI = 'install it after torch with: pip install "cupti-python>=13.4"'


class SamplingFailed(KdiagError):
    """The counters cannot be sampled here; the message says why and what to do."""


@dataclass(frozen=True)
class PmRequest:
    """Sample the launch of `kernel` in one configuration of a workload; `kernel` "" takes the only one it launches.

    `passes` are names of the architecture's metric set, each one run of the window a hardware pass.
    """

    workload: Workload
    source: Source
    kernel: str = ""
    configuration: int = 0
    passes: tuple[str, ...] = ("default",)


@dataclass(frozen=True)
class PmCounters:
    """What sampling says of one launch of `kernel`. `observations` by canonical metric name.

    `duration_us` is the time between the starts of two launches, by CUDA events over the first window, which held
    `launches`. `seconds` is what sampling took once the launch was captured. `busy_pct` is the smallest share of a
    window in which the card worked, `interval_ns` the longest sampling interval. `notes` qualify the figures.
    """

    kernel: str
    grid: tuple[int, ...]
    observations: Mapping[str, Evidence]
    duration_us: float
    sm_clock_hz: float | None
    launches: int
    seconds: float
    interval_ns: int
    busy_pct: float
    notes: tuple[str, ...] = ()
