"""The database of earlier trials: several processes, damage, and what it changes in a plan."""

import csv
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from command_lines import as_json
from kdiag import cli
from kdiag.loop.experience import memory
from kdiag.loop.findings import Findings
from kdiag.planner.experience import Experience, database
from kdiag.records import CompileFailure, Effect, Iteration, PastTrial
from plan_cases import SOFTMAX, SOFTMAX_CAUSES, diagnosis, find, offer, plan

CAUSE, FEATURES = "special-functions-and-division", ("bfloat16", "gathers")
TRIAL = PastTrial(
    *("2026-11-29T10:00:00+00:00", "0.1.0", "softmax_kernel", "p", "c", FEATURES, CAUSE, "compute"),
    *("sm_90", "cuda-tile 1.7.0", "H", "all", "keep", 1.35, 1.34, 1.36, 2),
)
FAILED = replace(TRIAL, verdict="crash", speedup=None, low=None, high=None, configurations=0)


def many(count, speedup=None, trial=TRIAL, **changes):
    measured = {} if speedup is None else {"speedup": speedup, "low": speedup, "high": speedup}
    return [replace(trial, candidate_hash=str(number), **measured, **changes) for number in range(count)]


def refuse(message):
    raise AssertionError(message)


def test_what_is_recorded_is_known_to_the_next_run(experience):
    assert Experience(database(), refuse).all() == Experience(None, refuse).all() == ()
    assert not experience.exists(), "reading leaves nothing behind"
    for trial in (TRIAL, FAILED):
        Experience(database(), refuse).record(trial)
    assert Experience(database(), refuse).all() == (FAILED, TRIAL)
    assert Experience(database(), refuse).known() == (FAILED,), "the same two sources count once, the latest"


def test_what_ends_without_a_measurement_again_is_not_kept_again():
    found = Findings({}, diagnosis(), CompileFailure("error", ""), ())
    no_op = Iteration(1, "H", "all", "", "-", None, None, "no-op", "", source_hash="c")
    for row in (no_op, no_op, *[replace(no_op, verdict="revert", speedup=0.9)] * 2):
        memory("softmax_kernel", "sm_90", refuse).remember(row, found, "source", Effect())
    assert [trial.verdict for trial in Experience(database(), refuse).all()] == ["revert", "revert", "no-op"]


def test_what_an_earlier_version_wrote_is_kept(experience):
    store = Experience(database(), refuse)
    store.record(TRIAL)
    sqlite3.connect(database()).executescript("ALTER TABLE trial DROP COLUMN effect; PRAGMA user_version = 1")
    assert store.all() == (TRIAL,)
    larger = replace(TRIAL, effect=Effect(2.0, "kept", 0))
    store.record(larger)
    assert store.all() == (larger, TRIAL)


def test_several_processes_write_at_once(experience):
    code = "import sys; sys.path += ['tests']; from test_experience import *\nfor t in many(20): Experience(database(), refuse).record(t)"
    writers = [subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[1]) for _ in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert len(Experience(database(), refuse).all()) == 60


@pytest.mark.parametrize("how", ["noise", "folder", "column", "newer", "row", "no folder"])
def test_a_database_that_cannot_be_used_is_told_once(experience, capsys, how):
    path = database()
    if how == "no folder":
        experience.write_text("")
    else:
        experience.mkdir()
    match how:
        case "noise":
            path.write_bytes(b"no database" * 500)
        case "folder":
            path.mkdir()
        case "column":
            sqlite3.connect(path).executescript("CREATE TABLE trial (id); PRAGMA user_version = 1")
        case "newer":
            sqlite3.connect(path).executescript("PRAGMA user_version = 3")
        case "row":
            Experience(path, refuse).record(replace(TRIAL, verdict="miracle"))
    told = []
    store = Experience(path, told.append)
    assert store.known() == ()
    store.record(TRIAL)
    store.record(TRIAL)
    assert len(told) == 1
    assert str(path) in told[0]
    assert how == "no folder" or cli.run(["history"]) == 1
    assert capsys.readouterr().err.count("\n") == (how != "no folder")


