"""What cupti-python is asked and how its failures read; a stand-in plays the package."""

import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from kdiag.executors.pm_sampling.collector import CuptiSampler
from kdiag.executors.pm_sampling.records import SamplingFailed
from kdiag.executors.pm_sampling.windows import Launched, Overflow

RAN = Launched(launches=2, blocks=3, launch_ms=0.1)


class CuptiError(Exception):
    """As cupti.cupti.cuptiError: the message starts with the name of the status."""


@dataclass
class Sample:
    start_timestamp: int
    end_timestamp: int
    metric_values: list[float]


@dataclass
class Cupti:
    """The calls made so far, and the step that fails with an error."""

    calls: list[tuple[str, dict[str, Any]]]
    failing: str = ""
    error: Exception = field(default_factory=Exception)

    def __call__(self, **options):
        self._step("new", options)
        return self

    def __getattr__(self, name):
        return lambda **options: self._step(name, options)

    def decode(self, **options):
        self._step("decode", options)
        return [Sample(5, 7, [1, 2.5])]

    def _step(self, name, options):
        self.calls.append((name, options))
        if name == self.failing:
            raise self.error


@pytest.fixture
def cupti(monkeypatch):
    played = Cupti([])
    package = ModuleType("cupti")
    package.cupti, package.pm_sampling = ModuleType("cupti.cupti"), ModuleType("cupti.pm_sampling")
    package.cupti.cuptiError, package.pm_sampling.Collector = CuptiError, played
    for module in (package, package.cupti, package.pm_sampling):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return played


def test_a_recording_takes_a_collector_of_its_own_and_leaves_none(cupti):
    series, launched = CuptiSampler(3).record(["a", "b"], 100_000, lambda: RAN)
    assert [name for name, _ in cupti.calls] == [
        "new", "enable", "configure", "start", "stop", "decode", "disable"
    ]  # fmt: skip
    assert cupti.calls[0][1] == {"device_index": 3}
    assert cupti.calls[2][1]["metrics"] == ["a", "b"]
    assert cupti.calls[2][1]["sampling_interval"] == 100_000
    assert (series.names, series.starts_ns, series.ends_ns, series.values) == (("a", "b"), (5,), (7,), ((1, 2.5),))
    assert launched is RAN


@pytest.mark.parametrize(
    ("step", "error", "sentence"),
    [
        ("enable", PermissionError("see the web"), "NVreg_RestrictProfilingToAdminUsers=0"),
        ("start", CuptiError("ERROR_HARDWARE_BUSY (26)"), "Another profiler holds the GPU's counters"),
        ("start", CuptiError("ERROR_NEW (99)"), r"CUPTI refused to sample counters: ERROR_NEW \(99\)\."),
        ("configure", ValueError("Not supported. This may mean. Or that."), "these counters: Not supported.$"),
        ("enable", RuntimeError("CUPTI could not load nvperf"), "these counters: CUPTI could not load nvperf.$"),
    ],
)
def test_a_failure_is_one_sentence_and_the_collector_is_gone(cupti, step, error, sentence):
    cupti.failing, cupti.error = step, error
    with pytest.raises(SamplingFailed, match=sentence):
        CuptiSampler(0).record(["a", "b"], 100_000, lambda: RAN)
    assert (cupti.calls[-1][0] == "disable") == (step != "enable")


def test_a_package_without_pm_sampling_is_too_old(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupti", ModuleType("cupti"))
    monkeypatch.delitem(sys.modules, "cupti.pm_sampling", raising=False)
    with pytest.raises(SamplingFailed, match=r'cannot be used \(.*\); .* pip install "cupti-python>=13.4"\.$'):
        CuptiSampler(0).record(["a"], 100_000, lambda: RAN)


def test_lost_records_are_an_overflow(cupti):
    cupti.failing, cupti.error = "decode", MemoryError("Record overflow in the hardware buffer.")
    with pytest.raises(Overflow):
        CuptiSampler(0).record(["a", "b"], 100_000, lambda: RAN)
    assert cupti.calls[-1][0] == "disable"


def test_a_window_that_fails_still_stops_the_sampling(cupti):
    def broken():
        raise RuntimeError("an illegal memory access")

    with pytest.raises(RuntimeError, match="an illegal memory access"):
        CuptiSampler(0).record(["a", "b"], 100_000, broken)
    assert [name for name, _ in cupti.calls][-2:] == ["stop", "disable"]
