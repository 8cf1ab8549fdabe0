"""Planted faults between blocks: races, reads of what another block writes, atomics without an order."""

import cuda.tile as ct
import torch

from emulator_planted_case import Planted, launched, planted, ramp


@ct.kernel
def split_sum_stored(x, out, size: ct.Constant[int]):
    row, split = ct.bid(0), ct.bid(1)
    total = ct.sum(ct.load(x, (row, split), (1, size)))
    ct.store(out, (row,), total)  # FAULT: race


@ct.kernel
def split_sum_added(x, out, size: ct.Constant[int]):
    row, split = ct.bid(0), ct.bid(1)
    ct.atomic_add(out, row, ct.sum(ct.load(x, (row, split), (1, size))))


@ct.kernel
def mark_done(x, out, done, once: ct.Constant[bool]):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (16,)) * 2)
    if not once or i == 0:
        ct.store(done, (0,), 1)  # FAULT: redundant-write


@ct.kernel
def overlapping(x, out, step: ct.Constant[int]):
    at = ct.bid(0) * step + ct.arange(16, dtype=ct.int32)
    ct.scatter(out, at, ct.gather(x, at) + ct.bid(0))  # FAULT: race


@ct.kernel
def bucketed(x, out):
    at = ct.arange(16, dtype=ct.int32) % 4
    ct.scatter(out, at, ct.load(x, (0,), (16,)))  # FAULT: race


@ct.kernel
def bucket_sums(x, out):
    at = ct.arange(16, dtype=ct.int32) % 4
    ct.atomic_add(out, at, ct.load(x, (0,), (16,)))


@ct.kernel
def running_sum(x, out):
    i = ct.bid(0)
    tile = ct.cumsum(ct.load(x, (i,), (16,)))
    if i > 0:
        tile += ct.load(out, (i * 16 - 1,), (1,))  # MAYBE FAULT: read-write-race
    ct.store(out, (i,), tile)  # MAYBE FAULT: read-write-race


@ct.kernel
def running_sum_by_one(x, out, tiles):
    carry = ct.zeros((1,), ct.float32)
    for i in range(tiles):
        tile = ct.load(x, (i,), (16,))
        ct.store(out, (i,), ct.cumsum(tile) + carry)
        carry += ct.sum(tile)


@ct.kernel
def shift_in_place(out, size: ct.Constant[int]):
    i = ct.bid(0)
    at = i * size + ct.arange(size, dtype=ct.int32)
    value = ct.gather(out, at + 1)  # MAYBE FAULT: read-write-race
    ct.scatter(out, at, value)  # MAYBE FAULT: read-write-race


@ct.kernel
def shift(x, out, size: ct.Constant[int]):
    at = ct.bid(0) * size + ct.arange(size, dtype=ct.int32)
    ct.scatter(out, at, ct.gather(x, at + 1))


@ct.kernel
def two_phases(x, sums, out, tiles: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (16,))
    ct.store(sums, (i,), ct.sum(tile))  # MAYBE FAULT: read-write-race
    total = ct.sum(ct.load(sums, (0,), (tiles,)))  # MAYBE FAULT: read-write-race
    ct.store(out, (i,), tile / total)


@ct.kernel
def sum_tiles(x, out):
    ct.store(out, (ct.bid(0),), ct.sum(ct.load(x, (ct.bid(0),), (16,))))


@ct.kernel
def divide_by_sum(x, sums, out, tiles: ct.Constant[int]):
    total = ct.sum(ct.load(sums, (0,), (tiles,)))
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) / total)


@ct.kernel
def tickets_read_back(x, counter, out):
    ct.atomic_add(counter, 0, 1)  # MAYBE FAULT: read-write-race
    place = ct.load(counter, (0,), ()) - 1  # MAYBE FAULT: read-write-race
    ct.scatter(out, place, ct.sum(ct.load(x, (ct.bid(0),), (16,))))  # MAYBE FAULT: race


@ct.kernel
def tickets(x, counter, out):
    place = ct.atomic_add(counter, 0, 1)
    ct.scatter(out, place, ct.sum(ct.load(x, (ct.bid(0),), (16,))) * 0 + 1)