def softmax(*trials, variant="all", causes=SOFTMAX_CAUSES):
    return find(plan(*SOFTMAX, diagnosis=causes, trials=trials, features=FEATURES), "H", variant)


def test_six_measurements_outvote_one_trial_and_many_trials_outvote_them():
    before, one, much = (softmax(*many(count, 0.8)).expected_speedup.mid for count in (0, 1, 60))
    assert before > one > 1.1
    assert much < 0.85
    assert "experience on sm_90: 60 trials, median 0.80x" in softmax(*many(60, 0.8)).explanation


def test_twenty_trials_outvote_a_guess_and_raise_its_confidence():
    guessed = diagnosis(("tma-load-rejected", 0.9))
    trials = [many(count, 1.3, variant="exp2", cause="tma-load-rejected") for count in (0, 20)]
    guess, known = (softmax(*each, variant="exp2", causes=guessed) for each in trials)
    assert known.expected_speedup.mid == pytest.approx(1.3, abs=0.02)
    assert known.confidence > 1.5 * guess.confidence


def test_what_came_to_nothing_makes_a_trial_less_worth_but_no_less_fast():
    before, after = softmax(), softmax(*many(3, trial=FAILED))
    assert after.confidence == pytest.approx(before.confidence / 4, rel=0.01)
    assert after.expected_speedup == before.expected_speedup
    assert "3 without a measurement" in after.explanation
    assert softmax(*many(3, trial=FAILED, features=("mma",))).confidence == before.confidence


def test_another_architecture_cause_or_kernel_counts_less_and_is_named():
    changes = ({}, {"features": ("bfloat16", "mma")}, {"cause": "dram-bandwidth"})
    speedups = [softmax(*many(5, 0.5, **change)).expected_speedup.mid for change in changes]
    assert speedups == sorted({*speedups[:2], softmax().expected_speedup.mid})
    seen = softmax(*many(40, 0.5, architecture="sm_100"))
    assert "seen on sm_100 only" in seen.explanation
    assert seen.expected_speedup.mid > 1.1
    assert "sm_100" not in softmax().explanation


def test_history_chooses_groups_and_exports(tmp_path, capsys):
    for trial in (*many(3), FAILED, *many(2, 1.1, architecture="sm_100")):
        Experience(database(), refuse).record(trial)
    file = tmp_path / "trials.csv"
    assert cli.run(["history", "--gpu", "sm_90", "--optimization", "H", "--kernel", TRIAL.kernel]) == 0
    text = capsys.readouterr().out
    assert text.count("softmax_kernel") == 4
    assert ["H", CAUSE, "sm_90", "4", "1.350", "0.750"] in [line.split() for line in text.splitlines()]
    assert "- is not timed" in text
    assert cli.run(["history", "--kernel", "other"]) == 0
    assert "Candidates that wait for a GPU are none" in capsys.readouterr().out
    told = as_json(capsys, "history", "--export", str(file))
    assert (told["schema"], len(told["trials"]), len(told["groups"])) == ("kdiag.history/1", 6, 2)
    rows = list(csv.DictReader(file.open()))
    assert [row["architecture"] for row in rows] == ["sm_100"] * 2 + ["sm_90"] * 4
    assert (rows[2]["speedup"], rows[3]["features"]) == ("", "bfloat16 gathers")


def test_what_every_process_searches_anew_comes_after_what_gains_nearly_as_much():
    kernel = (offer("C", "hints"), offer("hints", "occupancy=4"))
    past = replace(TRIAL, cause="occupancy-registers", features=())
    search = many(9, 2.0, past, optimization="C", variant="hints")
    hint = many(9, 1.4, past, optimization="hints", variant="occupancy=4")
    given = {"diagnosis": diagnosis(("occupancy-registers", 0.9), bottleneck="latency"), "trials": (*search, *hint)}
    once, often = ([s.optimization for s in plan(*kernel, **given, runs=runs)][:2] for runs in (1, 13))
    assert (once, often) == (["C", "hints"], ["hints", "C"])
