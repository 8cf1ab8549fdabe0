"""The priority tree through a run: states, conflicts, what a kept edit opens, re-planning."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kdiag.planner.search import racers
from kdiag.planner.tree import TRIED, from_suggestions, remembered
from kdiag.records import ExpectedSpeedup, Proposal, Suggestion, Variant


def suggest(rank, optimization, variant, cause="tensor-pipe", why_not=None, tier=1):
    proposal = Proposal(Variant(optimization, variant), "title", "safe", None if why_not else "x", why_not, None)
    expected, applicable = ExpectedSpeedup(1.0, 1.1, 1.2), why_not is None
    known = (rank, optimization, variant, "title", cause, tier, expected, 0.5, "safe", applicable, why_not)
    return Suggestion(*known, where=None, evidence=(), explanation="", proposal=proposal)


PLAN = (
    suggest(1, "H", "all", cause="special-functions-and-division", tier=3),
    suggest(2, "G", "tile=2048", cause="tile-too-small"),
    suggest(3, "G", "tile=1024", cause="tile-too-small"),
    suggest(4, "A", "tile-load-store", cause="dram-bandwidth", tier=2),
    suggest(5, "A", "gather-scatter", cause="dram-bandwidth", tier=2),
    suggest(6, "F", "stores", cause="dram-bandwidth", why_not="there is no tile store", tier=5),
    replace(suggest(7, "B", "", why_not="no executor yet", tier=4), proposal=None),
)


def states(tree):
    return {leaf.pair: leaf.state for leaf in tree.leaves}


def names(tree):
    order = []
    while following := next(iter(tree.open()), None):
        order.append((following.optimization, following.variant))
        tree = tree.record(following.optimization, following.variant, "reverted", "slower")
    return order


def test_the_next_one_is_the_best_open_one():
    tree = from_suggestions(PLAN, "compute")
    assert names(tree) == [(s.optimization, s.variant) for s in PLAN if s.applicable]
    assert states(tree)["B", ""] == "not-applicable"


def test_a_tree_is_not_changed_by_what_is_recorded():
    tree = from_suggestions(PLAN)
    after = tree.record("H", "all", "kept", "1.35x")
    assert states(tree)["H", "all"] == "open"
    assert states(after)["H", "all"] == "kept"


def test_a_kept_edit_is_not_undone_by_its_inverse():
    tree = from_suggestions(PLAN).record("A", "tile-load-store", "kept", "faster")
    assert states(tree)["A", "gather-scatter"] == "not-applicable"
    again = tree.merge((suggest(1, "A", "gather-scatter"), suggest(2, "H", "all")))
    assert states(again)["A", "gather-scatter"] == "not-applicable"
    assert again.open()[0].optimization == "H"


def test_an_optimization_waits_for_the_one_it_requires():
    tree = from_suggestions(PLAN)
    assert states(tree)["F", "stores"] == "blocked"
    tree = tree.record("A", "tile-load-store", "kept", "faster")
    assert states(tree)["F", "stores"] == "open"
    assert ("F", "stores") not in names(tree), "its edit comes with the next plan"
    assert ("F", "stores") in names(tree.merge((suggest(1, "F", "stores"),)))


def test_lowered_and_refuted_come_later_but_are_not_lost():
    tree = from_suggestions(PLAN).lower_priority("G").refute("special-functions-and-division")
    assert names(tree) == [
        ("A", "tile-load-store"),
        ("A", "gather-scatter"),
        ("G", "tile=2048"),
        ("G", "tile=1024"),
        ("H", "all"),
    ]


def test_what_waits_is_not_raced_beside_the_others():
    other = suggest(8, "G", "tile=64", cause="tensor-pipe")
    tree = from_suggestions((*PLAN, other)).refute("tile-too-small").lower_priority("A")
    assert [s.variant for s in tree.rivals(other)] == ["all", "tile=64"]
    assert [s.variant for s in tree.rivals(PLAN[3])] == ["tile-load-store", "gather-scatter"]
    assert [s.variant for s in tree.rivals(PLAN[1])] == ["tile=2048", "tile=1024"]


def test_what_has_raced_races_again_after_what_has_not():
    tree = (
        from_suggestions(PLAN).record("G", "tile=2048", "no-gain", "0.9x").record("G", "tile=1024", "outraced", "1.1x")
    )
    assert [s.variant for s in tree.open()] == ["all", "tile-load-store", "gather-scatter"]
    tree = tree.reopen({("G", "tile=2048")})
    assert [s.variant for s in tree.open()] == ["all", "tile-load-store", "gather-scatter", "tile=2048"]
    assert [s.variant for s in tree.rivals(PLAN[3])] == ["all", "tile-load-store", "gather-scatter", "tile=2048"]
    assert [s.variant for s in tree.rivals(PLAN[1])] == ["tile=2048"]
    search = from_suggestions((*PLAN, suggest(8, "C", "tiles"))).reopen({("C", "tiles")})
    assert search.open()[-1].variant == "tiles" not in {s.variant for s in search.rivals(PLAN[3])}
    assert remembered(json.loads(json.dumps(tree.as_dict()))).again == {("G", "tile=2048")}
    assert tree.merge(PLAN).open()[-1].variant == "tile=2048"


def test_of_the_searches_the_first_races():
    offered = (*PLAN[:2], suggest(8, "C", "tiles-and-hints"), suggest(9, "C", "tiles"))
    assert racers(offered) == list(offered[:3])


def test_a_new_plan_keeps_what_was_tried():
    tree = from_suggestions(PLAN).record("H", "all", "reverted", "slower").record("G", "tile=2048", "kept", "1.6x")
    tree = tree.lower_priority("G").merge((suggest(1, "H", "all"), suggest(2, "H", "exp2")))
    assert states(tree) == {("H", "all"): "reverted", ("H", "exp2"): "open", ("G", "tile=2048"): "kept"}
    assert tree.lowered == {"G"}


def test_the_tree_is_written_for_the_journal_and_for_people():
    tree = from_suggestions(PLAN, "compute").record("H", "all", "reverted", "2 % slower").lower_priority("G")
    written = json.loads(json.dumps(tree.as_dict()))
    assert written["bottleneck"] == "compute"
    assert written["causes"]["special-functions-and-division"]["3"]["H"]["all"] == {
        "state": "reverted",
        "reason": "2 % slower",
        "rank": 1,
    }


def test_what_was_learnt_is_read_back_from_the_journal():
    tree = from_suggestions(PLAN, "compute").lower_priority("G").refute("dram-bandwidth")
    learnt = remembered(json.loads(json.dumps(tree.as_dict())))
    assert (learnt.bottleneck, learnt.lowered, learnt.refuted) == ("compute", {"G"}, {"dram-bandwidth"})


def test_the_outline_counts_what_was_and_can_be_tried():
    tree = from_suggestions(PLAN, "compute").record("G", "tile=2048", "kept", "1.6x").refute("tile-too-small")
    tree = tree.record("H", "all", "ready", "compiled; no GPU to check and time it")
    lines = tree.outline().splitlines()
    assert lines[0] == "compute"
    assert lines.index("  tile-too-small (refuted: tried last)") + 1 == lines.index("    G: 1 kept, 1 open")
    assert "    H: 1 ready for a GPU" in lines
    assert "    F: 1 blocked until A is kept" in lines
    assert not any(line.startswith("    B:") for line in lines), "nothing to try"


STEPS = st.lists(st.tuples(st.sampled_from(PLAN), st.sampled_from(sorted(TRIED))), max_size=6)


@given(STEPS)
def test_nothing_is_tried_twice(steps):
    tree = from_suggestions(PLAN)
    for suggestion, state in steps:
        tree = tree.record(suggestion.optimization, suggestion.variant, state, "").merge(PLAN)
    tried = {leaf.pair for leaf in tree.leaves if leaf.state in TRIED}
    assert not tried & set(names(tree))
    assert len({leaf.pair for leaf in tree.leaves}) == len(tree.leaves)
