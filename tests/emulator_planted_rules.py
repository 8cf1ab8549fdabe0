"""Planted breaks of cuTile's rules, those that only the tile compiler finds included."""

import cuda.tile as ct
import torch

from emulator_planted_case import Planted, launched, ramp

PAD = ct.PaddingMode


@ct.kernel
def scale(x, out, factor):
    tile = ct.load(x, (ct.bid(0),), (16,)) * factor
    ct.store(out, (ct.bid(0),), tile)


@ct.kernel
def store_tf32(x, out, factor):
    tile = ct.astype(ct.load(x, (ct.bid(0),), (16,)) * factor, ct.tfloat32)
    ct.store(out, (ct.bid(0),), tile)  # FAULT: type-rule


@ct.kernel
def odd_tile(x, out, factor):
    tile = ct.load(x, (ct.bid(0),), (24,)) * factor  # FAULT: type-rule
    ct.store(out, (ct.bid(0),), tile)


@ct.kernel
def set_in_one_branch(x, out, factor):
    if ct.bid(0) > 0:  # FAULT: type-rule
        scaled = ct.load(x, (ct.bid(0),), (16,)) * factor
    ct.store(out, (ct.bid(0),), scaled)


@ct.kernel
def two_shapes(x, out, factor):
    tile = ct.load(x, (0,), (16,))  # FAULT: type-rule
    if factor > 0:
        tile = ct.sum(tile)
    ct.store(out, (0,), tile * factor)


@ct.kernel
def load_row(x, out):
    row = ct.load(x, (ct.bid(0),), (16,))  # FAULT: type-rule
    ct.store(out, (ct.bid(0), 0), row)


@ct.kernel
def store_row(x, out):
    row = ct.load(x, (ct.bid(0), 0), (1, 16)).reshape((16,))
    ct.store(out, (ct.bid(0), 0), row * 2)  # FAULT: type-rule


@ct.kernel
def store_reshaped_row(x, out):
    row = ct.load(x, (ct.bid(0), 0), (1, 16)).reshape((16,))
    ct.store(out, (ct.bid(0), 0), ct.reshape(row * 2, (1, 16)))


@ct.kernel
def store_indexed_row(x, out):
    row = ct.load(x, (ct.bid(0), 0), (1, 16))
    ct.store(out, (ct.bid(0).astype(ct.int16), 0), row * 2)  # FAULT: type-rule


@ct.kernel
def huge_tile(x, out):
    row = ct.load(x, (ct.bid(0), 0), (1, 2**25), padding_mode=PAD.ZERO)  # FAULT: type-rule
    ct.store(out, (ct.bid(0), 0), row * 2)


@ct.kernel
def largest_padded(x, out):
    tile = ct.load(x, (0,), (16,), padding_mode=PAD.NEG_INF)  # FAULT: type-rule
    ct.store(out, (0,), ct.max(tile))


@ct.kernel
def largest_gathered(x, out):
    tile = ct.gather(x, ct.arange(16, dtype=ct.int32), padding_value=-(2**31))
    ct.store(out, (0,), ct.max(tile))


@ct.kernel
def from_multiple_of_three(x, out, first):
    first = ct.assume_divisible_by(first, 3)  # FAULT: type-rule
    ct.store(out, (0,), ct.load(x, (first,), ()))


@ct.kernel
def from_multiple_of_four(x, out, first):
    first = ct.assume_divisible_by(first, 4)
    ct.store(out, (0,), ct.load(x, (first,), ()))


@ct.kernel
def rows_by_long_index(x, out):
    rows = ct.arange(4, dtype=ct.int64)
    tile = ct.load_advanced_indexing(x, (rows, ct.Slice(0, 16)))  # FAULT: type-rule
    ct.store(out, (0, 0), tile * 2)


@ct.kernel
def part_by_long_index(x, out):
    tile = ct.load(x, (0, 0), (4, 16))
    row = ct.bid(0).astype(ct.int64)
    ct.store(out, (ct.bid(0), 0), ct.extract(tile, (row, 0), (1, 16)) * 2)  # FAULT: type-rule


def _scaled(kernel):
    return lambda: launched(kernel, 2, ramp(32), torch.empty(32), 2.0)


def _doubled(kernel):
    return lambda: launched(kernel, 4, ramp(4, 16), torch.empty(4, 16))


def _largest(kernel):
    numbers = torch.arange(12, dtype=torch.int32) - 20
    return lambda: launched(kernel, 1, numbers, torch.empty(1, dtype=torch.int32))


def _from(kernel):
    return lambda: launched(kernel, 1, ramp(32), torch.empty(1), 12)


def _row_rules():
    for name, kernel, says in (
        ("rank of a load", load_row, "rank 2"),
        ("rank of a store", store_row, "rank is 2"),
        ("indices of two types", store_indexed_row, "[16, 32] bits"),
        ("tile of too many elements", huge_tile, "33554432 elements"),
        ("64-bit rows of an advanced index", rows_by_long_index, "64 bits"),
        ("64-bit index of a part", part_by_long_index, "[64, 32]"),
    ):
        right = _doubled(store_reshaped_row)
        yield Planted(name, (kernel,), _doubled(kernel), right, ramp(4, 16) * 2, says=says)


def _scale_rules():
    for name, kernel, says in (
        ("tf32 stored as float32", store_tf32, "cannot implicitly cast tfloat32 to float32"),
        ("tile of 24 elements", odd_tile, "not a power of two"),
        ("variable set in one branch", set_in_one_branch, "potentially undefined variable"),
        ("two shapes of one variable", two_shapes, "depends on path taken"),
    ):
        yield Planted(name, (kernel,), _scaled(kernel), _scaled(scale), ramp(32) * 2, says=says)


PLANTED = (
    *_row_rules(),
    *_scale_rules(),
    Planted(
        "infinite padding of integers", (largest_padded,), _largest(largest_padded), _largest(largest_gathered),
        torch.tensor([-9], dtype=torch.int32), says="NEG_INF",
    ),
    Planted(
        "multiple of three", (from_multiple_of_three,), _from(from_multiple_of_three), _from(from_multiple_of_four),
        torch.tensor([13.0]), says="not a power of two",
    ),
)  # fmt: skip
