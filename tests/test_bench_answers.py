"""Samples of a bench: recorded and replayed."""

import pytest

from kdiag.errors import UsageError
from kdiag.executors.replay import RecordingBench, ReplayBench
from kdiag.isolate import Died
from text_bench import TextBench


def test_samples_are_recorded_and_replayed(tmp_path):
    first, second = tmp_path / "1.py", tmp_path / "2.py"
    first.write_text("0.5")
    second.write_text("0.8")
    recording = RecordingBench(TextBench(float, float), tmp_path / "record.jsonl")
    before = ReplayBench(tmp_path / "record.jsonl")
    assert before.samples(first, "kernel") == Died("error", "the recording holds no samples")
    told = recording.samples(first, "kernel")
    replay = ReplayBench(tmp_path / "record.jsonl")
    assert replay.samples(first, "kernel") == told
    with pytest.raises(UsageError, match="holds no record of samples"):
        replay.samples(second, "kernel")
