"""`kdiag auto` on a project that brings its own commands: what is kept is what was judged."""

import json
import re
import sys
from dataclasses import replace

import pytest

from auto_runs import auto, auto_alone, finished, project
from kdiag.executors.bench import Counters
from kdiag.executors.command_bench import CommandBench
from kdiag.isolate import Died
from kdiag.loop import request, strategy
from kdiag.loop.experience import memory
from kdiag.records import Gpu
from kdiag.rules import load_policies
from kdiag.workload import Call
from observing import observe

BENCH = """import ast, json
source = open("softmax.py").read()
ast.parse(source)
ms = 0.7 if "exp2" in source else 1.0
print(json.dumps({"latency_ms": ms, "configuration": "a", "gbps": 1000 / ms}))
print(json.dumps({"latency_ms": 2 * ms, "configuration": "b", "gbps": 500 / ms}))
"""
TEST = """import ast, subprocess, sys
source = open("softmax.py").read()
ast.parse(source)
if "exp2" in source and WRONG:
    sys.exit("the result is wrong")
if "exp2" in source and SNEAKY:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qam", "sneaky"], check=True)
"""


def commands(folder, *, wrong=False, sneaky=False, bench=BENCH):
    """The softmax with commands that pretend to test and time it: candidates with exp2 take 0.7 of the time."""
    made = project(folder, "softmax")
    (made.root / "bench.py").write_text(bench)
    (made.root / "check.py").write_text(TEST.replace("WRONG", str(wrong)).replace("SNEAKY", str(sneaky)))
    test, run = (f'command = "{sys.executable} {name}.py"' for name in ("check", "bench"))
    (made.root / "kdiag.toml").write_text(f'kernel = "softmax.py"\n[test]\n{test}\n[bench]\n{run}\n')
    made.commit()
    return made


def test_the_commit_holds_the_candidate_that_was_measured(tmp_path, capsys):
    made = commands(tmp_path)
    summary = finished(made, capsys)
    (kept,) = [row for row in summary["iterations"] if row["verdict"] == "keep" and row["n"] > 0]
    assert (kept["optimization"], kept["variant"], round(kept["speedup"], 2)) == ("H", "all", 1.43)
    assert "exp2" in made.git("show", f"{summary['branch']}:softmax.py")
    assert {row["verdict"] for row in summary["iterations"][2:]} <= {"inconclusive", "no-op"}
    rows = [event["iteration"] for event in made.journal if event["event"] == "iteration"]
    waited = [row["waited"] for row in rows]
    assert all(each.get("trial", 0) + each.get("baseline", 0) > each.get("compiler", 0) for each in waited)
    trials = memory("softmax_kernel", "sm_90", pytest.fail).known
    assert [(t.optimization, t.variant, t.verdict, t.speedup) for t in reversed(trials)] == [
        (row["optimization"], row["variant"], row["verdict"], row["speedup"]) for row in summary["iterations"][1:]
    ]
    assert {"exponentials", "exact_divisions", "gathers"} <= set(trials[-1].features)
    assert trials[-1].low is not None
    assert trials[-1].configurations == 2


@pytest.mark.parametrize("recorded", [False, True])
def test_a_run_that_is_recorded_plans_as_any_other(tmp_path, capsys, monkeypatch, *, recorded):
    asked, made, plan = [], commands(tmp_path), strategy.plan
    monkeypatch.setattr(
        strategy, "plan", lambda request, compiler: asked.append(request.runs) or plan(request, compiler)
    )
    options = ("--record", str(tmp_path / "record.jsonl")) if recorded else ()
    code, _ = auto(made, capsys, "--max-iterations", "1", *options)
    assert (code, set(asked)) == (0, {13})


def test_a_small_gain_is_measured_twice_and_lowers_its_branch(tmp_path, capsys, experience):
    made = commands(tmp_path, bench=BENCH.replace("ms = 0.7", "ms = 0.97"))
    summary = finished(made, capsys, "--no-experience")
    assert not experience.exists()
    first = summary["iterations"][1]
    assert (first["optimization"], first["verdict"]) == ("H", "keep")
    assert first["reason"].endswith("(confirmed)")
    trees = [event["state"]["lowered"] for event in made.journal if event["event"] == "tree"]
    assert (trees[0], trees[-1]) == ([], ["H"])


@pytest.mark.parametrize(("fault", "why"), [("wrong", "the result is wrong"), ("sneaky", "made a commit")])
def test_what_fails_its_tests_or_commits_by_itself_is_not_kept(tmp_path, capsys, fault, why):
    made = commands(tmp_path, wrong=fault == "wrong", sneaky=fault == "sneaky")
    summary = finished(made, capsys)
    first = summary["iterations"][1]
    assert (first["optimization"], first["verdict"]) == ("H", "revert")
    assert why in first["reason"]
    assert summary["speedup"] == 1.0


def test_commands_that_want_a_gpu_do_not_make_the_kernel_wrong(tmp_path, capsys):
    made = commands(tmp_path)
    code, answer = auto(made, capsys, "--test", "echo Torch not compiled with CUDA enabled; false")
    assert code == 1
    assert "kdiag: torch finds no GPU here, which the commands probably need; they say: " in answer["stderr"]
    assert f"git -C {made.root} worktree remove --force " in answer["stderr"]
    assert "not compiled with CUDA" in answer["stderr"]


