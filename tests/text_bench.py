"""A bench that takes its figures from the text of the sources: for runs of the whole loop without a GPU."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kdiag import isolate
from kdiag.executors.bench import Baseline, ConfigurationBaseline, Counters, Heat, Trial
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck, ConfigurationTiming, Evidence


@dataclass
class TextBench:
    """`ms` is the time of a source, None for a wrong one; `instructions` are its counters; `dies`: no heat ends well.

    `left` are the seconds that were left when checks and trials began.
    """

    ms: Callable[[str], float | None]
    instructions: Callable[[str], float] = lambda _: 100.0
    dies: bool = False
    trials: list[str] = field(default_factory=list)
    left: list[float] = field(default_factory=list)

    def gpu(self):
        return None

    def baseline(self, source):
        ms = self.ms(source.read_text()) or 1.0
        row = ConfigurationBaseline("a", ms, 0.0, ms / 2, "copy bandwidth")
        return Baseline(_checks(right=True), (row,), 4000.0)

    def counters(self, source, kernel):
        return Died("error", f"no profiler for {kernel} of {source.name}")

    def samples(self, source, kernel):
        value = self.instructions(source.read_text())
        return Counters({"instructions": Evidence("metric", kernel, value)})

    def trial(self, parent, candidate):
        self.trials.append(candidate.read_text())
        self.left.append(isolate.time_left(1e9))
        before, after = self.ms(parent.read_text()), self.ms(self.trials[-1])
        if after is None or before is None:
            return Trial(_checks(right=False), ())
        speedup = before / after
        timing = ConfigurationTiming("a", before, after, speedup, 0.998 * speedup, 1.002 * speedup, 0.002, 50)
        return Trial(_checks(right=True), (timing,))

    def checks(self, parent, candidates):
        self.left.append(isolate.time_left(1e9))
        return tuple(Trial(_checks(right=self.ms(path.read_text()) is not None), ()) for path in candidates)

    def race(self, parent, candidates, slower_pct):
        if self.dies:
            return Died("crash", "an illegal memory access")
        before, times = self.ms(parent.read_text()) or 1.0, [self.ms(path.read_text()) for path in candidates]
        return Heat(tuple((before / ms,) for ms in times if ms is not None), (16,) * len(times))


def _checks(*, right):
    return (ConfigurationCheck("a", right, 0.0 if right else 9.0, 1.0),)