def last_block_sums(mode):
    @ct.kernel
    def last_block_sums_kernel(x, partial, counter, out):
        i = ct.bid(0)
        ct.store(partial, (i,), ct.sum(ct.load(x, (i,), (16,))))
        before = ct.atomic_add(counter, 0, 1, memory_order=mode)
        if before == ct.num_blocks(0) - 1:
            total = ct.sum(ct.load(partial, (0,), (4,)))  # FAULT: read-write-race
            ct.store(out, (0,), total)

    return last_block_sums_kernel


@ct.kernel
def locked_add(x, lock, out, released: ct.Constant[bool]):
    tile = ct.load(x, (ct.bid(0),), (16,))
    while ct.atomic_cas(lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    ct.store(out, (0,), ct.load(out, (0,), (16,)) + tile)  # FAULT: read-write-race, race
    if released:
        ct.atomic_xchg(lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE)
    else:
        ct.atomic_xchg(lock, 0, 0, memory_order=ct.MemoryOrder.RELAXED)


def zero():
    return torch.zeros(1, dtype=torch.int32)


def _normalized():
    sums = launched(sum_tiles, 4, ramp(64), torch.empty(4))
    return launched(divide_by_sum, 4, ramp(64), sums, torch.empty(64), 4)


def _one_number(kernel, grid, x, *rest):
    return lambda: launched(kernel, grid, x, *rest, zero(), torch.zeros(4))


def _last_block(kernel):
    return lambda: launched(kernel, 4, ramp(64), torch.empty(4), zero(), torch.empty(1))


RELAXED = last_block_sums(ct.MemoryOrder.RELAXED)
PLANTED = (
    Planted(
        "split sum without atomics", (split_sum_stored,),
        lambda: launched(split_sum_stored, (3, 2), ramp(3, 32), torch.empty(3), 16),
        lambda: launched(split_sum_added, (3, 2), ramp(3, 32), torch.zeros(3), 16),
        ramp(3, 32).sum(1), array="out",
    ),
    planted(
        "flag that every block sets", mark_done, 4,
        lambda once: (ramp(64), torch.empty(64), zero(), once), False, True,
        ramp(64) * 2, array="done", element=(0,),
    ),
    Planted(
        "two elements of a tile in one place", (bucketed,),
        lambda: launched(bucketed, 1, ramp(16), torch.zeros(4)),
        lambda: launched(bucket_sums, 1, ramp(16), torch.zeros(4)),
        ramp(4, 4).sum(0), 0, "out", (0,), "several times, with different values",
    ),
    planted(
        "tiles that overlap", overlapping, 3,
        lambda step: (torch.zeros(48), torch.zeros(48), step), 12, 16,
        torch.arange(3).repeat_interleave(16).float(), array="out",
    ),
    Planted(
        "running sum from the block before", (running_sum,),
        lambda: launched(running_sum, 4, ramp(64), torch.zeros(64)),
        lambda: launched(running_sum_by_one, 1, ramp(64), torch.empty(64), 4),
        ramp(64).cumsum(0), array="out",
    ),
    Planted(
        "shift in place", (shift_in_place,),
        lambda: launched(shift_in_place, 4, ramp(64), 16),
        lambda: launched(shift, 4, ramp(64), torch.empty(64), 16),
        torch.cat([ramp(64)[1:], torch.zeros(1)]), array="out",
    ),
    Planted(
        "two phases in one kernel", (two_phases,),
        lambda: launched(two_phases, 4, ramp(64), torch.zeros(4), torch.empty(64), 4),
        _normalized, ramp(64) / 2080, array="sums",
    ),
    Planted(
        "plain read of a counter", (tickets_read_back,), _one_number(tickets_read_back, 4, ramp(64)),
        _one_number(tickets, 4, ramp(64)), torch.ones(4), array="counter", element=(0,),
    ),
    Planted(
        "last block sums in a relaxed order", (RELAXED,), _last_block(RELAXED),
        _last_block(last_block_sums(ct.MemoryOrder.ACQ_REL)), torch.tensor([2080.0]), array="partial",
    ),
    planted(
        "lock without a release", locked_add, 4,
        lambda free: (ramp(64), zero(), torch.zeros(16), free), False, True,
        ramp(64).reshape(4, 16).sum(0), array="out",
    ),
)  # fmt: skip
