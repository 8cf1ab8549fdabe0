"""What the child does that times a kernel, on the CPU: cold samples in random order, clocks, and a check afterwards."""

import re
from functools import partial
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")

from kdiag.executors import clocks, device_jobs, device_timing
from kdiag.executors.bench import Source
from kdiag.executors.correctness.subject import Subject
from kdiag.executors.device_timing import Budget, Flush, interleaved
from kdiag.executors.gates.correctness import correctness
from kdiag.executors.paired_statistics import timing
from kdiag.records import Clocks
from kdiag.workload import Workload
from scaled_vector import WORKLOAD


class Card(Flush):
    """A flush with the card behind it: `ms` is the card's time, `host_ms` the host's, to which an arm costs 0.09 ms."""

    def __init__(self):
        self.ms, self.host_ms, self.repeats, self.log = 0.0, 0.0, 1, []
        self._buffer = SimpleNamespace(amax=lambda: self.run("flush", 0.04, 0.0))
        self.meter = SimpleNamespace(read=lambda: self.log.append("clocks"))

    def run(self, name, ms, host_ms=0.09):
        self.log.append(name)
        self.ms += ms
        self.host_ms += host_ms

    def event(self, **_):
        event = SimpleNamespace(elapsed_time=lambda end: end.ms - event.ms)
        event.record = lambda: vars(event).update(ms=self.ms)
        return event

    def synchronize(self):
        self.log.append("wait")
        self.host_ms = max(self.host_ms, self.ms)


@pytest.fixture
def card(monkeypatch):
    """A card of much memory in the place of torch's, which counts a sleep as 1 ms."""
    card = Card()
    for name, stand_in in {
        "Event": card.event,
        "synchronize": card.synchronize,
        "_sleep": lambda _: card.run("sleep", 1.0),
        "memory_allocated": lambda: 0,
        "mem_get_info": lambda: (1e9, 1e9),
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    monkeypatch.setattr(device_timing, "time", SimpleNamespace(perf_counter=lambda: card.host_ms / 1e3))
    return card


@pytest.mark.parametrize(("least", "most", "rounds"), [(3, 50, 18), (3, 9, 9), (30, 50, 30)])
def test_samples_are_cold_and_each_round_has_every_arm_once_in_random_order(card, least, most, rounds):
    arms = [lambda name=name, ms=ms: card.run(name, ms + 1e-6 * len(card.log)) for name, ms in (("a", 2), ("b", 3))]
    for _ in range(2):  # the second configuration like the first
        card.log.clear()
        times = interleaved(arms, Budget(least, most, 0.1), card)
        *before, last, _ = card.log
        timed = before[len(before) - before[::-1].index("wait") :]
        order = timed[5::6]
        assert (timed, last) == ([word for arm in order for word in (*["flush"] * 5, arm)], "clocks")
        each = list(zip(order[::2], order[1::2], strict=True))
        assert (len(each), {*each}) == (rounds + 1, {("a", "b"), ("b", "a")})
        for name, ms, column in zip("ab", (2, 3), times, strict=True):
            places = [place for place, what in enumerate(before) if what == name]
            assert column == pytest.approx([ms + 1e-6 * place for place in places[-rounds:]], abs=1e-8)


@pytest.mark.parametrize(
    ("ms", "longer", "host", "free", "runs"),
    [
        (0.06, 2, 0.02, 1e9, 1),
        (0.04, 2, 0.02, 1e9, 3),
        (0.004, 2, 0.02, 1e9, 25),
        (0.001, 2, 0.02, 1e9, 32),
        (0.004, 2, 0.02, 300, 4),
        (0.004, 2, 0.02, 0, 1),
        (0.004, 50, 0.02, 1e9, 10),
        (0.004, 999, 0.02, 1e9, 1),
        (0.004, 2, 0.3, 1e9, 3),
        (0.004, 2, 5.0, 1e9, 1),
    ],
)
def test_a_run_of_microseconds_is_timed_several_times_each_on_inputs_of_its_own(
    card, monkeypatch, ms, longer, host, free, runs
):
    made = []
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 5 * len(made))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free, 1e9))

    def make():
        made.append(len(made))
        return made[-1]

    versions = [
        lambda number: card.run(f"a{number}", longer * ms, 0.01),
        lambda number: card.run(f"b{number}", ms, host),
    ]
    arms = device_timing.by_turns(versions, make)
    assert len(made) == 2 * runs
    times = interleaved(arms, Budget(20, 20, 0.1), card)
    assert times == [pytest.approx([longer * ms] * 20), pytest.approx([ms] * 20)]
    samples = [each.split() for each in re.split("(?:flush )+", " ".join(card.log).removesuffix(" clocks wait"))[-42:]]
    first, second = ({int(run[1:]) for run in samples[0] + samples[1] if run[0] == name} for name in "ab")
    assert (first | second, len(first), len(second)) == ({*made}, runs, runs), "in a round each on inputs of its own"
    taken = [frozenset(int(run[1:]) for run in sample) for sample in samples if sample[0][0] == "a"]
    assert {*taken} == {frozenset(first), frozenset(second)}, "every version has all of them in its turn"


