"""What persistent scheduling computes: the same bits, whatever the card and the sizes."""

import pytest

from bundled import kernel_file
from kdiag.executors.edits.examples.persistent import COUNTED, ROWS, ROWS_LOOPED
from kdiag.executors.edits.persistent import INVERSE, Persistent

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")

from edit_emulation import edited
from grid_edits import applied, persistent, random, results

pytestmark = [pytest.mark.compiler, pytest.mark.slow]


@pytest.mark.parametrize("rows", [1, 2, 5, 7, 97])
@pytest.mark.parametrize("sms", [1, 3, 200])
def test_rows_are_the_same_on_any_card(rows, sms):
    x = random(rows, 33)
    after = applied(persistent(ROWS, "double", 2))
    assert torch.equal(results(after, "launch", x, sms=sms), 2 * x)


@pytest.mark.parametrize("name", ["softmax", "rms_norm", "vector_add", "matmul_bf16"])
@pytest.mark.parametrize("blocks", [1, 4])
def test_the_examples_compute_the_same_bits(name, blocks):
    path = kernel_file(name)
    before = path.read_text()
    after = applied(persistent(before, f"{path.stem}_kernel", blocks))
    arguments = {
        "softmax": (random(13, 100),),
        "rms_norm": (random(13, 100), random(100)),
        "vector_add": (random(5003), random(5003)),
        "matmul_bf16": (random(300, 70).bfloat16(), random(70, 130).bfloat16()),
    }[name]
    one, other = (results(source, path.stem, *arguments) for source in (before, after))
    assert torch.equal(one, other)


