"""Contiguous ranges in every spelling become the same tile access and compute the same, or are refused with a reason."""

import ast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edit_emulation
from edit_emulation import numbers
from emulated_edits import kernel, launch, results
from kdiag.executors.edits.base import Applied, Subject
from kdiag.executors.edits.tile_load_store import INVERSE, TileLoadStore
from kdiag.records import Variant
from tile_range_cases import CASES, COUNTED, LAUNCH_ONLY, REFUSED, ones

pytestmark = pytest.mark.usefixtures("emulating")
LENGTHS = (1, 101, 1023)
COPY = "ct.scatter(y, {index}, ct.gather(x, {index}) * 2)"
BLOCK = {
    "product first": "ct.bid(0) * T + ct.arange(T, dtype=ct.int32)",
    "range first": "ct.arange(T, dtype=ct.int32) + T * ct.bid(0)",
    "functions": "ct.add(ct.mul(ct.bid(0), T), ct.arange(T, dtype=ct.int32))",
    "names": "offsets",
    "a started range": "ct.arange(T, dtype=ct.int32, start=0) + block * T + 0",
    "a tile of the start": "ct.full((T,), block * T, dtype=ct.int32) + steps",
    "a tuple": "(start + steps,)",
}
NAMES = """
block = ct.bid(0)
start = block * T
steps = ct.arange(T, dtype=ct.int32)
offsets = start + steps
"""


def apply(source, variant="tile-load-store", launches=()):
    return TileLoadStore().apply(Subject(source, "k", launches=launches), Variant("A", variant))


def edited(source, variant="tile-load-store", launches=()):
    return edit_emulation.edited(TileLoadStore(), source, "k", variant, launches)


def refused(source, variant="tile-load-store", launches=()):
    return edit_emulation.refused(TileLoadStore(), source, "k", variant, launches)


def same(before, after, grid, values):
    for old, new in zip(results(before, grid, values), results(after, grid, values), strict=True):
        assert np.array_equal(old, new, equal_nan=True)


