"""Kernels that look like an edit's own and are not: each once slipped through and gave a wrong result."""

import pytest

from edit_emulation import applied, edited, refused
from kdiag.executors.edits.tile_load_store import TileLoadStore
from kdiag.executors.edits.tile_sizes import TileSizes

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


def stays(body, module=""):
    return refused(TileLoadStore(), HEAD.format(module=module) + body, "k", "tile-load")


@pytest.mark.parametrize("ends", ["row - 1, row + 2", "-1, rows", "8", "rows, 0, -1"])
def test_a_loop_that_leaves_the_array_keeps_its_gather(ends):
    assert stays(STENCIL.format(ends=ends))


@pytest.mark.parametrize("ends", ["rows", "0, rows", "row, rows, ct.num_blocks(0)"])
def test_a_loop_over_the_rows_is_rewritten(ends):
    assert edited(TileLoadStore(), HEAD.format(module="") + STENCIL.format(ends=ends), "k", "tile-load")


def test_a_count_that_is_a_mere_number_is_no_length():
    assert stays("    n = 8\n" + STENCIL.format(ends="n"))


@pytest.mark.parametrize(
    "inner",
    ["def pick(columns): return ct.gather(x, (row, columns))", "pick = lambda columns: ct.gather(x, (row, columns))"],
)
def test_an_inner_function_may_rename_the_range(inner):
    assert stays(f"    {inner}\n    ct.scatter(y, (row, columns), pick(columns + 1))\n")


@pytest.mark.parametrize(
    "module",
    ["PAD = 0.0\nPAD -= 1e30", "from settings import PAD\ndef other():\n    PAD = 0.0", "PAD = 0.0\nPAD = 1.0"],
)
def test_a_padding_that_is_bound_elsewhere_is_not_known(module):
    assert stays("    v = ct.gather(x, (row, columns), padding_value=PAD)\n", module)


def sized(body):
    return TileSizes(), HEAD.format(module="SIZE = 256") + body + LAUNCH, "k", "size=512"


def test_a_kernel_that_repeats_the_size_is_left_alone():
    repeated = "    ct.scatter(y, ct.bid(0) * 256 + columns, ct.gather(x, ct.bid(0) * 256 + columns))\n"
    assert "repeats the literal 256" in refused(*sized(repeated), size=512)


def test_a_tile_that_is_a_group_of_the_result_is_left_alone():
    body = "    t = ct.gather(x, ct.bid(0) * TILE + columns)\n    ct.scatter(y, ct.bid(0) * TILE + columns, t / ct.max(t))\n"
    assert "part of the result" in refused(*sized(body), size=512)


def test_an_order_of_summation_that_may_change_is_not_called_safe():
    added = sized("    ct.atomic_add(y, columns, ct.gather(x, columns))\n")
    assert applied(*added, size=512).safety == "changes-rounding"
