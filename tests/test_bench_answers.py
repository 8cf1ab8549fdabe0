"""Races and samples of a bench: recorded and replayed, and what the GPU's child makes of right and wrong racers."""

from functools import partial

import pytest

from kdiag.errors import KdiagError
from kdiag.executors.bench import Source, Trial
from kdiag.executors.replay import Asked, RecordingBench, ReplayBench
from kdiag.isolate import Died
from kdiag.records import Gpu
from kdiag.workload import Workload
from text_bench import TextBench

ASKED = Asked("tilegym", {"target_pct_of_peak": 90.0, "gpu": None})


def sources(folder, *texts):
    paths = [folder / f"{number}.py" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_races_and_samples_are_recorded_and_replayed(tmp_path):
    parent, first, second = sources(tmp_path, "1", "0.5", "0.8")
    recording = RecordingBench(TextBench(float, float), tmp_path / "record.jsonl", ASKED)
    before = ReplayBench(tmp_path / "record.jsonl")
    no_race, no_check = (Died("error", f"the recording holds no {kind}") for kind in ("race", "check"))
    assert (before.race(parent, [first], 2.0), before.checks(parent, [first])) == (no_race, (no_check,))
    assert before.samples(first, "kernel") == Died("error", "the recording holds no samples")

    def ask(bench):
        several = parent, [first, second]
        return bench.checks(*several), bench.race(*several, 2.0), bench.samples(first, "kernel")

    told = ask(recording)
    replay = ReplayBench(tmp_path / "record.jsonl")
    assert (ask(replay), replay.asked) == (told, ASKED)
    with pytest.raises(KdiagError, match="holds no record of a race"):
        replay.race(parent, [second, first], 2.0)


def test_racers_are_timed_beside_their_parent_in_each_configuration(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from kdiag.executors import device_race

    paths = sources(tmp_path, "MS = 4.0", "MS = 2.0", "MS = 8.0", "MS = 4.0")
    described = tmp_path / "workload.py"
    described.write_text(
        "def configs(): return [{}, {}]\ndef make_inputs(*_): pass\ndef run(module, _): return module.MS\n"
    )
    monkeypatch.setattr(device_race, "Flush", lambda: None)
    monkeypatch.setattr(device_race.device_jobs, "by_turns", lambda each, make: [partial(one, make()) for one in each])
    monkeypatch.setattr(device_race, "interleaved", lambda arms, budget, _: [[arm()] * budget.least for arm in arms])
    parent, *racers = map(Source.of, paths)
    heat = device_race.race(device_race.RaceRequest(Workload(described, paths[0], True), parent, tuple(racers), 2.0))
    assert heat.speedups == ((2.0, 2.0), (0.5, 0.5), (1.0, 1.0))
    assert heat.rounds == (8, 4, 8)


def test_a_candidate_that_died_among_others_is_checked_again_by_itself(tmp_path, monkeypatch):
    device_bench = pytest.importorskip("kdiag.executors.device_bench")
    pytest.importorskip("torch")
    right, died, late = Trial((), ()), Died("error", "out of memory"), Died("timeout", "no answer")
    monkeypatch.setattr(device_bench.isolate, "run_all", lambda *_, **__: (right, died, late))
    monkeypatch.setattr(device_bench.isolate, "run", lambda *_, **__: right)
    paths = sources(tmp_path, "1", "2", "3", "4")
    bench = device_bench.DeviceBench(Workload(paths[0], paths[0], True), Gpu("", "9.0", 1), (), lambda *_: {})
    assert bench.checks(paths[0], paths[1:]) == (right, right, late)
