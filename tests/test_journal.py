"""A run that is killed at any byte of its journal resumes from what was on disk, and from nothing else."""

import errno
import io
import json
import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag import records
from kdiag.codec import DecodeError, decode, encode
from kdiag.errors import UsageError
from kdiag.journal import CandidateReady, IterationDone, Journal, JournalError, Note, Resumed, Start, Stop, Tree, read
from kdiag.records import ConfigurationCheck, Iteration
from kdiag.run_state import state

START = Start(
    kernel="softmax",
    workload="/user/workload.py",
    repository="/user",
    worktree="/run/worktree",
    branch="cutile-perf-softmax-20260102",
    base_commit="b" * 40,
    target="ops/softmax.py",
    gpu="NVIDIA H200",
    policy="adaptive",
    version="0.1.0",
    time="2026-01-02T03:04:05+00:00",
    options={"exact": False, "budget_s": 120.0, "only": None},
)
BASELINE = Iteration(0, "baseline", "", "baseline", "PASS", 0.18, None, "keep", "as found")
KEPT = Iteration(1, "H", "exp2", "exp2", "PASS", 0.13, 1.35, "keep", "35 % faster", commit="c" * 40)
REVERTED = Iteration(2, "A", "", "tile loads", "PASS", 1.02, 0.18, "revert", "slower", commit=None)
READY = Iteration(3, "B", "", "persistent", "-", None, None, "ready", "no GPU")
WAITS = CandidateReady("B", "", "/run/003-B.patch", "d" * 64)
EVENTS = (
    START,
    *map(IterationDone, (BASELINE, KEPT, REVERTED, READY)),
    WAITS,
    Note("no counters"),
    Tree({"open": ["B"], "weight": math.inf, "nested": {"a": [1, None, True]}}),
    Stop("no GPU", "2026-01-02T03:05:05+00:00"),
)


def written(path, events=EVENTS):
    with Journal.create(path, events[0]) as journal:
        for event in events[1:]:
            journal.append(event)
    return path


# ---- codec

NAMES = ("Iteration", "Suggestion", "Profile", "CompileEvidence", "Launch", "Verdict")
RECORDS = [*(getattr(records, name) for name in NAMES), Start, CandidateReady]


st.register_type_strategy(Mapping, lambda hint: st.dictionaries(*map(st.from_type, get_args(hint)), max_size=3))


@pytest.mark.parametrize("record", RECORDS)
def test_every_record_survives_a_round_trip_through_json(record):
    @settings(max_examples=30, deadline=None)
    @given(st.from_type(record))
    def round_trip(value):
        text = json.dumps(encode(value), allow_nan=False)
        assert repr(decode(record, json.loads(text))) == repr(value)  # repr: NaN does not equal itself

    round_trip()


