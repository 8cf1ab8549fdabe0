"""The database of earlier trials: several processes, damage, and what it changes in a plan."""

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kdiag.loop.experience import memory
from kdiag.planner.experience import Experience, database
from kdiag.records import PastTrial
from plan_cases import SOFTMAX, SOFTMAX_CAUSES, find, plan

TRIAL = PastTrial(
    time="2026-11-29T10:00:00+00:00",
    version="0.1.0",
    kernel="softmax_kernel",
    parent_hash="p",
    candidate_hash="c",
    features=("bfloat16", "gathers"),
    cause="special-functions-and-division",
    bottleneck="compute",
    architecture="sm_90",
    toolchain="cuda-tile 1.7.0",
    optimization="H",
    variant="all",
    verdict="keep",
    speedup=1.35,
    low=1.34,
    high=1.36,
    configurations=2,
)
FAILED = replace(TRIAL, verdict="crash", speedup=None, low=None, high=None, configurations=0)


def many(count, trial=TRIAL, **changes):
    return tuple(replace(trial, candidate_hash=str(number), **changes) for number in range(count))


def refuse(message):
    raise AssertionError(message)


def test_what_is_recorded_is_known_to_the_next_run():
    store = Experience(database(), refuse)
    store.record(TRIAL)
    store.record(FAILED)
    assert Experience(database(), refuse).all() == (FAILED, TRIAL)
    assert memory("k", "sm_90", refuse).known == (FAILED,), "the same two sources count once, the latest"


def test_reading_leaves_nothing_behind(experience):
    assert Experience(database(), refuse).all() == ()
    assert not experience.exists()
    assert Experience(None, refuse).all() == ()


def test_several_processes_write_at_once(experience):
    code = (
        "import sys; sys.path.insert(0, 'tests'); from test_experience import *\n"
        "for trial in many(20, kernel=sys.argv[1]): Experience(database(), refuse).record(trial)"
    )
    root = Path(__file__).parents[1]
    writers = [subprocess.Popen([sys.executable, "-c", code, name], cwd=root) for name in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert len(Experience(database(), refuse).all()) == 60
    with sqlite3.connect(database()) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def damage(path, how):
    match how:
        case "noise":
            path.write_bytes(b"no database" * 500)
        case "folder":
            path.mkdir()
        case "column":
            sqlite3.connect(path).executescript("CREATE TABLE trial (id); PRAGMA user_version = 1")
        case "newer":
            sqlite3.connect(path).executescript("PRAGMA user_version = 2")
        case "row":
            Experience(path, refuse).record(replace(TRIAL, verdict="miracle"))


@pytest.mark.parametrize("how", ["noise", "folder", "column", "newer", "row"])
def test_a_database_that_cannot_be_used_is_told_once(experience, how):
    experience.mkdir()
    damage(database(), how)
    told = []
    store = Experience(database(), told.append)
    assert store.known() == ()
    store.record(TRIAL)
    assert store.known() == ()
    assert len(told) == 1
    assert str(database()) in told[0]


def test_a_data_folder_that_is_a_file_is_told_once(experience):
    experience.write_text("")
    told = []
    store = Experience(database(), told.append)
    store.record(TRIAL)
    store.record(TRIAL)
    assert len(told) == 1


def softmax(*trials, target="sm_90"):
    seen = {"trials": trials, "features": TRIAL.features, "target": target}
    return find(plan(*SOFTMAX, diagnosis=SOFTMAX_CAUSES, **seen), "H", "all")


def test_six_measurements_outvote_one_trial_and_many_trials_outvote_them():
    slow = {"speedup": 0.8, "low": 0.79, "high": 0.81}
    before, one, much = softmax(), softmax(*many(1, **slow)), softmax(*many(60, **slow))
    assert before.expected_speedup.mid > one.expected_speedup.mid > 1.1
    assert much.expected_speedup.mid < 0.85
    assert "experience on sm_90: 60 trials, median 0.80x" in much.explanation


def test_twenty_trials_outvote_a_guess_and_raise_its_confidence():
    trials = many(20, variant="exp2", speedup=1.3, low=1.29, high=1.31)
    guess, known = (
        find(plan(*SOFTMAX, diagnosis=SOFTMAX_CAUSES, trials=t, features=TRIAL.features), "H", "exp2")
        for t in ((), trials)
    )
    assert known.expected_speedup.mid == pytest.approx(1.3, abs=0.02)
    assert known.confidence > 1.5 * guess.confidence


def test_what_came_to_nothing_makes_a_trial_less_worth_but_no_less_fast():
    before, after = softmax(), softmax(*many(3, FAILED))
    assert after.confidence == pytest.approx(before.confidence / 4, rel=0.01)
    assert after.expected_speedup == before.expected_speedup
    assert "3 without a measurement" in after.explanation
    others = softmax(*many(3, FAILED, features=("float32", "mma")))
    assert others.confidence == before.confidence, "another kind of kernel"


def test_another_architecture_is_named_and_weak():
    seen = softmax(*many(40, speedup=0.5, low=0.5, high=0.5, architecture="sm_100"))
    assert "seen on sm_100 only" in seen.explanation
    assert seen.expected_speedup.mid > 1.1
    assert "sm_100" not in softmax().explanation


def test_another_variant_and_another_cause_count_less():
    slow = {"speedup": 0.5, "low": 0.5, "high": 0.5}
    same, kin, other = (
        softmax(*many(5, **{**slow, **change}))
        for change in ({}, {"cause": "dram-bandwidth"}, {"cause": "dram-bandwidth", "features": ("mma",)})
    )
    assert same.expected_speedup.mid < kin.expected_speedup.mid < other.expected_speedup.mid


def test_a_trial_has_a_json_form():
    from kdiag.codec import decode, encode

    assert decode(PastTrial, json.loads(json.dumps(encode(TRIAL)))) == TRIAL
