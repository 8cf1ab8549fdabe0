"""Planted faults of grids, tile indices and bounds."""

import cuda.tile as ct
import torch

from emulator_planted_case import Planted, launched, planted, ramp

ZERO = ct.PaddingMode.ZERO


@ct.kernel
def double(x, out, size: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (size,))
    ct.store(out, (i,), tile * 2)  # FAULT: unwritten


@ct.kernel
def transpose(x, out, size: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (i, j), (size, size))
    ct.store(out, (j, i), ct.transpose(tile))  # FAULT: unwritten


@ct.kernel
def double_past_the_end(x, out, size: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (size,), padding_mode=ZERO)  # FAULT: out-of-bounds
    ct.store(out, (i,), tile * 2)  # FAULT: out-of-bounds


@ct.kernel
def load_at_an_element(x, out, size: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, (i * size,), (size,), padding_mode=ZERO)  # FAULT: out-of-bounds
    ct.store(out, (i,), tile * 2)


@ct.kernel
def store_at_an_element(x, out, size: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (size,))
    ct.store(out, (i * size,), tile * 2)  # FAULT: out-of-bounds, unwritten


@ct.kernel
def load_unchecked(x, out, size: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, (0, i), (1, size), padding_mode=ZERO, check_bounds=False)  # FAULT: out-of-bounds
    ct.store(out, (0, i), tile * 2)


@ct.kernel
def store_unchecked(x, out, size: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (size,), padding_mode=ZERO)
    ct.store(out, (i,), tile * 2, check_bounds=False)  # FAULT: out-of-bounds


@ct.kernel
def swizzled_copy(x, out, rows, columns, most: ct.Constant[int], rest: ct.Constant[bool]):
    block = ct.bid(0)
    group = block // (most * columns)
    height = ct.minimum(rows - group * most, most) if rest else most
    inside = block % (most * columns)
    i, j = group * most + inside % height, inside // height
    tile = ct.load(x, (i, j), (4, 4), padding_mode=ZERO)  # FAULT: out-of-bounds
    ct.store(out, (i, j), tile)  # FAULT: out-of-bounds, unwritten


@ct.kernel
def persistent(x, out, tiles, size: ct.Constant[int]):
    for i in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(out, (i,), ct.load(x, (i,), (size,)) * 2)  # FAULT: unwritten


@ct.kernel
def stride_over_elements(x, out, count, size: ct.Constant[int]):
    for i in range(ct.bid(0), count, ct.num_blocks(0)):
        tile = ct.load(x, (i,), (size,), padding_mode=ZERO)  # FAULT: out-of-bounds
        ct.store(out, (i,), tile * 2)  # FAULT: out-of-bounds


def _double(kernel, grid, *rest):
    return lambda: launched(kernel, grid, ramp(100), torch.empty(100), *rest, 16)


TWICE = ramp(100) * 2
PLANTED = (
    Planted(
        "floor division for the grid", (double,), _double(double, 100 // 16), _double(double, ct.cdiv(100, 16)),
        TWICE, array="out", element=(96,),
    ),
    Planted(
        "grid one block short", (transpose,),
        lambda: launched(transpose, (3, 2), ramp(40, 40), torch.empty(40, 40), 16),
        lambda: launched(transpose, (3, 3), ramp(40, 40), torch.empty(40, 40), 16),
        ramp(40, 40).T, array="out", element=(32, 0),
    ),
    Planted(
        "grid one block too long", (double_past_the_end,), _double(double_past_the_end, 8),
        _double(double_past_the_end, 7), TWICE, block=7, array="x", element=(112,),
    ),
    Planted(
        "load at an element for a tile", (load_at_an_element,), _double(load_at_an_element, 7), _double(double, 7),
        TWICE, block=1, array="x", element=(256,),
    ),
    Planted(
        "store at an element for a tile", (store_at_an_element,), _double(store_at_an_element, 7),
        _double(double, 7), TWICE, block=1, array="out", element=(256,),
    ),
    planted(
        "load past the row without a check", load_unchecked, 7,
        lambda width: (ramp(4, width), torch.zeros(1, width), 16), 100, 112,
        ramp(1, 112) * 2, block=6, array="x", element=(0, 100),
    ),
    planted(
        "store past the end without a check", store_unchecked, 7,
        lambda size: (ramp(size), torch.empty(size), 16), 100, 112,
        ramp(112) * 2, block=6, array="out", element=(100,),
    ),
    planted(
        "swizzle without the rest of the last group", swizzled_copy, 35,
        lambda rest: (ramp(28, 20), torch.empty(28, 20), 7, 5, 4, rest), False, True,
        ramp(28, 20), block=23, array="x", element=(28, 0),
    ),
    Planted(
        "persistent loop that ends early", (persistent,), _double(persistent, 3, 7 - 1), _double(persistent, 3, 7),
        TWICE, array="out", element=(96,),
    ),
    Planted(
        "grid-stride loop over elements", (stride_over_elements,), _double(stride_over_elements, 4, 100),
        _double(stride_over_elements, 4, 7), TWICE, block=3, array="x", element=(112,),
    ),
)  # fmt: skip
