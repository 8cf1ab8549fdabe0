"""Kernels that look like an edit's own and are not: each once slipped through and gave a wrong result."""

import pytest

from kdiag.executors.edits.base import Applied, Skipped, Subject
from kdiag.executors.edits.tile_load_store import TileLoadStore
from kdiag.executors.edits.tile_sizes import TileSizes
from kdiag.records import Variant

HEAD = """import cuda.tile as ct
import torch
{module}

@ct.kernel
def k(x, y, rows, TILE: ct.Constant[int]):
    row = ct.bid(0)
    columns = ct.arange(TILE, dtype=ct.int32)
"""
STENCIL = "    total = ct.zeros((TILE,), ct.float32)\n    for r in range({ends}):\n        total += ct.gather(x, (r, columns))\n"
LAUNCH = """

def run(x, y):
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(x.shape[0], SIZE), 1, 1), k, (x, y, 1, SIZE))
"""


def tiles(body, module=""):
    outcome = TileLoadStore().apply(Subject(HEAD.format(module=module) + body, "k"), Variant("A", "tile-load"))
    assert isinstance(outcome, Applied | Skipped)
    return outcome


@pytest.mark.parametrize("ends", ["row - 1, row + 2", "-1, rows", "8", "rows, 0, -1"])
def test_a_loop_that_leaves_the_array_keeps_its_gather(ends):
    assert isinstance(tiles(STENCIL.format(ends=ends)), Skipped)


@pytest.mark.parametrize("ends", ["rows", "0, rows", "row, rows, ct.num_blocks(0)"])
def test_a_loop_over_the_rows_is_rewritten(ends):
    assert isinstance(tiles(STENCIL.format(ends=ends)), Applied)


def test_a_count_that_is_a_mere_number_is_no_length():
    assert isinstance(tiles("    n = 8\n" + STENCIL.format(ends="n")), Skipped)


@pytest.mark.parametrize(
    "inner",
    ["def pick(columns): return ct.gather(x, (row, columns))", "pick = lambda columns: ct.gather(x, (row, columns))"],
)
def test_an_inner_function_may_rename_the_range(inner):
    assert isinstance(tiles(f"    {inner}\n    ct.scatter(y, (row, columns), pick(columns + 1))\n"), Skipped)


@pytest.mark.parametrize(
    "module",
    ["PAD = 0.0\nPAD -= 1e30", "from settings import PAD\ndef other():\n    PAD = 0.0", "PAD = 0.0\nPAD = 1.0"],
)
def test_a_padding_that_is_bound_elsewhere_is_not_known(module):
    assert isinstance(tiles("    v = ct.gather(x, (row, columns), padding_value=PAD)\n", module), Skipped)


def sizes(body, variant="size=512", value=512):
    source = HEAD.format(module="SIZE = 256") + body + LAUNCH
    outcome = TileSizes().apply(Subject(source, "k"), Variant("G", variant, {"size": value}))
    assert isinstance(outcome, Applied | Skipped)
    return outcome


def test_a_kernel_that_repeats_the_size_is_left_alone():
    outcome = sizes("    ct.scatter(y, ct.bid(0) * 256 + columns, ct.gather(x, ct.bid(0) * 256 + columns))\n")
    assert isinstance(outcome, Skipped)
    assert "repeats the literal 256" in outcome.reason


def test_a_tile_that_is_a_group_of_the_result_is_left_alone():
    body = "    t = ct.gather(x, ct.bid(0) * TILE + columns)\n    ct.scatter(y, ct.bid(0) * TILE + columns, t / ct.max(t))\n"
    outcome = sizes(body)
    assert isinstance(outcome, Skipped)
    assert "part of the result" in outcome.reason


@pytest.mark.parametrize("body", ["    ct.atomic_add(y, columns, ct.gather(x, columns))\n"])
def test_an_order_of_summation_that_may_change_is_not_called_safe(body):
    outcome = sizes(body)
    assert isinstance(outcome, Applied)
    assert outcome.safety == "changes-rounding"