def test_a_told_number_of_items_and_an_early_return():
    after = applied(persistent(COUNTED, "scale"))
    for length in (1, 255, 256, 257, 1031):
        x = random(length)
        one, other = torch.zeros(length), torch.zeros(length)
        blocks = -(-length // 256)
        results(COUNTED, "launch", x, one, length, blocks)
        results(after, "launch", x, other, length, blocks, sms=2)
        assert torch.equal(one, other)


BATCHED = """
import cuda.tile as ct
import torch

SPEED = {}


@ct.kernel
def copy(x, y, F: float, T: ct.Constant[int]):
    z, i, j = ct.bid(2), ct.bid(0), ct.bid(1)
    F = F * 2.0
    ct.store(y, (z, i, j), ct.load(x, (z, i, j), (1, T, T), padding_mode=ct.PaddingMode.ZERO) * F)


def launch(x):
    n, rows, columns = x.shape
    x = x.contiguous()
    y = torch.empty_like(x)
    T = 8

    def grid(cfg):
        return ct.cdiv(rows, cfg), (columns + cfg - 1) // cfg, n

    def arguments(cfg):
        return x, y, 1.5, cfg

    ct.launch(torch.cuda.current_stream(), grid(T), copy, arguments(T))
    return y
"""


def test_three_axes_a_parameter_that_changes_and_a_grid_from_a_function():
    after = applied(persistent(BATCHED, "copy"))
    assert "item // (blocks_x * blocks_y)" in after
    assert after.index("F = F * 2.0") < after.index("for item")
    for shape in ((1, 1, 1), (3, 17, 9), (5, 8, 24)):
        x = random(*shape)
        assert torch.equal(results(after, "launch", x, sms=4), 3 * x)


TUNED = """
from math import ceil
from types import SimpleNamespace

import cuda.tile as ct
import torch
from cuda.tile.tune import exhaustive_search

CACHE = {}


@ct.kernel
def double(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (T,)) * 2)


def launch(x):
    n = x.shape[0]
    y = torch.empty_like(x)
    stream = torch.cuda.current_stream()
    if n not in CACHE:
        result = exhaustive_search(
            [SimpleNamespace(T=16), SimpleNamespace(T=32)],
            stream,
            lambda cfg: (ceil(n / cfg.T), 1, 1),
            double,
            lambda cfg: (x, y, cfg.T),
            lambda cfg: {"occupancy": 2},
        )
        best = result.best.config
        CACHE[n] = (best, double.replace_hints(occupancy=2))
    best, tuned = CACHE[n]
    ct.launch(stream, (ceil(n / best.T), 1, 1), tuned, (x, y, best.T))
    return y
"""


def test_a_tuned_launch_changes_in_the_search_and_at_the_launch():
    after = applied(persistent(TUNED, "double"))
    assert "range(ct.bid(0), ct.cdiv(x.shape[0], T), ct.num_blocks(0))" in after
    assert after.count("sm_count), 1, 1)") == 2
    x = random(333)
    assert torch.equal(results(after, "launch", x), 2 * x)


HELPED = """
import cuda.tile as ct
import torch


def place(columns, T: ct.Constant[int]):
    block = ct.bid(0)
    across = ct.cdiv(columns, T)
    return block // across, block % across


@ct.kernel
def double(x, y, T: ct.Constant[int]):
    i, j = place(x.shape[1], T)
    ct.store(y, (i, j), ct.load(x, (i, j), (T, T), padding_mode=ct.PaddingMode.ZERO) * 2)


def launch(x):
    (rows, columns), tile = x.shape, 8
    y = torch.empty_like(x)
    blocks = ct.cdiv(rows, tile) * ct.cdiv(columns, tile)
    ct.launch(torch.cuda.current_stream(), (blocks,), double, (x, y, tile))
    return y
"""


def test_a_function_that_asks_for_the_block_is_told_the_item():
    outcome = persistent(HELPED, "double")
    assert outcome.warnings[0].startswith("place has a new parameter")
    for shape in ((1, 1), (17, 9), (8, 41)):
        x = random(*shape)
        assert torch.equal(results(applied(outcome), "launch", x), 2 * x)
    shared = HELPED + "\n\n@ct.kernel\ndef other(x, T: ct.Constant[int]):\n    place(x.shape[1], T)\n"
    assert "uses ct.bid in place" in persistent(shared, "double").reason


def test_persistent_and_back_computes_the_same():
    x = random(19, 40)
    assert torch.equal(results(edited(Persistent(), ROWS_LOOPED, "double", INVERSE), "launch", x), 2 * x)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ct.bid(0)  #", "ct.bid(axis=x.shape[0])  #", "no number"),
        ("values * 2)", "helper(values))", "not in this file"),
        ("values * 2)", "values * torch.row())", "calls torch.row, which is not read"),
        ("values * 2)", "values * torch.load(x))", "calls torch.load, which is not read"),
        ("values * 2)", "values * (torch, x)[0].load(x))", "which is not read"),
        ("import torch\n", "import torch\nfrom cuda.tile import *\n", "may give min another meaning"),
        ("    return y\n", "    return other(double)\n", "not understood"),
        ("(rows, 1, 1)", "tuple(x.shape)", "not written out"),
        ("(rows, 1, 1)", "(1, 1, 1)", "single block"),
        ("import torch\n", "from torch import empty_like\n", "does not import torch"),
        ("    row = ct.bid(0)  # one row per block\n", "    row = 0\n", "does not use its block number"),
        ("    values", "    if x.shape[0] > 3:\n        x.shape\n        return\n    values", "returns"),
        ("    values", "    while row > 3:\n        return\n    values", "returns"),
        ("(rows, 1, 1)", "(torch.cuda.get_device_properties(0).multi_processor_count, 1, 1)", "number of SMs already"),
    ],
)
def test_what_is_not_certain_is_refused(old, new, reason):
    assert old in ROWS
    assert reason in persistent(ROWS.replace(old, new, 1), "double").reason


def test_a_helper_that_is_reached_through_a_class_is_refused():
    source = ROWS.replace(
        "\n\n@", "\n\nclass Helper:\n    @staticmethod\n    def row():\n        return ct.bid(0)\n\n\n@", 1
    )
    source = source.replace("values * 2)", "values * Helper.row())")
    assert "calls Helper.row, which is not read" in persistent(source, "double").reason


def test_methods_of_tiles_are_cuda_tiles_own():
    source = ROWS.replace("values * 2)", "(values * 2).astype(x.dtype).reshape(values.shape))")
    assert source != ROWS
    applied(persistent(source, "double", 2))
