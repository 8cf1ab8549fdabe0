"""Contiguous ranges in every spelling become the same tile access and compute the same, or are refused with a reason."""

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulated_edits import kernel, launch, numbers, results
from kdiag.executors.edits.base import Applied, Outcome, Skipped, Subject
from kdiag.executors.edits.tile_load_store import INVERSE, TileLoadStore
from kdiag.records import Launch, Variant

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


def apply(source: str, variant: str = "tile-load-store", launches: tuple[Launch, ...] = ()) -> Outcome:
    return TileLoadStore().apply(Subject(source, "k", launches=launches), Variant("A", variant))


def edited(source: str, variant: str = "tile-load-store", launches: tuple[Launch, ...] = ()) -> str:
    outcome = apply(source, variant, launches)
    assert isinstance(outcome, Applied), outcome
    return outcome.source


def same(before: str, after: str, grid: tuple[int, ...], values: list[Any]) -> None:
    for old, new in zip(results(before, grid, values), results(after, grid, values), strict=True):
        assert np.array_equal(old, new, equal_nan=True)


@pytest.mark.parametrize("spelling", BLOCK)
def test_case_1_a_range_per_block_becomes_the_tile_of_that_block(spelling: str) -> None:
    source = kernel("x, y, T", NAMES + COPY.format(index=BLOCK[spelling]))
    after = edited(source)
    assert "gather" not in after
    assert "scatter" not in after
    assert "padding_mode=ct.PaddingMode.ZERO" in after
    assert after.count("index=(block,)") + after.count("index=(ct.bid(0),)") == 2
    for length in LENGTHS:
        same(source, after, (-(-length // 64),), [numbers(length), np.zeros(length, np.float32), 64])


@dataclass(frozen=True)
class Case:
    """A kernel, one launch of it, and what the edited kernel must contain; `alone` if it needs no launch."""

    source: str
    grid: tuple[int, ...]
    values: tuple[Any, ...]
    contains: tuple[str, ...]
    alone: bool = True


def ones(*shape: int) -> Any:
    return np.full(shape, -1, np.float32)


HALVES = """
row = ct.bid(0)
columns = ct.arange(T, dtype=ct.int32)
ct.scatter(y, (row, columns), ct.gather(x, (row, columns + H)))
"""
PLANE = """
rows = ct.bid(0) * R + ct.arange(R, dtype=ct.int32)
columns = ct.bid(1) * T + ct.arange(T, dtype=ct.int32)
ct.scatter(y, (rows[:, None], columns[None, :]), -ct.gather(x, (ct.expand_dims(rows, 1), columns[None, :])))
"""
COUNTED = """
row = ct.bid(0)
tiles = (n + T - 1) // T
for j in range(tiles):
    columns = ct.full((T,), j * T, dtype=ct.int32) + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, (row, columns), ct.gather(x, (row, columns), padding_value=-0.0))
for offset in range(0, n, T):
    columns = offset + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, (ct.full((T,), row, ct.int32), columns), ct.gather(y, (row, columns), mask=columns < n) + 1)
"""
MASKED = """
i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
inside = i < n
ct.scatter(y, i, ct.gather(x, i, mask=inside, padding_value=0) + 1, mask=inside & (i < y.shape[0]))
"""
RAGGED = """
start = ct.gather(starts, ct.bid(0))
stop = ct.gather(starts, ct.bid(0) + 1)
for j in range(ct.cdiv(stop - start, T)):
    i = start + j * T + ct.arange(T, dtype=ct.int32)
    v = ct.gather(x, i, mask=i < stop, check_bounds=False)
    ct.scatter(y, i, v * ct.sum(v), mask=i < stop, check_bounds=False)
"""
PAGED = """
page = ct.gather(table, ct.bid(0))
i = page * P + ct.arange(P, dtype=ct.int32)
ct.scatter(y, ct.bid(0) * P + ct.arange(P, dtype=ct.int32), ct.gather(x, i, check_bounds=False))
"""
FLAT = """
group, head = ct.bid(1) // H, ct.bid(1) % H
i = group * (H * N) + head * N + ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
ct.scatter(y, i, ct.gather(x, i) * 3)
"""
CASES = {
    "a plane": Case(
        kernel("x, y, R, T", PLANE),
        (3, 2),
        (numbers(21, 50), ones(21, 50), 8, 32),
        ("index=(ct.bid(0), ct.bid(1)), shape=(R, T)",),
    ),
    "rows in steps": Case(
        kernel("x, y, n, T", COUNTED),
        (3,),
        (numbers(3, 70), ones(3, 70), 70, 32),
        ("index=(row, j)", "index=(row, offset // T)"),
        alone=False,
    ),
    "a length that is the array's": Case(
        kernel("x, y, n, T", MASKED),
        (4,),
        (numbers(101), ones(101), 101, 32),
        ("index=(ct.bid(0),), tile=", "ct.load(x, index"),
        alone=False,
    ),
    "a length below the array's": Case(
        kernel("x, y, n, T", MASKED),
        (3,),
        (numbers(101), ones(103), 77, 32),
        ("x.slice(axis=0, start=0, stop=n)", "y.slice(axis=0, start=0, stop=n)"),
        alone=False,
    ),
    "the second half": Case(
        kernel("x, y, H, T", HALVES),
        (5,),
        (numbers(5, 86), ones(5, 43), 43, 64),
        ("x.slice(axis=1, start=H, stop=x.shape[1]), index=(row, 0)",),
        alone=False,
    ),
    "ragged": Case(
        kernel("x, starts, y, T", RAGGED),
        (4,),
        (numbers(90), np.array([3, 40, 40, 41, 90], np.int32), ones(90), 16),
        ("x.slice(axis=0, start=start, stop=min(stop, x.shape[0])), index=(j,)",),
    ),
    "paged": Case(
        kernel("x, table, y, P", PAGED),
        (3,),
        (numbers(64), np.array([2, 0, 3], np.int32), ones(48), 16),
        ("ct.load(x, index=(page,), shape=(P,)",),
    ),
    "one vector of many": Case(
        kernel("x, y, H, N, T", FLAT),
        (3, 6),
        (numbers(6 * 48), ones(6 * 48), 3, 48, 16),
        ("start=H * N * group + N * head", "index=(ct.bid(0),)"),
        alone=False,
    ),
}


def launched(case: Case) -> tuple[Launch, ...]:
    return (launch(case.source, case.grid, list(case.values)),)


@pytest.mark.parametrize("name", CASES)
def test_a_range_is_read_and_written_as_tiles(name: str) -> None:
    case = CASES[name]
    after = edited(case.source, launches=launched(case))
    assert "scatter" not in after
    for text in case.contains:
        assert text in after
    same(case.source, after, case.grid, list(case.values))
    if case.alone:
        assert edited(case.source) == after
    else:
        assert getattr(apply(case.source), "source", "") != after
    again = apply(after, launches=launched(case))
    assert isinstance(again, Skipped)


@pytest.mark.parametrize("name", CASES)
def test_there_and_back_ends_where_it_began(name: str) -> None:
    case = CASES[name]
    chain = [edited(case.source, launches=launched(case))]
    for step in range(6):
        outcome = apply(chain[-1], "tile-load-store" if step % 2 else INVERSE, launched(case))
        chain.append(outcome.source if isinstance(outcome, Applied) else chain[-1])
    assert chain[4:6] == chain[2:4]
    assert len(chain[-1]) <= 1.3 * max(len(chain[0]), len(case.source))
    same(case.source, chain[1], case.grid, list(case.values))


REFUSED = {
    "a start from memory": (
        RAGGED.replace(", check_bounds=False", ""),
        "x, starts, y, T",
        "comes from memory",
    ),
    "a page from memory": (PAGED.replace(", check_bounds=False", ""), "x, table, y, P", "comes from memory"),
    "a length that may pass": (MASKED, "x, y, n, T", "not certain to begin before `n`"),
    "another mask": (
        "i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)\nct.scatter(y, i, ct.gather(x, i, mask=i > n))\n",
        "x, y, n, T",
        "cannot carry the mask",
    ),
    "every second element": (
        "i = 2 * (ct.bid(0) * T + ct.arange(T, dtype=ct.int32))\nct.scatter(y, i, ct.gather(x, i))\n",
        "x, y, T",
        "not certainly a contiguous range",
    ),
    "a diagonal": (
        "i = ct.arange(T, dtype=ct.int32)\nct.scatter(y, (i, i), ct.gather(x, (i, i)))\n",
        "x, y, T",
        "along a diagonal",
    ),
    "a transposition": (
        "i = ct.arange(T, dtype=ct.int32)\nct.scatter(y, i, ct.gather(x, (i[None, :], i[:, None])))\n",
        "x, y, T",
        "in another order",
    ),
    "a range that moves": (
        "i = ct.arange(T, dtype=ct.int32)\nfor j in range(n):\n    ct.scatter(y, i, ct.gather(x, i))\n    i += T\n",
        "x, y, n, T",
        "not certainly a contiguous range",
    ),
    "an early end": (
        RAGGED.replace("    v =", "    if j > 3:\n        break\n    v ="),
        "x, starts, y, T",
        "comes from memory",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_certain_is_refused_with_the_reason(name: str) -> None:
    body, parameters, reason = REFUSED[name]
    outcome = apply(kernel(parameters, body), "tile-load")
    assert isinstance(outcome, Skipped), outcome
    assert reason in outcome.reason


def test_more_blocks_than_tiles_are_seen_in_the_launch() -> None:
    source = kernel("x, y, T", NAMES + COPY.format(index="offsets"))
    values = [numbers(100), ones(100), 32]
    fits, passes = launch(source, (4,), values), launch(source, (5,), values)
    assert isinstance(apply(source, launches=(fits,)), Applied)
    outcome = apply(source, launches=(fits, passes))
    assert isinstance(outcome, Skipped)
    assert "`block` in the index is not certainly inside" in outcome.reason


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
def test_a_tile_of_several_rows_is_gathered(rows: int, columns: int, order: str) -> None:
    source = kernel("x, y, R, T", TILED.format(padding=", padding_mode=ct.PaddingMode.NEG_INF", order=order))
    after = edited(source, INVERSE)
    assert "ct.load" not in after
    assert "ct.store" not in after
    shape = (rows, columns) if order == '"C"' else (columns, rows)
    same(source, after, (-(-rows // 8), -(-columns // 16)), [numbers(*shape), ones(rows, columns), 8, 16])


def written() -> list[tuple[str, str]]:
    """What the edit wrote of everything here and of its examples, each with the kernel's name."""
    examples = [(x.after, x.kernel) for x in TileLoadStore.examples if x.after and x.variant != INVERSE]
    return [(edited(case.source, launches=launched(case)), "k") for case in CASES.values()] + examples


@pytest.mark.parametrize(("source", "name"), written())
def test_an_index_counts_tiles_and_never_elements(source: str, name: str) -> None:
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        if ast.unparse(call.func) in ("ct.load", "ct.store"):
            (index,) = (given.value for given in call.keywords if given.arg == "index")
            for product in (node for node in ast.walk(index) if isinstance(node, ast.BinOp)):
                assert not isinstance(product.op, ast.Mult), (name, ast.unparse(call))


@pytest.mark.parametrize(
    ("target", "warned"), [("sm_80", True), ("sm_86", True), ("sm_90", False), ("sm_100", False)]
)
def test_a_card_without_tma_is_warned_of(target: str, warned: bool) -> None:
    source = kernel("x, y, T", NAMES + COPY.format(index="offsets"))
    outcome = TileLoadStore().apply(Subject(source, "k", target), Variant("A", "tile-load"))
    assert isinstance(outcome, Applied)
    assert any("has no TMA" in warning for warning in outcome.warnings) == warned
