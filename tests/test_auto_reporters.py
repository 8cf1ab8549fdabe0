"""The JSON object and the terminal's account of a run."""

import io
import json
import math
import time
from dataclasses import replace

import pytest
from rich.console import Console

from kdiag.records import Clocks, GateRecord, Iteration, Prediction
from kdiag.reporters.json_auto import to_json
from kdiag.reporters.run_summary import RunHeader, RunSummary, Totals, totals
from kdiag.reporters.terminal_auto import Terminal
from test_tree import suggest
from verdict_cases import timing

HEADER = RunHeader("softmax", "NVIDIA H200", "adaptive", "cutile-perf-softmax-1", "/run 1/worktree", "/user")
BASELINE = Iteration(0, "baseline", "", "baseline", "PASS", 0.2, None, "keep", "as found", clocks=(Clocks(1785, 2619),))
GATES = (
    GateRecord("scope", "passed"),
    GateRecord("compile", "passed"),
    GateRecord("effect", "could-not-run", "no compiler"),
    GateRecord("gain", "failed", "slower"),
)
FIRST = Iteration(1, "H", "exp2", "exp2 for exp", "PASS", 0.1, 1.9, "keep", "90 % faster", GATES, seconds=4.2)
WORSE = Iteration(2, "A", "", "[tile] loads", "PASS", 0.9, 0.1, "revert", "slower in [b]: 0.1x", GATES)
SECOND = Iteration(3, "F", "", "no TMA", "PASS", 0.08, 1.2, "keep", "20 % faster")
SECOND = replace(
    SECOND, seconds=9.0, waited={"compiler": 1.0, "trial": 3.0}, timings=(replace(timing(1.2), clocks=Clocks(1980)),)
)
RUN = RunSummary(HEADER, (BASELINE, FIRST, WORSE, SECOND), "at its limit", {"results": "/run 1/perf.md"})


def test_the_speedup_is_the_product_of_the_paired_ratios():
    assert totals(RUN.iterations) == Totals(0.2, 0.08, 1.9 * 1.2)
    assert totals((BASELINE,)) == Totals(0.2, 0.2, 1)
    assert totals(()) == Totals(None, None, None)
    assert totals((replace(BASELINE, verdict="ready", latency_ms=None),)) == Totals(None, None, None)


def test_the_json_object_holds_what_was_promised():
    run = replace(RUN, iterations=(*RUN.iterations, replace(WORSE, n=4, latency_ms=math.inf, speedup=math.nan)))
    value = json.loads(json.dumps(to_json(run), allow_nan=False))
    assert list(value) == [
        *("schema", "kernel", "gpu", "policy", "baseline_ms", "best_ms", "speedup"),
        *("clocks", "loop_s", "stop_reason", "iterations", "branch", "files"),
    ]
    assert value["schema"] == "kdiag.auto/1"
    assert (value["baseline_ms"], value["best_ms"], value["speedup"]) == (0.2, 0.08, 1.9 * 1.2)
    assert (value["clocks"], value["loop_s"]) == ([vars(Clocks(1785, 2619)), vars(Clocks(1980))], 5.0)
    assert list(value["iterations"][0]) == [
        *("n", "optimization", "variant", "correctness", "latency_ms", "speedup", "verdict", "reason")
    ]
    assert value["iterations"][4]["latency_ms"] is None
    assert value["iterations"][4]["speedup"] is None


def told():
    progress, results = io.StringIO(), io.StringIO()
    terminal = Terminal(Console(file=progress, width=80), Console(file=results, width=120))
    terminal.on_start(HEADER)
    terminal.on_note("the clocks are free")
    for row in RUN.iterations:
        terminal.on_iteration(row, None if row is WORSE else 1.25)
    terminal.summary(RUN)
    return progress.getvalue(), results.getvalue()


