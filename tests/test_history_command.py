"""`kdiag history` after runs whose tests and benchmark are commands, so that no GPU is needed."""

import csv
import json
from pathlib import Path

import pytest

from auto_runs import auto
from kdiag import cli
from kdiag.planner.experience import Experience, database
from test_auto_commands import commands
from test_experience import FAILED, TRIAL, many, refuse


def history(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    capsys.readouterr()
    code = cli.run(["history", *options])
    printed = capsys.readouterr()
    return code, printed.out or printed.err


def test_a_run_leaves_what_the_next_plan_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], experience: Path
) -> None:
    made = commands(tmp_path)
    code, summary = auto(made, capsys, "--budget", "9999")
    assert code == 0, summary
    told = json.loads(history(capsys, "--json")[1])
    assert told["schema"] == "kdiag.history/1"
    rows = {(r["optimization"], r["variant"]): r for r in summary["iterations"] if r["n"] > 0}
    assert {(t["optimization"], t["variant"]) for t in told["trials"]} == set(rows)
    first = told["trials"][-1]
    assert (first["optimization"], first["verdict"], first["configurations"]) == ("H", "keep", 2)
    assert first["speedup"] == pytest.approx(rows["H", "all"]["speedup"])
    assert {"exponentials", "divisions", "gathers"} <= set(first["features"])
    capsys.readouterr()
    for options, learns in ((), True), (("--no-experience",), False):
        assert cli.run(["plan", str(made.root / "softmax.py"), "--json", *options]) == 0
        plan = json.loads(capsys.readouterr().out)
        (best,) = [s for s in plan["suggestions"] if (s["optimization"], s["variant"]) == ("H", "all")]
        assert ("experience on sm_90: 1 trial, median 1.43x" in best["explanation"]) == learns


def test_a_run_without_experience_keeps_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], experience: Path
) -> None:
    assert auto(commands(tmp_path), capsys, "--no-experience", "--budget", "0")[0] == 0
    assert not experience.exists()
    assert "There is no such trial" in history(capsys)[1]


def test_trials_are_chosen_grouped_and_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for trial in (*many(3), FAILED, *many(2, architecture="sm_100", speedup=1.1)):
        Experience(database(), refuse).record(trial)
    code, text = history(capsys, "--gpu", "sm_90", "--optimization", "H", "--kernel", TRIAL.kernel)
    assert code == 0
    assert text.count("softmax_kernel") == 4
    (row,) = [line for line in text.splitlines() if "75%" in line]
    assert row.split() == ["H", "special-functions-and-division", "sm_90", "4", "1.350", "75%"]
    assert "There is no such trial" in history(capsys, "--kernel", "other")[1]
    file = tmp_path / "trials.csv"
    assert history(capsys, "--export", str(file))[0] == 0
    rows = list(csv.DictReader(file.open()))
    assert [row["architecture"] for row in rows] == ["sm_100"] * 2 + ["sm_90"] * 4
    assert (rows[2]["speedup"], rows[3]["features"]) == ("", "bfloat16 gathers")


def test_a_damaged_database_is_one_sentence(experience: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experience.mkdir()
    database_file = database()
    assert database_file is not None
    database_file.write_text("damaged" * 999)
    code, text = history(capsys)
    assert (code, text.count("\n")) == (1, 1)
    assert "move it away" in text
