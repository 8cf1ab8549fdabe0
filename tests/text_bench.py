"""A bench that takes its figures from the text of the sources: for runs of the whole loop without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kdiag.executors.bench import Baseline, ConfigurationBaseline, Counters, Trial
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck, ConfigurationTiming, Evidence, Gpu


@dataclass
class TextBench:
    """`ms` is the time of a source, None for a wrong one; `instructions` are its counters."""

    ms: Callable[[str], float | None]
    instructions: Callable[[str], float] = lambda _: 100.0

    def gpu(self) -> Gpu | None:
        return None

    def baseline(self, source: Path) -> Baseline | Died:
        ms = self.ms(source.read_text()) or 1.0
        row = ConfigurationBaseline("a", ms, 0.0, ms / 2, "copy bandwidth")
        return Baseline(_checks(right=True), (row,), 4000.0)

    def counters(self, source: Path, kernel: str) -> Counters | Died:
        return Died("error", f"no profiler for {kernel} of {source.name}")

    def samples(self, source: Path, kernel: str) -> Counters | Died:
        value = self.instructions(source.read_text())
        return Counters({"instructions": Evidence("metric", kernel, value)})

    def trial(self, parent: Path, candidate: Path) -> Trial | Died:
        before, after = self.ms(parent.read_text()), self.ms(candidate.read_text())
        if after is None or before is None:
            return Trial(_checks(right=False), ())
        speedup = before / after
        timing = ConfigurationTiming("a", before, after, speedup, 0.998 * speedup, 1.002 * speedup, 0.002, 50)
        return Trial(_checks(right=True), (timing,))


def _checks(*, right: bool) -> tuple[ConfigurationCheck, ...]:
    return (ConfigurationCheck("a", right, 0.0 if right else 9.0, 1.0),)