def test_an_iteration_is_two_plain_lines_with_gates_time_verdict_and_best():
    progress, _ = told()
    lines = progress.splitlines()
    assert "\x1b" not in progress
    assert lines[0] == "kdiag auto softmax on NVIDIA H200, policy adaptive"
    assert "your checkout is not touched" in lines[1]
    assert lines[2] == "  -  the clocks are free"
    assert len(lines) == 3 + 2 * len(RUN.iterations)
    assert lines[5].split() == ["1", "keep", "0.100000", "ms", "1.900x", "H", "exp2", "exp2", "for", "exp"]
    assert lines[6].strip() == (
        "passed scope, compile; failed gain; could not run: effect (no compiler); 90 % faster; 4.2 s; "
        "best so far 0.100000 ms, 1.90x of the baseline; at most 25.0% left to gain"
    )
    assert "[tile] loads" in lines[7]
    assert lines[8].endswith("best so far 0.100000 ms, 1.90x of the baseline")


def test_a_terminal_shows_what_runs_and_what_is_left_and_is_given_back():
    screen = Console(file=io.StringIO(), force_terminal=True, width=140)
    with Terminal(screen, Console(file=io.StringIO())) as terminal:
        for row in RUN.iterations:
            terminal.on_iteration(row)
        terminal.on_try(4, suggest(1, "G", "tile=64"), 1.25)
        terminal.on_gate("race of 8")
        time.sleep(0.5)
    drawn = screen.file.getvalue()
    assert drawn.endswith("\x1b[?25h") or "\x1b[?25h" in drawn[-200:], "the cursor is back"
    for word in ("G tile=64", "race of 8", "running", "90 % faster", "best so far 0.080000 ms", "25.0% left"):
        assert word in drawn, word


@pytest.mark.parametrize("terminal", [True, False])
def test_a_refuted_cause_is_told_with_what_follows_from_it(terminal):
    screen = Console(file=io.StringIO(), force_terminal=terminal, width=140)
    told = Prediction("barrier", "confirmed", "refuted", "as predicted")
    with Terminal(screen, Console(file=io.StringIO())) as running:
        running.on_iteration(replace(WORSE, prediction=replace(told, conclusion="supported")))
        assert "barrier is refuted" not in screen.file.getvalue()
        running.on_iteration(replace(WORSE, prediction=told))
    assert "barrier is refuted: what else is for it waits until nothing else is open" in screen.file.getvalue()


def test_the_summary_says_what_is_left_and_how_to_take_it_over():
    _, results = told()
    assert "softmax: 0.200000 ms -> 0.080000 ms, 2.28x" in results
    assert "clocks: SM 1,785-1,980 MHz, memory 2,619 MHz while timing; SM +10.9% since the baseline: compare" in results
    assert "The loop itself took 5.00 s a candidate" in results
    assert "Stopped: at its limit." in results
    assert "results: /run 1/perf.md" in results
    assert "git -C /user merge cutile-perf-softmax-1" in results
    assert "worktree remove --force '/run 1/worktree'" in results
    assert "slower in [b]" in results


def test_a_run_that_kept_nothing_does_not_offer_a_merge():
    results = io.StringIO()
    run = replace(
        RUN, iterations=(replace(BASELINE, clocks=()), WORSE), hint="To measure them: kdiag auto --resume /run"
    )
    Terminal(Console(file=io.StringIO()), Console(file=results, width=120)).summary(run)
    assert ("merge" in results.getvalue(), "clocks: not known" in results.getvalue()) == (False, True)
    assert "No edit was kept" in results.getvalue()
    assert "kdiag auto --resume /run" in results.getvalue()
    Terminal(results=Console(file=results)).summary(replace(run, iterations=(BASELINE,)))
    assert "1,785 MHz, memory 2,619 MHz while timing\n" in results.getvalue()
    assert "No edit was tried." in results.getvalue()


def test_a_resumed_run_knows_its_best_from_before():
    progress = io.StringIO()
    terminal = Terminal(Console(file=progress), Console(file=io.StringIO()))
    terminal.on_start(replace(HEADER, gpu=None), (BASELINE, FIRST))
    terminal.on_iteration(WORSE)
    assert "on no GPU" in progress.getvalue()
    assert "best so far 0.100000 ms, 1.90x" in progress.getvalue()
