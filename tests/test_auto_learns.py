"""The loop on a bench of known figures: races choose variants, predictions refute causes, wrong racers are reverted."""

import pytest

from auto_runs import auto, finished, project
from kdiag.loop import reached
from kdiag.loop.auto import Run
from text_bench import TextBench

pytestmark = pytest.mark.compiler


def halved(text):
    return 50.0 if "exp2" in text else 100.0


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Runs the softmax on a bench until two iterations in a row gain nothing; rows, races and trees of its journal."""

    def on(bench, policy="tilegym"):
        monkeypatch.setattr("kdiag.loop.setup._bench", lambda *_: bench)
        made = project(tmp_path, "softmax")
        finished(made, capsys, "--policy", policy)
        events = {"iteration": [], "race": [], "tree": []}
        for entry in made.journal:
            events.get(entry["event"], []).append(entry)
        rows = [entry["iteration"] for entry in events["iteration"][1:]]
        return rows, events["race"], [entry["state"] for entry in events["tree"]]

    return on


def test_a_race_chooses_the_variant_and_its_losers_are_not_tried(run):
    # The exponential alone is worth more than the whole of H, which stands first in the plan.
    bench = TextBench(lambda text: 1.0 if "exp2" not in text else 0.8 if "APPROX" in text else 0.5, halved)
    rows, races, trees = run(bench)
    fates = {(each["optimization"], each["variant"]): each["fate"] for each in races[0]["standings"]}
    won = rows[0]["optimization"], rows[0]["variant"]
    assert (won[0], fates[won], {name for name, _ in fates} > {"H"}) == ("H", "won", True)
    assert (rows[0]["verdict"], rows[0]["speedup"], rows[0]["prediction"]["conclusion"]) == ("keep", 2.0, "supported")
    checks, trial = bench.left[:2]
    assert 600 > checks > trial > 0, "an iteration has ten minutes, its race included"
    lost = {name for name, fate in fates.items() if fate == "lost"}
    assert len({name for name in lost if name[0] == "H"}) > 1
    assert not lost & {(row["optimization"], row["variant"]) for row in rows}
    tiers = [tier for tiers in trees[-1]["causes"].values() for tier in tiers.values()]
    leaves = [(o, name, at["state"]) for tier in tiers for o, variants in tier.items() for name, at in variants.items()]
    beaten = {(o, name) for o, name, state in leaves if state == "outraced"}
    assert {"H"} == {name for name, _ in beaten}, "what sets the same is closed for good"
    assert beaten < lost


def test_a_cause_whose_treatment_worked_and_gained_nothing_is_refuted(run, notes):
    bench = TextBench(lambda _: 1.0, halved, dies=True)
    rows, races, trees = run(bench)
    assert (rows[0]["optimization"], rows[0]["variant"], races) == ("H", "all", []), "in the order of the plan"
    learnt = rows[0]["prediction"]
    assert (learnt["outcome"], learnt["conclusion"]) == ("confirmed", "refuted")
    assert "instructions 100 -> 50" in learnt["text"]
    assert trees[-1]["refuted"] == [learnt["cause"]]
    assert [text for text in notes if text.endswith("which was refuted")] == [
        f"nothing is open but what is for {learnt['cause']}, which was refuted"
    ]


def test_what_gains_nothing_in_a_race_needs_no_trial(run):
    bench = TextBench(lambda _: 1.0)
    rows, races, trees = run(bench, "adaptive")
    raced = [(each["optimization"], each["variant"]) for race in races for each in race["standings"]]
    assert len(raced) == len(set(raced)) > 8, "nothing races twice"
    assert not set(raced) & {(row["optimization"], row["variant"]) for row in rows}
    assert len(bench.trials) <= 1, "of what is left alone"
    assert "no-gain" in str(trees[-1])


@pytest.mark.parametrize("how", ["stopped", "interrupted"])
def test_after_a_keep_a_resumed_run_races_what_an_undisturbed_one_does(tmp_path, capsys, monkeypatch, how):
    bench = TextBench(lambda text: 0.8 if "exp2" in text else 1.0)
    monkeypatch.setattr("kdiag.loop.setup._bench", lambda *_: bench)
    whole, parts = project(tmp_path / "whole", "softmax"), project(tmp_path / "parts", "softmax")
    finished(whole, capsys, "--no-experience")

    def kept(rows):
        return any(row.n > 0 and row.verdict == "keep" for row in rows)

    def stop_reason(policy, rows, progress):
        return "stopped" if kept(rows) else stopping(policy, rows, progress)

    def interrupted(self, source):
        if kept(self.iterations):
            raise KeyboardInterrupt
        return replan(self, source)

    stopping, replan = reached.stop_reason, Run._replan
    with monkeypatch.context() as patch:
        where = (reached, "stop_reason", stop_reason) if how == "stopped" else (Run, "_replan", interrupted)
        patch.setattr(*where)
        auto(parts, capsys, "--budget", "9999", "--no-experience")
    finished(parts, capsys, "--no-experience", "--resume", str(parts.run_dir))
    one, other = (
        [
            [(each["optimization"], each["variant"]) for each in event["standings"]]
            for event in made.journal
            if event["event"] == "race"
        ]
        for made in (whole, parts)
    )
    assert one == other
    assert {name in one[0] for name in one[-1]} == {True, False}, "what gained nothing fills a race"


def test_wrong_racers_are_reverted_untimed(run):
    bench = TextBench(lambda text: None if "exp2" in text or "APPROX" in text else 1.0)
    rows, _, _ = run(bench)
    wrong = [row for row in rows if row["optimization"] == "H"]
    assert len(wrong) > 1
    assert {(row["verdict"], row["correctness"], row["latency_ms"]) for row in wrong} == {("revert", "FAIL", None)}
    assert not any("exp2" in text for text in bench.trials)
