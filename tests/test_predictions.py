"""What an edit was to do against what it did: every row of the truth table, what counts as moved, the rules' names."""

import pytest

from kdiag.diagnose.compiler.observe import FIGURES
from kdiag.diagnose.compiler.observe_remarks import COUNTS
from kdiag.errors import KdiagError
from kdiag.planner.predictions import check, predicted
from kdiag.planner.tree import from_suggestions
from kdiag.rules.load_playbook import load, parse
from observing import observe
from test_playbook import ENTRY, TREAT
from test_tree import PLAN, names

CAUSE = "special-functions-and-division"


def instructions(after, faster):
    return check(CAUSE, ("-instructions",), (observe(instructions=100), observe(instructions=after)), faster=faster)


@pytest.mark.parametrize(
    ("after", "faster", "expected"),
    [
        (50, True, ("confirmed", "supported")),
        (50, False, ("confirmed", "refuted")),
        (50, None, ("confirmed", "open")),
        (100, True, ("contradicted", "open")),
        (100, False, ("contradicted", "edit-failed")),
        (100, None, ("contradicted", "edit-failed")),
        (None, True, ("not-evaluated", "open")),
    ],
)
def test_the_truth_table(after, faster, expected):
    found = instructions(after, faster)
    assert (found.outcome, found.conclusion) == expected
    assert after is None or f"instructions 100 -> {after}" in found.text


@pytest.mark.parametrize(
    ("moves", "before", "after", "outcome"),
    [
        (["-instructions"], {"instructions": 100}, {"instructions": 91}, "contradicted"),  # within the noise
        (["-instructions"], {"instructions": 100}, {"instructions": 89}, "confirmed"),
        (["+dram_pct"], {"dram_pct": 60}, {"dram_pct": 40}, "contradicted"),
        (["-dram_read_bytes", "+dram_pct"], {"dram_read_bytes": 9, "dram_pct": 9}, {"dram_read_bytes": 1, "dram_pct": 9}, "contradicted"),
        (["-dram_read_bytes", "+dram_pct"], {"dram_read_bytes": 9}, {"dram_read_bytes": 1, "dram_pct": 9}, "confirmed"),
        # half the work in half the time: the share stays, the busy cycles do not
        (["-xu_pct"], {"xu_pct": 60, "sm_elapsed_cycles": 1000}, {"xu_pct": 60, "sm_elapsed_cycles": 500}, "confirmed"),
        (["-xu_pct"], {"xu_pct": 60}, {"xu_pct": 60}, "contradicted"),
        (["-compile.stack_bytes"], {"compile.stack_bytes": 1000}, {"compile.stack_bytes": 999}, "confirmed"),  # no noise
        (["-compile.stack_bytes"], {"compile.stack_bytes": 0}, {"compile.stack_bytes": 0}, "not-evaluated"),  # cannot fall
    ],
)  # fmt: skip
def test_what_counts_as_moved(moves, before, after, outcome):
    assert check(CAUSE, moves, (observe(**before), observe(**after)), faster=True).outcome == outcome


def test_a_refuted_cause_comes_last_until_it_is_supported():
    tree = from_suggestions(PLAN)
    refuted = tree.learn(instructions(50, faster=False))
    assert [names(each)[0] == ("H", "all") for each in (tree, refuted)] == [True, False]
    assert names(refuted.learn(instructions(100, faster=False)))[-1] == ("H", "all")
    assert names(refuted.learn(instructions(50, faster=True)))[0] == ("H", "all")
    assert names(tree.learn(instructions(100, faster=False)))[0] == ("H", "all")


def test_the_rules_name_metrics_that_exist():
    moves = {move[1:] for one in load().values() for treat in one.treats for move in treat.moves}
    known = {one.name for one in (*FIGURES, *COUNTS)}
    assert len(moves) > 10
    assert {name for name in moves if name.startswith("compile.")} <= known
    assert predicted("I+B", "group_size_m=8+blocks-per-sm=1", "tensor-pipe") == ("+tensor_pct",)


@pytest.mark.parametrize("moves", ['["dram_pct"]', '["-nonsense"]', '"-dram_pct"', "[1]"])
def test_moves_are_signed_metrics(moves):
    with pytest.raises(KdiagError, match="signed metrics"):
        parse("Z.toml", ENTRY + TREAT + f"moves = {moves}\n")