def test_ints_floats_and_bools_keep_their_type():
    for value in (1, 1.0, True, "1", None, -0.0, math.nan, -math.inf):
        evidence = records.Evidence("metric", "m", value)
        back = decode(records.Evidence, json.loads(json.dumps(encode(evidence)))).value
        assert type(back) is type(value)
        assert repr(back) == repr(value)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"n": "1"}, "Iteration.n"),
        ({"n": True}, "Iteration.n"),
        ({"verdict": "maybe"}, "Iteration.verdict"),
        ({"gates": None}, "Iteration.gates"),
        ({"checks": [{"configuration": 3}]}, r"Iteration.checks\[0\] lacks error, passed"),
        ({"surprise": 1}, "unknown surprise"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(change, place):
    entry = encode(BASELINE)
    with pytest.raises(DecodeError, match=place):
        decode(Iteration, entry | change)


def test_fields_added_later_take_their_defaults():
    entry = encode(BASELINE)
    del entry["seconds"], entry["gates"], entry["paired"]
    assert decode(Iteration, entry) == BASELINE


# ---- journal


def test_what_was_appended_is_read(tmp_path):
    assert read(written(tmp_path / "run" / "journal.jsonl")) == EVENTS


def test_each_line_is_strict_json(tmp_path):
    failed = replace(REVERTED, checks=(ConfigurationCheck("a", False, math.inf, 1e-2),))
    path = written(tmp_path / "j", (START, IterationDone(failed)))

    def refuse(token):
        raise AssertionError(token)

    for line in path.read_text().splitlines():
        json.loads(line, parse_constant=refuse)
    assert read(path)[1] == IterationDone(failed)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_run_killed_at_any_byte_resumes(tmp_path_factory, data):
    path = written(tmp_path_factory.mktemp("j") / "journal.jsonl")
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    cut = data.draw(st.integers(first, len(whole)))
    junk = data.draw(st.sampled_from([b"", b"\0" * 40, b"\xff\n", b"{}}\n"])) if whole[cut - 1 : cut] == b"\n" else b""
    path.write_bytes(whole[:cut] + junk)
    complete = EVENTS[: whole[:cut].count(b"\n")]
    assert read(path) == complete
    journal, events = Journal.resume(path)
    with journal:
        journal.append(Resumed(None, "0.1.0", "later"))
    assert events == complete
    assert read(path) == (*complete, Resumed(None, "0.1.0", "later"))


def damage_middle(lines):
    return [lines[0], lines[1][:-5], *lines[2:]]


def damage_two_last(lines):
    return [*lines[:-2], b"\0\0\0", lines[-1][:4]]


def unknown_event(lines):
    return [*lines[:-1], b'{"event": "later-invention"}']


def no_start(lines):
    return lines[1:]


@pytest.mark.parametrize("damage", [damage_middle, damage_two_last, unknown_event, no_start, lambda lines: []])
def test_any_other_damage_is_an_error(tmp_path, damage):
    path = written(tmp_path / "j")
    path.write_bytes(b"\n".join([*damage(path.read_bytes().splitlines()), b""]))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="start a new run"):
        read(path)
    with pytest.raises(JournalError, match="start a new run"):
        Journal.resume(path)
    assert path.read_bytes() == before


def test_two_runs_do_not_write_one_journal(tmp_path):
    path = tmp_path / "j"
    with Journal.create(path, START):
        with pytest.raises(JournalError, match="Another kdiag run"):
            Journal.resume(path)
        assert read(path) == (START,)
    with pytest.raises(JournalError, match="holds a run already"):
        Journal.create(path, START)
    Journal.resume(path)[0].close()
    for use in (Journal.resume, read):
        with pytest.raises(UsageError, match="no journal"):
            use(tmp_path / "absent")


class FullDisk(io.FileIO):
    """Takes half of what is written, then there is no room."""

    full = False

    def write(self, text):
        if not self.full:
            return super().write(text)
        super().write(text[: len(text) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_no_half_a_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    with FullDisk(path, "w") as stream:
        journal = Journal(path, stream)
        journal.append(START)
        stream.full = True
        with pytest.raises(JournalError, match=r"\(No space left on device\); make room, then go on with --resume"):
            journal.append(Stop("no room", "t"))
        stream.full = False
        journal.append(Stop("room", "t"))
    assert read(path) == (START, Stop("room", "t"))


def test_a_child_left_behind_does_not_hold_the_lock(tmp_path):
    with Journal.create(tmp_path / "j", START):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
    try:
        Journal.resume(tmp_path / "j")[0].close()
    finally:
        child.kill()
        child.wait()


# ---- state


def test_the_state_says_what_is_best():
    run = state(EVENTS)
    assert run.best_commit == "c" * 40
    assert run.tree == {"open": ["B"], "weight": math.inf, "nested": {"a": [1, None, True]}}
    assert run.start is START


def test_a_ready_candidate_that_was_measured_no_longer_waits():
    measured = IterationDone(replace(READY, n=4, verdict="revert"))
    again = (*EVENTS, Resumed(None, "0.1.0", "later"))
    assert READY in state(again).iterations
    begun = (*again, Resumed("NVIDIA H200", "0.1.0", "later", {"exact": True, "policy": "tilegym"}))
    assert READY in state(begun).iterations, "nothing has been measured yet"
    run = state((*begun, measured))
    assert [row.n for row in run.iterations] == [0, 1, 2, 4]
    assert (run.start.policy, run.start.options) == ("tilegym", {**START.options, "exact": True, "policy": "tilegym"})


def test_before_anything_was_kept_the_base_is_best():
    assert state((START, IterationDone(BASELINE))).best_commit == START.base_commit
