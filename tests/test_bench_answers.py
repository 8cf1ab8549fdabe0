"""Races and samples of a bench: recorded and replayed, and what the GPU's child makes of right and wrong racers."""

import pytest

from kdiag.errors import UsageError
from kdiag.executors.bench import Source, Trial
from kdiag.executors.replay import RecordingBench, ReplayBench
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck
from kdiag.workload import Workload
from text_bench import TextBench


def sources(folder, *texts):
    paths = [folder / f"{number}.py" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_races_and_samples_are_recorded_and_replayed(tmp_path):
    parent, first, second = sources(tmp_path, "1", "0.5", "0.8")
    recording = RecordingBench(TextBench(float, float), tmp_path / "record.jsonl")
    before = ReplayBench(tmp_path / "record.jsonl")
    assert before.race(parent, [first], 4, check=True) == Died("error", "the recording holds no race")
    assert before.samples(first, "kernel") == Died("error", "the recording holds no samples")
    told = recording.race(parent, [first, second], 4, check=True), recording.samples(first, "kernel")
    replay = ReplayBench(tmp_path / "record.jsonl")
    assert (replay.race(parent, [first, second], 4, check=True), replay.samples(first, "kernel")) == told
    for asked in ((parent, [second, first], 4), (parent, [first, second], 8)):
        with pytest.raises(UsageError, match="holds no record of a race"):
            replay.race(*asked, check=True)


def test_only_right_racers_are_timed_in_the_child(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from kdiag.executors import device_race

    paths = sources(tmp_path, "MS = 4.0", "MS = 2.0", "MS = 0.0", "MS = 8.0")
    described = tmp_path / "workload.py"
    described.write_text(
        "def configs(): return [{}, {}]\ndef make_inputs(*_): pass\ndef run(module, _): return module.MS\n"
    )

    def check(request):
        right = "0.0" not in request.candidate.path.read_text()
        return Trial((ConfigurationCheck("a", right, None, None),), ())

    monkeypatch.setattr(device_race.device_jobs, "check", check)
    monkeypatch.setattr(device_race, "Flush", lambda: None)
    monkeypatch.setattr(device_race, "interleaved", lambda arms, budget, _: [[arm()] * budget.least for arm in arms])
    parent, *racers = map(Source.of, paths)
    request = device_race.RaceRequest(Workload(described, paths[0], True), parent, tuple(racers), 4, check=True)
    heat = device_race.race(request)
    assert heat.speedups == ((2.0, 2.0), (), (0.5, 0.5))
    assert [trial.passed for trial in heat.trials] == [True, False, True]
