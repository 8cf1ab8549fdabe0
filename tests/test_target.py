"""Targets: what is asked for, from three places, and what that means on a card with a workload."""

from dataclasses import replace
from pathlib import Path

import pytest

from kdiag import journal
from kdiag.errors import KdiagError, UsageError, WorkloadError
from kdiag.executors.bench import Baseline, ConfigurationBaseline
from kdiag.loop.request import Request, completed, describe, policy_of, refuse_vendor
from kdiag.loop.target import NO_TARGET, Goal, Target, described, from_toml, goal
from kdiag.records import Cause, Diagnosis, Evidence, Gpu, Iteration
from kdiag.reporters.escalation import escalation
from test_journal import START

ROWS = (
    ConfigurationBaseline("a", 2.0, 0.0, 1.0, "copy bandwidth", gbs=1000.0, tflops=4.0),
    ConfigurationBaseline("b", 1.0, 0.0, 0.5, "copy bandwidth", gbs=1500.0, tflops=5.0),
)
MEASURED = Baseline((), ROWS, copy_gbs=4000.0, matrix_tflops=700.0)
OPTIONS = {"rounding": "no", "target": "sm_90", "target_metric": "gbps", "target_value": 900.0, "max_iterations": 3}


def test_the_rate_of_a_run_is_that_of_its_lowest_configuration():
    aim = goal(Target("gbps", 1800.0), 70.0, MEASURED, None)
    assert aim == Goal("gbps", {"a": 2000.0, "b": 1500.0}, 1800.0, 4000.0)
    assert aim.rate({"a": 1.0, "b": 1.0}) == 1500.0
    assert aim.rate({"a": 1.0}) is None


@pytest.mark.parametrize(
    ("target", "usual", "wanted"),
    [
        (NO_TARGET, 70.0, 2800.0),
        (NO_TARGET, None, None),
        (Target(target_pct_of_peak=0.9), 70.0, 3600.0),
        (Target("tflops", target_pct_of_peak=50.0), 70.0, 350.0),
    ],
)
def test_a_share_of_the_measured_peak(target, usual, wanted):
    aim = goal(target, usual, MEASURED, None)
    assert aim.wanted == wanted


def test_without_a_measured_peak_the_card_must_be_known_by_its_exact_name():
    bare = replace(MEASURED, copy_gbs=None)
    known = goal(Target(target_pct_of_peak=50.0), None, bare, Gpu("NVIDIA H200", "9.0", None))
    assert known.wanted == pytest.approx(2400, rel=0.02)
    assert described(goal(NO_TARGET, 70.0, bare, None)) == "no target, as the peak of this card in GBps is unknown"
    with pytest.raises(KdiagError, match="give --target-metric and --target-value"):
        goal(Target(target_pct_of_peak=50.0), None, bare, Gpu("NVIDIA H200 NVX", "9.0", None))


def test_an_unknown_amount_of_work_is_an_error_only_where_a_target_is_named():
    silent = Baseline((), (ConfigurationBaseline("a", 1.0, 0.0),))
    assert goal(NO_TARGET, 70.0, silent, None) is None
    with pytest.raises(KdiagError, match="The tflops of this workload is unknown"):
        goal(Target("tflops", 5.0), None, silent, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("target_metric = 'ms'", "is no target"),
        ("goal = 1", "may have target_metric"),
        ("target_value = 0", "above 0"),
        ("target_value = inf", "not finite"),
        ("target_pct_of_peak = 101", "above 100"),
    ],
)
def test_a_target_table_that_says_something_else(tmp_path, text, problem):
    (tmp_path / "kdiag.toml").write_text(f"[target]\n{text}\n")
    with pytest.raises(WorkloadError, match=problem):
        from_toml(tmp_path)


def test_the_command_line_goes_before_the_journal_and_that_before_the_workload(tmp_path):
    start = replace(START, policy="tilegym", options=OPTIONS)
    journal.Journal.create(tmp_path / "journal.jsonl", start).close()
    table = tmp_path / "kdiag.toml"
    table.write_text("[target]\ntarget_pct_of_peak = 0.5\nmax_iterations = 9\ngpu = 'nvidia'\n")
    alone = completed(Request(resume=tmp_path))
    assert (alone.kernel, alone.workload, alone.policy) == ("softmax", Path("/user/workload.py"), "tilegym")
    assert alone.goal == Target("gbps", 900.0, None, 3, None)
    asked = completed(Request(resume=tmp_path, workload=table, policy="adaptive", goal=Target(target_pct_of_peak=80)))
    assert asked.goal == Target("gbps", None, 80, 3, "nvidia")
    assert (asked.policy, policy_of(asked).max_iterations) == ("adaptive", 3)
    assert policy_of(alone).ask_when
    assert not policy_of(replace(alone, continue_anyway=True)).ask_when
    with pytest.raises(UsageError, match="leave them out"):
        completed(Request(resume=tmp_path, tilegym="softmax"))


def test_what_cannot_run_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(KdiagError, match="cuTile does not exist for AMD"):
        refuse_vendor("amd", None)
    with pytest.raises(KdiagError, match="no NVIDIA GPU"):
        refuse_vendor("nvidia", None)
    with pytest.raises(UsageError, match="Name a workload or a kernel file"):
        describe(Request())
    file = tmp_path / "k.py"
    file.write_text("import cuda.tile as ct\n\n@ct.kernel\ndef k(x):\n    pass\n")
    with pytest.raises(UsageError, match=f"Nothing says how to run and check {file}: give --test and --bench"):
        describe(Request(workload=file))
    assert describe(Request(workload=file, test="true", bench="false")).path == file


def test_who_is_asked_sees_the_figures_what_was_tried_and_how_to_go_on():
    seen = (Evidence("metric", "sm__cycles_active.min", 0.25, "of max"), Evidence("timing", "t", 1.0, text="1 wave"))
    diagnosis = Diagnosis("scheduling", 0.7, (Cause("tail-effect", 0.7, "scheduling", seen),), ("barrier",))
    tried = Iteration(1, "B", "grid=sms", "", "PASS", 1.0, 0.98, "revert", "slower in a")
    text = escalation("Why?", diagnosis, [tried], Path("/runs/a b"))
    assert "tail-effect, score 70%:\n    sm__cycles_active.min 0.25 of max\n    1 wave" in text
    assert "want of a figure: barrier" in text
    assert "1 B grid=sms: revert 0.980x, slower in a" in text
    assert "kdiag auto --resume '/runs/a b' --yes --continue-anyway" in text