def test_where_inputs_lie_is_charged_to_no_version(card):
    places = iter((0.06, 0.062, 0.065))
    arms = device_timing.by_turns([lambda ms: card.run("kernel", ms)] * 3, lambda: next(places))
    parent, twin, candidate = interleaved(arms, Budget(100, 100, 0.1), card)
    timed = timing("", parent, twin, candidate)
    assert timed.low < 1 < timed.high
    assert abs(timed.speedup - 1) < 0.01


def nvml(error=0, card=b"GPU-7-7", sm=1785, memory=2619):
    """Stands for NVML's library; what it has no value for it answers with an error."""

    def answer(value, out):
        out._obj.value = value or 0
        return 0 if value is not None else 3

    return SimpleNamespace(
        nvmlInit_v2=lambda: error,
        nvmlDeviceGetHandleByUUID=lambda uuid, out: answer(7 if uuid == card else None, out),
        nvmlDeviceGetClockInfo=lambda card, kind, out: answer({(7, 1): sm, (7, 2): memory}[card.value, kind], out),
    )


@pytest.mark.parametrize(
    ("library", "read"),
    [
        (nvml(), Clocks(1785, 2619)),
        *((partly, Clocks(1785)) for partly in (nvml(memory=None), nvml(memory=0))),
        *((broken, None) for broken in (nvml(18), nvml(card=b""), nvml(sm=None), nvml(sm=0), SimpleNamespace(), None)),
    ],
)
def test_clocks_are_read_where_nvml_tells_them(monkeypatch, library, read):
    def load(name):
        if library is None:
            raise OSError(f"{name}: cannot open shared object file")
        return library

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: SimpleNamespace(uuid="7-7"))
    monkeypatch.setattr(clocks, "CDLL", load)
    assert clocks.Meter().read() == read


KERNEL = "calls = []\ndef scale(x):\n    calls.append(x)\n    return x * (2 if len(calls) <= {} else 3)\n"


@pytest.mark.parametrize(("right_for", "outcome", "told"), [(99, "passed", "basic"), (7, "failed", "after timing")])
def test_what_becomes_wrong_while_it_is_timed_is_wrong(monkeypatch, tmp_path, right_for, outcome, told):
    for name, stand_in in {
        "Subject": partial(Subject, device="cpu"),
        "Flush": lambda: SimpleNamespace(clocks=None),
        "by_turns": lambda versions, make: [partial(version, make()) for version in versions],
        "compared": lambda arms, *_: [[arm().numel() for _ in "abc"] for arm in arms],
    }.items():
        monkeypatch.setattr(device_jobs, name, stand_in)
    texts = (WORKLOAD.replace("=device", "='cpu'"), KERNEL.format(99), KERNEL.format(right_for))
    paths = [tmp_path / name for name in ("workload.py", "scale.py", "candidate.py")]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    request = device_jobs.TrialRequest(Workload(*paths[:2], True), *map(Source.of, paths[1:]))
    trial = device_jobs.trial(request)
    record = correctness(trial)
    assert (record.outcome, told in record.reason, len(trial.timings)) == (outcome, True, 2)
