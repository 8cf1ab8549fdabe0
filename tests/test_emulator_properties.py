"""Kernels on random shapes: one result in every order of the blocks, and the one that NumPy computes."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.compiler

import cuda.tile as ct
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag.executors.emulator.emulation import Emulation
from kdiag.executors.emulator.launch import Order

ORDERS = (Order(), Order(lockstep=False), Order(shuffle=1), Order(shuffle=2, lockstep=False))
DTYPES = ("float16", "float32", "float64", "int32", "int64", "uint8")
SIZES = st.sampled_from((1, 2, 8, 16, 64))
EXTENTS = st.integers(1, 90)
FEW, WIDE = st.integers(1, 12), st.sampled_from((8, 16, 64))  # where a block at a time is slow
SEEDS = st.integers(0, 2**32 - 1)
EXAMPLES = settings(max_examples=20)


def result(kernel, grid, shape, dtype, *arguments, before=None):
    """What a kernel writes to its last array, which must be the same bits in every order, and without a fault."""
    outs = []
    for order in ORDERS:
        emulation = Emulation("sm_90", order, "raise")
        out = emulation.empty(shape, dtype) if before is None else before.copy()
        emulation.launch(None, grid, kernel, tuple(out if item is ... else item for item in arguments))
        emulation.check_written()
        assert not emulation.faults
        outs.append(out)
    assert len({out.tobytes() for out in outs}) == 1
    return outs[0]


def tiles(extent, size):
    return -(-extent // size)


def filled(draw, dtype, *shape):
    """Random elements in a random layout: as made, transposed, or a part of a larger array."""
    random = np.random.default_rng(draw(SEEDS))
    layout = draw(st.sampled_from(("plain", "transposed", "part")))
    whole = tuple(extent + 3 for extent in shape) if layout == "part" else shape
    whole = whole[::-1] if layout == "transposed" else whole
    if np.dtype(dtype).kind == "f":
        array = random.normal(size=whole).astype(dtype)
    else:
        limits = np.iinfo(dtype)
        array = random.integers(limits.min, limits.max, whole, dtype, endpoint=True)
    array = array.T if layout == "transposed" else array
    return array[tuple(slice(1, extent + 1) for extent in shape)] if layout == "part" else array


@ct.kernel
def combine(x, y, out, how: ct.Constant[int], size: ct.Constant[int]):
    i = ct.bid(0)
    left, right = ct.load(x, (i,), (size,)), ct.load(y, (i,), (size,))
    if how == 0:
        value = left + right
    elif how == 1:
        value = left * right - left
    elif how == 2:
        value = ct.maximum(left, right)
    else:
        value = ct.where(left > right, left, -right)
    ct.store(out, (i,), value)


COMBINED = (lambda x, y: x + y, lambda x, y: x * y - x, np.maximum, lambda x, y: np.where(x > y, x, -y))


@EXAMPLES
@given(st.data(), EXTENTS, SIZES, st.sampled_from(DTYPES), st.integers(0, 3))
def test_elements(data, extent, size, dtype, how):
    if how == 1 and np.dtype(dtype).kind == "f":
        how = 0  # cuTile fuses a product and a sum, which rounds once
    x, y = filled(data.draw, dtype, extent), filled(data.draw, dtype, extent)
    got = result(combine, (tiles(extent, size),), extent, dtype, x, y, ..., how, size)
    np.testing.assert_array_equal(got, COMBINED[how](x, y))


def transposed_with(mode):
    @ct.kernel
    def transpose(x, out, rows: ct.Constant[int], columns: ct.Constant[int]):
        i, j = ct.bid(0), ct.bid(1)
        tile = ct.load(x, (i, j), (rows, columns), padding_mode=mode)
        ct.store(out, (j, i), ct.transpose(tile))

    return transpose


TRANSPOSE = {mode: transposed_with(mode) for mode in ct.PaddingMode}


@EXAMPLES
@given(st.data(), EXTENTS, EXTENTS, WIDE, WIDE, st.sampled_from(DTYPES))
def test_padding_changes_nothing_within_bounds(data, m, n, rows, columns, dtype):
    x = filled(data.draw, dtype, m, n)
    modes = list(ct.PaddingMode)
    if np.dtype(dtype).kind != "f":
        modes = [ct.PaddingMode.UNDETERMINED, ct.PaddingMode.ZERO]
    mode = data.draw(st.sampled_from(modes))
    grid = (tiles(m, rows), tiles(n, columns))
    got = result(TRANSPOSE[mode], grid, (n, m), dtype, x, ..., rows, columns)
    np.testing.assert_array_equal(got, x.T)


@ct.kernel
def row_totals(x, out, size: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((1, size), x.dtype)
    for k in range(ct.num_tiles(x, 1, (1, size))):
        total += ct.load(x, (row, k), (1, size), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (row,), ct.sum(total).astype(out.dtype))


@ct.kernel
def row_largest(x, out, size: ct.Constant[int]):
    row, columns = ct.bid(0), ct.arange(size, dtype=ct.int32)
    largest = ct.full((size,), -100, ct.float32)
    for k in range(ct.cdiv(x.shape[1], size)):
        largest = ct.maximum(largest, ct.gather(x, (row, k * size + columns), padding_value=-float("inf")))
    ct.store(out, (row,), ct.max(largest))


@EXAMPLES
@given(st.data(), FEW, EXTENTS, WIDE)
def test_rows_reduced(data, m, n, size):
    integers, floats = filled(data.draw, "int32", m, n), filled(data.draw, "float32", m, n)
    got = result(row_totals, (m,), m, "int32", integers, ..., size)
    np.testing.assert_array_equal(got, integers.sum(1, dtype=np.int32))
    got = result(row_largest, (m,), m, "float32", floats, ..., size)
    np.testing.assert_array_equal(got, floats.max(1))


@ct.kernel
def running(x, out, size: ct.Constant[int], backwards: ct.Constant[bool]):
    tile = ct.load(x, (ct.bid(0), 0), (1, size), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (ct.bid(0), 0), ct.cumsum(tile, 1, reverse=backwards))


@EXAMPLES
@given(st.data(), EXTENTS, st.integers(1, 64), st.booleans())
def test_running_sums(data, m, n, backwards):
    x = filled(data.draw, "int32", m, n)
    step = -1 if backwards else 1
    got = result(running, (m,), (m, n), "int32", x, ..., 64, backwards)
    np.testing.assert_array_equal(got, x[:, ::step].cumsum(1, dtype=np.int32)[:, ::step])


@ct.kernel
def permuted(x, rows, out, size: ct.Constant[int]):
    row, columns = ct.bid(0), ct.bid(1) * size + ct.arange(size, dtype=ct.int32)
    source = ct.gather(rows, row)
    ct.scatter(out, (row, columns), ct.gather(x, (source, columns), padding_value=7))


@EXAMPLES
@given(st.data(), FEW, EXTENTS, WIDE, st.sampled_from(DTYPES))
def test_gathered_rows(data, m, n, size, dtype):
    x = filled(data.draw, dtype, m, n)
    rows = np.random.default_rng(data.draw(SEEDS)).integers(-2, m + 2, m, np.int32)
    got = result(permuted, (m, tiles(n, size)), (m, n), dtype, x, rows, ..., size)
    inside = (rows >= 0) & (rows < m)
    expected = np.where(inside[:, None], x[np.where(inside, rows, 0)], np.dtype(dtype).type(7))
    np.testing.assert_array_equal(got, expected)


@ct.kernel
def counted(keys, out, size: ct.Constant[int]):
    at = ct.bid(0) * size + ct.arange(size, dtype=ct.int32)
    ct.atomic_add(out, ct.gather(keys, at, padding_value=-1), 1)


@EXAMPLES
@given(EXTENTS, st.integers(1, 20), SIZES, SEEDS)
def test_counts(extent, kinds, size, seed):
    keys = np.random.default_rng(seed).integers(0, kinds, extent, np.int32)
    before = np.zeros(kinds, np.int32)
    got = result(counted, (tiles(extent, size),), kinds, "int32", keys, ..., size, before=before)
    np.testing.assert_array_equal(got, np.bincount(keys, minlength=kinds))


@ct.kernel
def segments(x, starts, out, size: ct.Constant[int]):
    number = ct.bid(0)
    first, last = ct.gather(starts, number), ct.gather(starts, number + 1)
    rows = x.slice(axis=0, start=first, stop=last)
    total = ct.zeros((), ct.int32)
    for i in range(ct.cdiv(last - first, size)):
        total += ct.sum(ct.load(rows, (i,), (size,), padding_mode=ct.PaddingMode.ZERO))
    ct.scatter(out, number, total)


@EXAMPLES
@given(st.data(), EXTENTS, st.integers(1, 12), SIZES)
def test_slices(data, extent, count, size):
    x = filled(data.draw, "int32", extent)
    random = np.random.default_rng(data.draw(SEEDS))
    starts = np.r_[0, np.sort(random.integers(0, extent + 1, count - 1)), extent].astype(np.int32)
    got = result(segments, (count,), count, "int32", x, starts, ..., size)
    expected = [x[first:last].sum(dtype=np.int32) for first, last in pairwise(starts)]
    np.testing.assert_array_equal(got, np.array(expected, np.int32))


@ct.kernel
def product(a, b, out, rows: ct.Constant[int], columns: ct.Constant[int], depth: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((rows, columns), ct.int32)
    for k in range(ct.num_tiles(a, 1, (rows, depth))):
        left = ct.load(a, (i, k), (rows, depth), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, j), (depth, columns), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(out, (i, j), total)


@EXAMPLES
@given(st.data(), EXTENTS, EXTENTS, EXTENTS, st.sampled_from((8, 16, 32)))
def test_products(data, m, n, k, size):
    a, b = filled(data.draw, "uint8", m, k), filled(data.draw, "uint8", k, n)
    got = result(product, (tiles(m, size), tiles(n, 16)), (m, n), "int32", a, b, ..., size, 16, 32)
    np.testing.assert_array_equal(got, a.astype(np.int32) @ b.astype(np.int32))
