"""A sampler and launches that need no GPU, and series of known content."""

from dataclasses import dataclass, field

from kdiag.executors.pm_sampling.samples import Series
from kdiag.executors.pm_sampling.windows import Launched, Overflow
from kdiag.rules.load_pm_sampling import Window

WINDOW = Window("busy", "active", "blocks")
STEP_NS = 20_000


def series(rows, step_ns=STEP_NS):
    """Samples of equal length, one for each row of metric values."""
    names = tuple(rows[0])
    starts = tuple(1 + step_ns * index for index in range(len(rows)))
    return Series(
        names, starts, tuple(s + step_ns for s in starts), tuple(tuple(row[n] for n in names) for row in rows)
    )


def idle(**metrics):
    return {"busy": 0.0, "active": 0.0, "blocks": 0.0} | dict.fromkeys(metrics, 0.0)


def working(**metrics):
    return {"busy": 100.0, "active": 80.0, "blocks": 10.0} | metrics


@dataclass
class FakeSampler:
    """Plays `recorded`; the first `overflows` windows run over."""

    recorded: Series
    overflows: int = 0
    asked: list[tuple[tuple[str, ...], int]] = field(default_factory=list)

    def record(self, metrics, interval_ns, window):
        self.asked.append((tuple(metrics), interval_ns))
        launched = window()
        if len(self.asked) <= self.overflows:
            raise Overflow
        return self.recorded, launched


@dataclass
class FakeLaunches:
    """Says that `launches` of `blocks` blocks ran, whatever the window."""

    launches: int
    blocks: int
    launch_ms: float = 0.2

    def fill(self, window_ms):
        return Launched(self.launches, self.blocks, self.launch_ms)

    def expected_ms(self, window_ms):
        return max(window_ms, self.launch_ms)
