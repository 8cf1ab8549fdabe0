"""What compiled code lets expect: monotone, bounded by memory, and silent where it knows nothing."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.planner.forecast import at_best, forecast
from kdiag.planner.gain import Expectation, with_forecast
from kdiag.planner.search import expected_best
from kdiag.records import CompileEvidence, Evidence, ExpectedSpeedup, Launch, LoopTurn, Suggestion, Variant
from plan_cases import offer, resized

SHARES = st.floats(0, 100)
RATIOS = st.floats(0.05, 30)
SILU = {"grid_size": 524288, "sm_elapsed_cycles": 644180, "issue_pct": 88, "xu_pct": 49, "dram_pct": 50, "sm_count": 4}


def launch(count=1000, special=100, grid=1024, **changes):
    evidence = CompileEvidence("k", "sm_90", Launch("k", (grid,), ()), 32, 0, 0, 100, "code", (), 0.1)
    groups = {"integer": count, "special_function": special}
    return replace(evidence, **{"threads": 128, "blocks_per_sm": 8, "instructions": groups, **changes})


def told(candidate, parent=None, seen=SILU, headroom=1.8, proposal=None):
    observations = {name: Evidence("metric", name, value) for name, value in seen.items()}
    parent = launch() if parent is None else parent
    return forecast(observations, headroom, proposal or offer("H", "all"), (candidate,), (parent,))


def gain(*arguments, **named):
    return math.exp(told(*arguments, **named).figure.mid)


@given(SHARES, SHARES, st.floats(50, 100), st.integers(1, 5000), st.integers(1, 5000), st.integers(32, 4096))
def test_less_of_anything_is_never_slower_and_memory_bounds_it(issue, xu, dram, count, special, grid):
    seen = {**SILU, "issue_pct": issue, "xu_pct": xu, "dram_pct": dram}
    if told(launch(), seen=seen) is None:
        return
    assert gain(launch(), seen=seen) == pytest.approx(1)
    all_three = gain(launch(count, special, grid), seen=seen)
    assert gain(launch(count + 1, special, grid), seen=seen) <= all_three + 1e-9
    assert gain(launch(count, special, grid + 1), seen=seen) <= all_three + 1e-9
    full = {**SILU, "grid_size": 1, "issue_pct": 0, "xu_pct": 0, "dram_pct": 100}
    assert gain(launch(count, special, grid), seen=full) == pytest.approx(1, abs=1e-6)


def test_a_tile_is_judged_by_the_work_of_an_element():
    larger = resized("tile=512", tile=256)
    assert 1.4 < gain(launch(1300, 120, 512), proposal=larger) < 1.6
    assert told(launch(1300, 120, 1024), proposal=larger) is None, "a loop's tile"
    unknown = resized("tile=512")
    assert told(launch(1300, 120, 512), proposal=unknown) is None
    assert "0.5 times as many blocks" in told(launch(1300, 120, 512), proposal=larger).reason


def test_what_is_profiled_is_the_first_launch_of_the_kernel():
    late = [replace(each, launch=replace(each.launch, configuration=3)) for each in (launch(500), launch())]
    assert told(*late) == told(launch(500)), "a benchmark whose other configurations use another kernel"


def test_it_is_silent_where_it_knows_nothing():
    idle = {**SILU, "grid_size": 512, "issue_pct": 20, "xu_pct": 5, "dram_pct": 10}
    assert told(launch(500), seen=idle, headroom=10) is None, "latency"
    assert told(launch(500), seen={"issue_pct": 88}) is None
    assert told(launch(500, instructions={"tensor": 8, "integer": 100})) is None, "onto the tensor cores"
    assert told(launch(500, blocks_per_sm=3)) is None, "too little in flight"
    assert told(launch(500, grid=8)) is None, "a persistent grid of a few blocks"
    assert told(launch(500, instructions={})) is None


WAITING = {"issue_pct": 22, "tensor_pct": 22, "dram_pct": 52, "l2_pct": 67, "sm_count": 132}  # a batched product, H200


def product(grid=8192, shared=78_000, blocks=1):
    mix = {"tensor": 32, "integer": 500}
    return launch(grid=grid, shared_bytes=shared, blocks_per_sm=blocks, instructions=mix)


def test_a_product_that_waits_for_its_operands_is_told_apart_by_reuse_and_by_what_is_in_flight():
    larger = resized("tile=256", tile=32)  # timed: 2.18x, and 1.50x by two blocks in an SM, 1.12x by a deeper tile
    reuse = gain(product(1024, 139_000), product(), WAITING, 5, larger)
    twice = gain(product(blocks=2), product(), WAITING, 5)
    deeper = gain(product(shared=90_000), product(), WAITING, 5, resized("tile=64", tile=32))
    assert 2 < reuse < 2.8
    assert 1 < deeper < twice < 1.4
    assert told(product(), product(), {**WAITING, "tensor_pct": 80}) is None, "the pipe is busy"
    assert told(product(), product(), {**WAITING, "issue_pct": 70}) is None, "other arithmetic is"
    seen = {name: Evidence("metric", name, value) for name, value in {**WAITING, "source.mma": 1}.items()}
    assert at_best(seen, 5, "sm_90", larger.variant) >= reuse


BAGS = {"issue_pct": 26, "dram_pct": 21, "max_occupancy_pct": 44, "sm_count": 132, "compile.blocks_per_sm": 7}  # H200


def test_what_waits_is_told_by_the_blocks_that_are_held_at_once():
    def held(blocks, **changes):
        seen = {**BAGS, "max_occupancy_pct": changes.pop("most", 44), "l2_pct": changes.pop("cache", 28)}
        candidate, parent = (launch(grid=16384, blocks_per_sm=each) for each in (blocks, 7))
        return told(replace(candidate, **changes), parent, seen, None)

    timed = {16: 2.01, 5: 0.74, 3: 0.44}  # embedding_bag, by its latency hints
    assert all(math.exp(held(blocks).figure.mid) == pytest.approx(gained, rel=0.1) for blocks, gained in timed.items())
    assert held(7) is held(16, threads=256) is held(16, most=75) is None, "no other number, other warps, warps enough"
    assert held(16, cache=92) is None, "ell_spmv, whose gathers fetch whole sectors: 0.74x with 10 blocks for 4"
    seen = {name: Evidence("metric", name, value) for name, value in BAGS.items()}
    asked = at_best(seen, None, "sm_90", Variant("hints", "occupancy=16", {"occupancy": 16}))
    assert asked == pytest.approx(math.exp(held(16).figure.mid))


def test_where_loops_wait_for_memory_a_turn_of_them_tells():
    """The recurrence of `min_gru`, its counters and code, on an H200."""
    seen = {"grid_size": 160, "sm_elapsed_cycles": 2.62e6, "issue_pct": 8, "xu_pct": 2, "dram_pct": 4, "sm_count": 132}
    seen |= {"loop_latency_pct": 94, "max_occupancy_pct": 50}
    before = LoopTurn(2396, 4, 8, 2)

    def speedup(turn, grid=160, proposal=None, parent=before, **more):
        found = told(launch(grid=grid, turn=turn, **more), launch(grid=160, turn=parent), seen, 23, proposal)
        return None if found is None else math.exp(found.figure.mid)

    timed = {
        2.42: LoopTurn(825, 4, 8, 2),
        2.36: LoopTurn(876, 4, 8),
        1.0: LoopTurn(2398, 4, 8, 2),
        0.75: LoopTurn(3313, 4, 8),
    }
    assert all(speedup(turn) == pytest.approx(gained, rel=0.25) for gained, turn in timed.items())
    assert speedup(LoopTurn(3425, 4, 8), 132) == pytest.approx(0.355, rel=0.1), "two blocks' work, one after the other"
    assert speedup(LoopTurn(803, 2, 16, 1), 40, resized("tile=512", tile=128)) == pytest.approx(1.39, rel=0.15)
    assert speedup(LoopTurn(2457, 4, 8, 2), threads=256) == pytest.approx(0.968, rel=0.05)
    assert speedup(None) is speedup(LoopTurn(2457, 4, 8), threads=256) is speedup(before, parent=None) is None
    seen |= {"loop_latency_pct": 27}
    assert speedup(LoopTurn(825, 4, 8, 2)) is None, "of embedding_bag: other things decide"


def test_the_launch_rate_of_one_card_is_not_taken_for_anothers():
    fewer, here = launch(grid=512), launch()
    assert gain(fewer, here) > 1.1
    assert gain(replace(fewer, target="sm_100"), replace(here, target="sm_100")) == pytest.approx(1)


@given(RATIOS, st.integers(1, 5000))
def test_an_expectation_moves_towards_the_forecast_and_not_beyond(mid, count):
    before = Expectation(ExpectedSpeedup(mid * 0.9, mid, mid * 1.1), 1.0, "instruction-issue", ())
    found = told(launch(count))
    after = with_forecast(before, found)
    low, high = sorted((mid, math.exp(found.figure.mid)))
    assert low * 0.999 <= after.speedup.mid <= high * 1.001
    assert "machine instructions for 1,100" in after.reasons[-1]
    assert 0.1 < with_forecast(replace(before, confidence=0.1, works=0.5), found).confidence < 0.5


def test_a_bound_before_compiling_is_never_below_the_forecast():
    seen = {name: Evidence("metric", name, value) for name, value in SILU.items()}
    best = at_best(seen, 1.8, "sm_90", resized("tile=1024", tile=256).variant)
    assert best >= gain(launch(1000, 100, 256), proposal=resized("tile=1024", tile=256))
    assert at_best(seen, 1.8, "sm_90", resized("tile=128", tile=256).variant) is None


def member(*edges):
    speedup = ExpectedSpeedup(*sorted(edges))
    return Suggestion(0, "G", "", "", "", 1, speedup, 1.0, "safe", True, None, None, (), "")


@given(st.lists(st.tuples(RATIOS, RATIOS, RATIOS), min_size=1, max_size=6), st.tuples(RATIOS, RATIOS, RATIOS))
def test_a_longer_search_never_ends_slower_and_never_beyond_its_best(lists, one_more):
    members = [(member(*edges), 1.0) for edges in lists]
    most = max(0.0, *(math.log(each.expected_speedup.high) for each, _ in members))
    assert 0 <= expected_best(members) <= most + 1e-9
    assert expected_best([*members, (member(*one_more), 1.0)]) >= expected_best(members) * 0.99 - 1e-3
    assert expected_best([(each, 0.5) for each, _ in members]) <= expected_best(members) + 1e-9
    assert expected_best([(each, 0.0) for each, _ in members]) == pytest.approx(0)


@pytest.mark.parametrize(("count", "best"), [(1, 1.100), (2, 1.127), (5, 1.157)])
def test_the_best_of_several_that_promise_alike_is_expected_to_do_more(count, best):
    alike = [(member(1.0, 1.1, 1.2), 1.0)] * count  # each give or take 4.6 %, of which the mean best of two is 0.56
    assert math.exp(expected_best(alike)) == pytest.approx(best, abs=2e-3)
    one = [*alike, (member(1.45, 1.5, 1.55), 1.0)]
    assert math.exp(expected_best(one)) == pytest.approx(1.5, abs=2e-3), "none of the others comes near"
