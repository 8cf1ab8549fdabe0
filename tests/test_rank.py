"""The planner on made-up kernels whose right answer was measured on an H200."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.planner.gain import capped
from kdiag.planner.order import next_tiers
from kdiag.records import ExpectedSpeedup
from kdiag.rules.load_causes import load_causes
from kdiag.rules.load_playbook import load
from plan_cases import SOFTMAX, SOFTMAX_CAUSES, diagnosis, find, offer, plan
from verdict_cases import row


def test_every_optimization_of_the_playbook_appears_once_at_least():
    suggestions = plan(*SOFTMAX, diagnosis=SOFTMAX_CAUSES)
    assert {s.optimization for s in suggestions} == set(load())
    assert all(s.explanation and s.title for s in suggestions)
    for name in "BCEIJKL":
        assert find(suggestions, name).why_not == "no executor yet"


def test_softmax_at_its_start_gets_fast_math_first_and_tile_loads_last():
    suggestions = [s for s in plan(*SOFTMAX, diagnosis=SOFTMAX_CAUSES) if s.applicable]
    assert (suggestions[0].optimization, suggestions[0].variant) == ("H", "all")
    assert 1.1 < suggestions[0].expected_speedup.mid <= 1.36
    assert suggestions[-1].optimization == suggestions[-2].optimization == "A"
    assert suggestions[-1].expected_speedup.mid < 0.7
    assert "H200, measured 2026-11" in suggestions[0].explanation
    assert " A trial takes about 2 s." in suggestions[0].explanation
    assert suggestions[0].evidence[0].name == "issue_pct"


def test_headroom_caps_everything_but_what_lifts_the_roof():
    proposals = (offer("D", "tf32"), *SOFTMAX)
    causes = diagnosis(("mma-off-tensor-cores", 0.9), ("special-functions-and-division", 0.9))
    suggestions = plan(*proposals, diagnosis=causes, headroom=1.08)
    assert max(s.expected_speedup.high for s in suggestions if s.optimization != "D") <= 1.08
    assert find(suggestions, "D", "tf32").expected_speedup.mid > 4
    assert "1.08x" in find(suggestions, "H", "all").explanation


@pytest.mark.parametrize(("allow", "applicable"), [("yes", True), ("ask", True), ("no", False)])
def test_changes_of_rounding_need_permission(allow, applicable):
    found = find(plan(*SOFTMAX, diagnosis=SOFTMAX_CAUSES, allow_rounding=allow), "H", "all")
    assert found.applicable == applicable
    assert ("--allow-rounding" in found.explanation) == (allow == "ask")
    assert found.why_not == (None if applicable else "--exact forbids changes of rounding")


def test_what_was_tried_is_not_suggested_again_and_nothing_kept_is_undone():
    proposals = (offer("A", "tile-load"), offer("A", "gather-scatter"))
    suggestions = plan(*proposals, tried={("A", "tile-load"): "keep"})
    assert find(suggestions, "A", "tile-load").why_not == "tried already: keep"
    assert find(suggestions, "A", "gather-scatter").why_not == "would undo A tile-load, which was kept"


def test_a_partner_gains_once_the_other_was_kept():
    causes = diagnosis(("tensor-pipe", 0.9))
    alone = find(plan(diagnosis=causes), "B")
    after = find(plan(diagnosis=causes, tried={("I", "group=8"): "keep"}), "B")
    assert 1.06 < after.expected_speedup.mid < 1.087
    assert 1.0 < alone.expected_speedup.mid < 1.047, "two measurements, shrunk"
    assert "Together with I" in alone.explanation


def test_old_cards_are_told_what_they_lack():
    assert "9.0 or newer" in find(plan(offer("F", "stores"), target="sm_80"), "F", "stores").why_not
    assert find(plan(offer("F", "stores"), target="sm_120"), "F", "stores").applicable


def test_without_diagnosis_and_compiler_the_tiers_decide_with_low_confidence():
    suggestions = plan(*SOFTMAX, offer("G", "tile=2048"))
    tiers = [s.tier for s in suggestions if s.applicable and s.expected_speedup.mid > 0.9]
    assert tiers == sorted(tiers)
    assert all(s.confidence <= 0.2 for s in suggestions)


@pytest.mark.parametrize(
    ("bottleneck", "tiers"), [("memory", [1, 2, 3]), ("compute", [3, 1, 5, 2]), ("latency", [4, 3, 1, 2])]
)
def test_a_class_without_a_cause_orders_the_tiers(bottleneck, tiers):
    suggestions = plan(*SOFTMAX, diagnosis=diagnosis(bottleneck=bottleneck))
    found = list(dict.fromkeys(s.tier for s in suggestions if s.applicable and s.expected_speedup.mid > 0.9))
    assert found == [tier for tier in tiers if tier in found]
    refused = [s.tier for s in suggestions if not s.applicable and s.expected_speedup.mid > 0.9]
    assert refused[0] == tiers[0]


@pytest.mark.parametrize(
    ("bottleneck", "tried", "order"),
    [("compute", "H I+B", (5, 2, 4, 3, 1)), ("memory", "A G H B F G", (2, 3, 4, 5, 1))],
)
def test_the_tiers_with_the_fewest_attempts_come_first(bottleneck, tried, order):
    rows = [row(1, "no-op"), *(replace(row(2, "crash"), optimization=name, variant=name) for name in tried.split())]
    assert next_tiers(diagnosis(bottleneck=bottleneck), rows, counted=True).order == order
    uncounted = next_tiers(diagnosis(bottleneck=bottleneck), [], counted=False)
    first = plan(*SOFTMAX, diagnosis=SOFTMAX_CAUSES, tiers=uncounted)[0]
    assert (first.tier, uncounted.order[0]) == (1, 1)
    assert "then tier 1, the safest start without counters, then what suits" in first.explanation


CAUSES = st.dictionaries(st.sampled_from(sorted(load_causes())), st.floats(0, 1), max_size=4)


@given(CAUSES, st.none() | st.floats(0.5, 30), st.sampled_from(["sm_80", "sm_90", "sm_100"]))
def test_any_diagnosis_gives_a_sound_plan(causes, headroom, target):
    suggestions = plan(*SOFTMAX, diagnosis=diagnosis(*causes.items()), headroom=headroom, target=target)
    assert [s.rank for s in suggestions] == list(range(1, len(suggestions) + 1))
    for s in suggestions:
        assert 0 < s.expected_speedup.low <= s.expected_speedup.mid <= s.expected_speedup.high
        assert 0 <= s.confidence <= 1
        assert s.applicable == (s.why_not is None)


@given(st.floats(0.1, 5), st.floats(0.1, 50))
def test_a_cap_never_raises_and_never_falls_below_no_gain(mid, headroom):
    result = capped(ExpectedSpeedup(mid, mid, mid), headroom)
    assert result.mid <= mid
    assert result.mid <= max(headroom, 1.0)
    assert mid > 1 or result.mid == mid