def test_an_iteration_that_takes_too_long_is_ended_and_told(tmp_path, capsys, monkeypatch):
    made = commands(tmp_path, bench=BENCH + "if 'exp2' in source:\n    import time\n    time.sleep(600)\n")
    short = replace(load_policies.load("tilegym"), iteration_s=5.0, ask_when=())
    monkeypatch.setattr(request, "load", {"tilegym": short}.get)
    code, summary = auto(made, capsys, "--policy", "tilegym", "--max-iterations", "1")
    assert (code, summary["speedup"]) == (0, 1.0)
    row = summary["iterations"][1]
    assert (row["optimization"], row["verdict"]) == ("H", "crash")
    assert "left of this iteration, which runs the benchmark up to 13 times: make it shorter" in row["reason"]
    assert any(event.get("iteration", {}).get("reason") == row["reason"] for event in made.journal)


def heard(rows):
    tensor = {"tensor": [rows, 4096], "strides": [4096, 1], "dtype": "float32", "device": "cuda", "grad": False}
    return Call("test_perf", "softmax", json.dumps([[tensor], {"dict": {}}]))


def counted(pct):
    """A launch that reads and writes 32768 rows once, at this share of a copy."""
    size = 32768 * 4096 * 4.0
    us = 2 * size / (43.6e3 * pct)
    return Counters(observe(dram_pct=pct, issue_pct=9.3, dram_read_bytes=size, dram_write_bytes=size, duration_us=us))


LEFT = "DRAM throughput is {} % of the 4,360 GB/s that a copy reaches on this card: at most {}x is left"


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("policy", "counters", "rows", "tried", "told"),
    [
        ("adaptive", counted(91.0), (32768, 16384), 0, LEFT.format(91, "1.10")),
        ("tilegym", counted(91.0), (32768, 16384), 1, LEFT.format(91, "1.10")),
        ("optimize-loop", counted(91.0), (32768, 16384), 1, LEFT.format(91, "1.10")),
        ("adaptive", counted(40.0), (32768,), 1, LEFT.format(40, "2.50")),
        ("adaptive", counted(91.0), (32768, 7), 1, LEFT.format(91, "1.10")),
        ("adaptive", counted(91.0), (4096,), 1, LEFT.format(11, "8.79")),
        ("adaptive", counted(91.0), (99999,), 1, "unknown without more than half of the launch's arrays"),
        ("adaptive", counted(40.0), (), 1, "unknown without the arrays of the launch"),
        ("adaptive", Died("error", "no ncu"), (32768,), 1, "unknown without counters"),
    ],
)
def test_at_the_speed_of_a_copy_nothing_is_tried(
    tmp_path, capsys, monkeypatch, notes, policy, counters, rows, tried, told
):
    calls = tuple(map(heard, rows))
    monkeypatch.setattr("kdiag.loop.setup.probe_gpu", lambda: Gpu("NVIDIA H200", "9.0", 132))
    monkeypatch.setattr("kdiag.executors.command_bench.copy_bandwidth", lambda: 4360.0)
    monkeypatch.setattr(CommandBench, "_heard", lambda bench, source: (bench._bench(source), calls))
    monkeypatch.setattr(CommandBench, "counters", lambda *_: counters)
    made = commands(tmp_path)
    code, summary = auto(made, capsys, "--policy", policy, "--max-iterations", "1", "--budget", "9999")
    assert (code, len(summary["iterations"])) == (0, 1 + tried), notes
    (said,) = [note for note in notes if told in note][:1]
    assert tried or summary["stop_reason"] == f"at its limit: {said}"


def test_a_run_that_asks_goes_on_from_its_journal_alone_and_ends_at_its_target(tmp_path, capsys, monkeypatch):
    made = commands(tmp_path)
    target = ("--target-metric", "gbps", "--target-value", "700", "--max-iterations", "30")
    asks = replace(load_policies.load("tilegym"), ask_when=("balanced", "memory", "compute", "latency", "unknown"))
    monkeypatch.setattr(request, "load", {"tilegym": asks, "optimize-loop": request.load("optimize-loop")}.get)
    code, asked = auto(made, capsys, "--policy", "tilegym", *target)
    assert (code, [row["n"] for row in asked["iterations"]]) == (3, [0])
    assert "the policy tilegym asks you to decide" in asked["stop_reason"]
    code, summary = auto_alone(capsys, "--resume", str(made.run_dir), "--policy", "optimize-loop")
    assert (code, summary["stop_reason"]) == (0, "target met: 714.3 of 700")
    log = made.log.splitlines()
    assert "| 0 | baseline | - | PASS | 500 GBps | - | - |" in log
    assert log[-4].endswith("| T3 | PASS | 714.3 GBps | +42.9% | TARGET_MET |")
    assert log[-2].startswith("Final: 714.3 GBps, ")


@pytest.mark.parametrize(
    ("tiers", "counters"),
    [
        ("12341", Counters(observe(memory_pct=84, l2_pct=83, issue_pct=21))),
        ("31313", Counters(observe(issue_pct=95, xu_pct=90, dram_pct=9))),
        ("43124", Counters(observe(compute_pct=12, memory_pct=42, issue_pct=12, long_scoreboard=3, warp_latency=4))),
        ("13241", Died("error", "no ncu")),
    ],
)
def test_tiers_take_turns_also_after_a_resume(tmp_path, capsys, monkeypatch, notes, tiers, counters):
    monkeypatch.setattr(CommandBench, "counters", lambda *_: counters)
    made = commands(tmp_path, bench=BENCH.replace("gbps", "rate"))
    finished(made, capsys, "--policy", "optimize-loop", "--max-iterations", "2")
    assert notes.count("no target, as only milliseconds are known") == 1
    code, _ = auto_alone(capsys, "--resume", str(made.run_dir), "--max-iterations", "5")
    assert (code, "".join(re.findall(r"\| T(\d) \|", made.log))) == (0, tiers)
    assert "| T3 | PASS | 1.05 ms | -30.0% | improved |" in made.log
    assert "\nFinal: 1.05 ms, 5 iterations, as many" in made.log
