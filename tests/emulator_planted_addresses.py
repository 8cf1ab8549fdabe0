"""Planted faults of gathers, scatters, slices, lists, raw memory and 32-bit indices."""

import cuda.tile as ct
import torch

from emulator_planted_case import Planted, launched, planted, ramp


@ct.kernel
def gather_shifted(x, out, shift):
    at = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    value = ct.gather(x, at + shift, check_bounds=False)  # FAULT: out-of-bounds
    ct.scatter(out, at, value)


@ct.kernel
def gather_row(x, out, first):
    row, columns = ct.bid(0), first + ct.arange(8, dtype=ct.int32)
    value = ct.gather(x, (row, columns), check_bounds=False)  # FAULT: out-of-bounds
    ct.store(out, (row, 0), ct.reshape(value, (1, 8)))


@ct.kernel
def scatter_shifted(x, out, shift):
    at = ct.arange(16, dtype=ct.int32)
    ct.scatter(out, at + shift, ct.gather(x, at), check_bounds=False)  # FAULT: out-of-bounds


@ct.kernel
def histogram(keys, out):
    key = ct.gather(keys, ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32))
    ct.atomic_add(out, key, 1, check_bounds=False)  # FAULT: out-of-bounds


@ct.kernel
def segment_sums(x, offsets, out, longest: ct.Constant[int]):
    segment = ct.bid(0)
    first, last = ct.gather(offsets, segment), ct.gather(offsets, segment + 1)
    rows = x.slice(axis=0, start=first, stop=last)  # FAULT: out-of-bounds
    tile = ct.load(rows, (0,), (longest,), padding_mode=ct.PaddingMode.ZERO)  # FAULT: out-of-bounds
    total = ct.sum(tile)
    ct.scatter(out, segment, total)


@ct.kernel
def gather_in_rows(x, first, last, out):
    rows, at = x.slice(axis=0, start=first, stop=last), ct.arange(8, dtype=ct.int32)
    value = ct.gather(rows, (ct.bid(0), at + ct.bid(0)), check_bounds=False)  # FAULT: out-of-bounds
    ct.store(out, (ct.bid(0), 0), ct.reshape(value, (1, 8)))


@ct.kernel
def add_arrays(arrays, out, count):
    total = ct.zeros((16,), ct.float32)
    for i in range(count):
        total += ct.load(arrays[i], (0,), (16,))  # FAULT: out-of-bounds
    ct.store(out, (0,), total)


@ct.kernel
def gather_far(x, row, stride, out):
    at = row * stride + ct.arange(16, dtype=ct.int32)  # FAULT: index-overflow
    ct.scatter(out, ct.arange(16, dtype=ct.int32), ct.gather(x, at))


@ct.kernel
def raw_row(x, row, stride, out):
    raw, at = x.get_raw_memory(), ct.arange(16, dtype=ct.int32)
    value = raw.load_offset(row * stride + at)  # FAULT: out-of-bounds
    ct.scatter(out, at, value)


@ct.kernel
def part_of_tile(x, out, parts):
    tile = ct.load(x, (0,), (16,))
    for part in range(parts):
        ct.store(out, (part,), ct.extract(tile, (part,), (4,)) * 2)  # FAULT: out-of-bounds


def _segments(*offsets):
    numbers = torch.tensor(offsets, dtype=torch.int32)
    return lambda: launched(segment_sums, 3, ramp(30), numbers, torch.zeros(3), 16)


def _far(kernel, x, *numbers):
    return lambda: launched(kernel, 1, x, *numbers, torch.zeros(16))


PLANTED = (
    planted(
        "gather past the end", gather_shifted, 4,
        lambda size: (ramp(size), torch.zeros(64), 1), 64, 65,
        ramp(65)[1:], block=3, array="x", element=(64,),
    ),
    planted(
        "gather before the start", gather_shifted, 4,
        lambda shift: (ramp(64), torch.zeros(64), shift), -1, 0,
        ramp(64), block=0, array="x", element=(-1,),
    ),
    planted(
        "gather into the next row", gather_row, 3,
        lambda first: (ramp(3, 12), torch.zeros(3, 8), first), 6, 4,
        ramp(3, 12)[:, 4:], block=0, array="x", element=(0, 12),
    ),
    planted(
        "scatter past the end", scatter_shifted, 1,
        lambda shift: (ramp(16), torch.zeros(24), shift), 9, 8,
        torch.cat([torch.zeros(8), ramp(16)]), block=0, array="out", element=(24,),
    ),
    planted(
        "key beyond the histogram", histogram, 2,
        lambda size: (torch.arange(32).int(), torch.zeros(size).int()), 31, 32,
        torch.ones(32, dtype=torch.int32), block=1, array="out", element=(31,),
    ),
    Planted(
        "slice past the end", (segment_sums,), _segments(0, 8, 20, 31), _segments(0, 8, 20, 30),
        torch.tensor([36.0, 174.0, 255.0]), block=2, array="x", element=(30,),
    ),
    Planted(
        "slice that starts before the array", (segment_sums,), _segments(-2, 8, 20, 30),
        _segments(0, 8, 20, 30), torch.tensor([36.0, 174.0, 255.0]), block=0, array="x", element=(-2,),
    ),
    planted(
        "gather beyond the rows of a slice", gather_in_rows, 2,
        lambda width: (ramp(4, width), 1, 3, torch.zeros(2, 8)), 8, 9,
        torch.stack([ramp(4, 9)[1, :8], ramp(4, 9)[2, 1:]]), block=1, array="x", element=(2, 8),
    ),
    planted(
        "item beyond a list", add_arrays, 1,
        lambda count: ([ramp(16), ramp(16)], torch.empty(16), count), 3, 2,
        ramp(16) * 2, block=0, array="arrays", element=(2,),
    ),
    Planted(
        "row * stride in 32 bits", (gather_far,), _far(gather_far, ramp(16), 70000, 65536), _far(gather_far, ramp(16), 0, 65536),
        ramp(16), block=0, says="4587520000",
    ),
    Planted(
        "raw memory past the end", (raw_row,), _far(raw_row, ramp(4, 16), 4, 16), _far(raw_row, ramp(4, 16), 3, 16),
        ramp(4, 16)[3], block=0, says="64 elements after the start of x",
    ),
    planted(
        "part beyond a tile", part_of_tile, 1,
        lambda parts: (ramp(16), torch.zeros(4 * parts), parts), 5, 4,
        ramp(16) * 2, block=0, says="part 4 of axis 0",
    ),
)  # fmt: skip