@pytest.mark.parametrize("spelling", BLOCK)
def test_case_1_a_range_per_block_becomes_the_tile_of_that_block(spelling):
    source = kernel("x, y, T", NAMES + COPY.format(index=BLOCK[spelling]))
    after = edited(source)
    assert "gather" not in after
    assert "scatter" not in after
    assert "padding_mode=ct.PaddingMode.ZERO" in after
    assert after.count("index=(block,)") + after.count("index=(ct.bid(0),)") == 2
    for length in LENGTHS:
        same(source, after, (-(-length // 64),), [numbers(length), np.zeros(length, np.float32), 64])


def launched(case):
    return (launch(case.source, case.grid, list(case.values)),)


@pytest.mark.parametrize("name", CASES)
def test_a_range_is_read_and_written_as_tiles(name):
    case = CASES[name]
    after = edited(case.source, launches=launched(case))
    assert "scatter" not in after
    for text in case.contains:
        assert text in after
    same(case.source, after, case.grid, list(case.values))
    assert edited(case.source) == after
    assert refused(after, launches=launched(case))


@pytest.mark.parametrize("name", CASES)
def test_there_and_back_ends_where_it_began(name):
    case = CASES[name]
    chain = [edited(case.source, launches=launched(case))]
    for step in range(6):
        outcome = apply(chain[-1], "tile-load-store" if step % 2 else INVERSE, launched(case))
        chain.append(outcome.source if isinstance(outcome, Applied) else chain[-1])
    assert chain[4:6] == chain[2:4]
    assert len(chain[-1]) <= 1.3 * max(len(chain[0]), len(case.source))
    same(case.source, chain[1], case.grid, list(case.values))


@pytest.mark.parametrize("name", LAUNCH_ONLY)
def test_what_only_launches_show_is_refused(name):
    case = LAUNCH_ONLY[name]
    for launches in ((), launched(case)):
        reason = refused(case.source, "tile-load", launches)
        assert case.contains[0] in reason
        assert (case.contains[1] in reason) == bool(launches)


@pytest.mark.parametrize("length", [0, 1, 33, 50, 70])
def test_a_mask_stays_where_a_launch_passes_the_extent(length):
    source = kernel("x, y, n, T", COUNTED)
    captured = launch(source, (3,), [numbers(3, 70), ones(3, 70), 70, 32])
    after = edited(source, launches=(captured,))
    assert "stop=min(n, y.shape[1])" in after
    same(source, after, (3,), [numbers(3, 70), ones(3, 70), length, 32])


STEPPED = """
for j in range(ct.cdiv(n, T)):
    i = j * T + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, i, ct.gather(x, i, mask=i < n) + 1, mask=i < n)
"""


@pytest.mark.parametrize("length", [0, 1, 33, 50, 70])
def test_elements_past_a_length_below_the_extent_are_left_alone(length):
    source = kernel("x, y, n, T", STEPPED)
    captured = launch(source, (1,), [numbers(70), ones(70), 70, 32])
    after = edited(source, launches=(captured,))
    assert "scatter" not in after
    values = [numbers(70), ones(70), length, 32]
    same(source, after, (1,), values)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_certain_is_refused_with_the_reason(name):
    body, parameters, reason = REFUSED[name]
    assert reason in refused(kernel(parameters, body), "tile-load")


def test_more_blocks_than_tiles_are_seen_in_the_launch():
    source = kernel("x, y, T", NAMES + COPY.format(index="offsets"))
    values = [numbers(100), ones(100), 32]
    fits, passes = launch(source, (4,), values), launch(source, (5,), values)
    assert isinstance(apply(source, launches=(fits,)), Applied)
    assert "`block` in the index is not certainly inside" in refused(source, launches=(fits, passes))


TILED = """
r, c = ct.bid(0), ct.bid(1)
v = ct.load(x, index=(r, c), shape=(R, T){padding}, order={order})
total = ct.zeros((R, T), ct.float32)
for j in range(2):
    total = total + v * j
ct.store(y, index=(r, c), tile=total)
"""


@given(rows=st.integers(1, 19), columns=st.integers(1, 40), order=st.sampled_from(['"C"', '"F"', "(1, 0)"]))
@settings(max_examples=12, deadline=None)
def test_a_tile_of_several_rows_is_gathered(rows, columns, order):
    source = kernel("x, y, R, T", TILED.format(padding=", padding_mode=ct.PaddingMode.NEG_INF", order=order))
    after = edited(source, INVERSE)
    assert "ct.load" not in after
    assert "ct.store" not in after
    shape = (rows, columns) if order == '"C"' else (columns, rows)
    same(source, after, (-(-rows // 8), -(-columns // 16)), [numbers(*shape), ones(rows, columns), 8, 16])


def written():
    """What the edit wrote of everything here and of its examples, each with the kernel's name."""
    examples = [(x.after, x.kernel) for x in TileLoadStore.examples if x.after and x.variant != INVERSE]
    return [(edited(case.source, launches=launched(case)), "k") for case in CASES.values()] + examples


@pytest.mark.parametrize(("source", "name"), written())
def test_an_index_counts_tiles_and_never_elements(source, name):
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        if ast.unparse(call.func) in ("ct.load", "ct.store"):
            (index,) = (given.value for given in call.keywords if given.arg == "index")
            for product in (node for node in ast.walk(index) if isinstance(node, ast.BinOp)):
                assert not isinstance(product.op, ast.Mult), (name, ast.unparse(call))


@pytest.mark.parametrize(("target", "warned"), [("sm_80", True), ("sm_86", True), ("sm_90", False), ("sm_100", False)])
def test_a_card_without_tma_is_warned_of(target, warned):
    source = kernel("x, y, T", NAMES + COPY.format(index="offsets"))
    warnings = edit_emulation.applied(TileLoadStore(), source, "k", "tile-load", target=target).warnings
    assert any("has no TMA" in warning for warning in warnings) == warned


def test_a_min_that_may_not_be_pythons_is_not_written():
    case = CASES["ragged"]
    assert "min(" in edited(case.source)
    for line in ("from cuda.tile import *", "from torch import minimum as min"):
        assert "may give min a" in refused(f"{line}\n{case.source}", "tile-load")
