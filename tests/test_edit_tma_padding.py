"""Padding put in by `ct.where` is the padding that the load had, to the bit, and the load then goes through TMA."""

import numpy as np
import pytest

from edit_compilation import remarks_of
from edit_emulation import applied, edited, refused, run
from kdiag.executors.edits.examples.tma_padding import EXAMPLES, LOAD, SPREAD, softmax, vector
from kdiag.executors.edits.tma_padding import TmaPadding

pytestmark = pytest.mark.usefixtures("emulating")
PASSING = [example for example in EXAMPLES if example.after is not None]
COPY = """\
import cuda.tile as ct


@ct.kernel
def copy(x, y, P: ct.Constant[int], Q: ct.Constant[int], R: ct.Constant[int]):
    i, j, k = ct.bid(0), ct.bid(1), ct.bid(2)
    tile = ct.load(x, {index}, (P, Q, R), order={order}, padding_mode=ct.PaddingMode.{mode})
    ct.store(y, (i, j, k), ct.where(ct.max(tile) > -9.0, tile, 0.0))
"""


def same_bits(one, other):
    return bool(np.array_equal(one.view(np.uint32), other.view(np.uint32)))


@pytest.mark.parametrize("mode", ["NEG_INF", "POS_INF", "NEG_ZERO", "NAN"])
@pytest.mark.parametrize("length", [1, 31, 32, 97, 1000])
def test_a_padded_vector_keeps_its_bits(mode, length):
    source = vector(SPREAD.format(mode), "ct.sum(ct.where(ct.isnan(values), 7.0, 1.0 / values))")
    x = np.linspace(-3, 2, length, dtype=np.float32)
    x[length // 2] = np.nan
    results = []
    for text in (source, edited(TmaPadding(), source, "largest", "zero")):
        results.append(np.zeros(-(-length // 32), np.float32))
        run(text, "largest", (len(results[-1]), 1, 1), (x, results[-1], 32))
    assert same_bits(*results)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 61), (8, 64), (13, 37)])
def test_a_softmax_of_ragged_rows_keeps_its_bits(rows, columns):
    source = softmax(LOAD.format("NEG_INF"))
    x = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    results = [np.zeros_like(x), np.zeros_like(x)]
    for text, y in zip((source, edited(TmaPadding(), source, "softmax", "zero")), results, strict=True):
        run(text, "softmax", (-(-rows // 4), 1, 1), (x, y, 4, 64))
    assert same_bits(*results)


@pytest.mark.parametrize("order", ["'C'", "'F'", "(1, 2, 0)"])
def test_every_axis_of_a_permuted_tile_is_masked_by_its_own_extent(order):
    source = COPY.format(order=order, index="(i, j, k)", mode="NEG_ZERO")
    x = np.random.default_rng(1).normal(size=(3, 6, 5)).astype(np.float32)
    axes = {"'C'": (0, 1, 2), "'F'": (2, 1, 0)}.get(order, (1, 2, 0))
    tile = (2, 4, 8)
    grid = [-(-x.shape[axis] // size) for axis, size in zip(axes, tile, strict=True)]
    results = []
    for text in (source, edited(TmaPadding(), source, "copy", "zero")):
        results.append(np.ones([blocks * size for blocks, size in zip(grid, tile, strict=True)], np.float32))
        run(text, "copy", grid, (x, results[-1], *tile))
    assert same_bits(*results)
    assert np.signbit(results[0][-1, -1, -1])


def test_the_size_of_a_tile_may_be_computed():
    source = vector("ct.load(x, (number + 1,), (T // 2,), padding_mode=ct.PaddingMode.NAN)")
    after = edited(TmaPadding(), source, "largest", "zero")
    assert "(number + 1) * (T // 2) + ct.arange(T // 2, dtype=ct.int32) < x.shape[0]" in after


def test_there_is_nothing_to_gain_without_tma():
    example = PASSING[0]
    assert refused(TmaPadding(), example.before, example.kernel, "zero", target="sm_89") == "sm_89 has no TMA"


@pytest.mark.parametrize("index", ["(f(number),)", "(n := number,)", "number", "(number, 0)", "*number"])
def test_an_index_that_cannot_be_written_twice_is_refused(index):
    source = vector(f"ct.load(x, {index}, (T,), padding_mode=ct.PaddingMode.NAN)")
    assert refused(TmaPadding(), source, "largest", "zero")


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
@pytest.mark.parametrize("example", PASSING, ids=[example.name for example in PASSING])
def test_the_promised_lines_load_through_tma(example, target):
    outcome = applied(TmaPadding(), example.before, example.kernel, "zero", example.launches)
    loads = {
        line: {remark.where.line for remark in remarks if "TMA Load" in remark.instruction}
        for line, remarks in (
            (text, remarks_of(text, example.kernel, target)) for text in (example.before, outcome.source)
        )
    }
    assert not loads[example.before]
    for promise in outcome.promises:
        assert loads[outcome.source] >= set(promise.lines)
