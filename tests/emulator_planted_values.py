"""Planted faults of undefined values: memory that nothing wrote, padding, division by zero; and broken promises."""

import cuda.tile as ct
import torch

from emulator_planted_case import Planted, launched, planted, ramp

PAD = ct.PaddingMode


@ct.kernel
def accumulate(x, out, steps):
    i = ct.bid(0)
    for step in range(steps):
        tile = ct.load(out, (i,), (16,)) + ct.load(x, (step, i), (1, 16)).reshape((16,))
        ct.store(out, (i,), tile)  # FAULT: uninitialized


@ct.kernel
def accumulate_atomically(x, out):
    at = ct.arange(16, dtype=ct.int32)
    ct.atomic_add(out, at, ct.gather(x, (ct.bid(0), at)))  # FAULT: uninitialized


@ct.kernel
def partial_sums(x, scratch):
    i = ct.bid(0)
    ct.store(scratch, (i,), ct.sum(ct.load(x, (i,), (16,))))


@ct.kernel
def sum_scratch(scratch, out, slots: ct.Constant[int]):
    total = ct.sum(ct.load(scratch, (0,), (slots,), padding_mode=PAD.ZERO))
    ct.store(out, (0,), total)  # FAULT: uninitialized


@ct.kernel
def gather_rows(x, chosen, out):
    row = ct.gather(chosen, ct.bid(0))
    value = ct.gather(x, (row, ct.arange(16, dtype=ct.int32)))  # FAULT: uninitialized
    ct.store(out, (ct.bid(0), 0), ct.reshape(value, (1, 16)))


@ct.kernel
def choose_rows(out, count):
    if ct.bid(0) < count:
        ct.scatter(out, ct.bid(0), 2 - ct.bid(0))


@ct.kernel
def double_if(x, flags, out):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (16,))
    if ct.gather(flags, i) > 0:  # FAULT: uninitialized
        tile *= 2
    ct.store(out, (i,), tile)


def row_sums(mode):
    @ct.kernel
    def row_sums_kernel(x, out, size: ct.Constant[int]):
        tile = ct.load(x, (ct.bid(0), 0), (1, size), padding_mode=mode)
        ct.store(out, (ct.bid(0),), ct.sum(tile))  # FAULT: undetermined-padding

    return row_sums_kernel


def softmax(mode):
    @ct.kernel
    def softmax_kernel(x, out, size: ct.Constant[int]):
        row = ct.load(x, (ct.bid(0), 0), (1, size), padding_mode=mode)
        row = ct.exp(row - ct.max(row, 1, keepdims=True))
        ct.store(out, (ct.bid(0), 0), row / ct.sum(row, 1, keepdims=True))  # FAULT: undetermined-padding

    return softmax_kernel


@ct.kernel
def masked_sums(x, out, size: ct.Constant[int], reach: ct.Constant[int]):
    tile = ct.load(x, (ct.bid(0), 0), (1, size))
    inside = ct.arange(size, dtype=ct.int32)[None, :] < x.shape[1] + reach
    ct.store(out, (ct.bid(0),), ct.sum(ct.where(inside, tile, 0)))  # FAULT: undetermined-padding


def matmul(mode):
    @ct.kernel
    def matmul_kernel(a, b, out):
        i, j = ct.bid(0), ct.bid(1)
        total = ct.zeros((16, 16), ct.float32)
        for k in range(ct.num_tiles(a, 1, (16, 16))):
            left = ct.load(a, (i, k), (16, 16), padding_mode=mode)
            right = ct.load(b, (k, j), (16, 16), padding_mode=PAD.ZERO)
            total = ct.mma(left, right, total)
        ct.store(out, (i, j), total)  # FAULT: undetermined-padding

    return matmul_kernel


@ct.kernel
def count_tile(keys, out):
    key = ct.load(keys, (0,), (16,))
    ct.atomic_add(out, key, 1)  # FAULT: undetermined-padding


@ct.kernel
def count_gathered(keys, out):
    key = ct.gather(keys, ct.arange(16, dtype=ct.int32), padding_value=-1)
    ct.atomic_add(out, key, 1)


@ct.kernel
def group_means(total, count, out, least: ct.Constant[int]):
    i = ct.bid(0)
    divisor = ct.maximum(ct.gather(count, i), least)
    ct.scatter(out, i, ct.gather(total, i) // divisor)  # FAULT: undefined-value


@ct.kernel
def start_from_multiple(x, first, out):
    first = ct.assume_divisible_by(first, 8)  # FAULT: assumption
    at = ct.arange(16, dtype=ct.int32)
    ct.scatter(out, at, ct.gather(x, first + at))


@ct.kernel
def log_of_positive(x, out):
    tile = ct.load(x, (ct.bid(0),), (16,))
    ct.assert_(tile > 0, "logarithm of what is not positive")  # noqa: PT009  # FAULT: assertion
    ct.store(out, (ct.bid(0),), ct.log2(tile))


def _integers(*values):
    return torch.tensor(values, dtype=torch.int32)


def _scratch(slots):
    def run():
        scratch = launched_into(partial_sums, 3, ramp(48), torch.empty(slots))
        return launched(sum_scratch, 1, scratch, torch.empty(1), 4)

    return run


def launched_into(kernel, grid, x, scratch):
    ct.launch(torch.cuda.current_stream(), (grid,), kernel, (x, scratch))
    return scratch


def _chosen(count):
    def run():
        chosen = launched(choose_rows, 3, torch.empty(3, dtype=torch.int32), count)
        return launched(gather_rows, 3, ramp(3, 16), chosen, torch.empty(3, 16))

    return run


def _rows(kernel, *rest, shape=(3,)):
    return lambda: launched(kernel, 3, ramp(3, 12) / 36, torch.empty(shape), 16, *rest)


def _product(kernel):
    left, right = torch.ones(20, 40, dtype=torch.float16), torch.ones(40, 24, dtype=torch.float16)
    return lambda: launched(kernel, (2, 2), left, right, torch.empty(20, 24))


def _counted(kernel):
    keys = torch.arange(12, dtype=torch.int32)
    return lambda: launched(kernel, 1, keys, torch.zeros(12, dtype=torch.int32))


def _means(least):
    return lambda: launched(
        group_means, 3, _integers(6, 0, 8), _integers(2, 0, 4), torch.empty(3, dtype=torch.int32), least
    )


SUMS, SOFTMAX, MATMUL = (make(PAD.UNDETERMINED) for make in (row_sums, softmax, matmul))
ROWS = ramp(3, 12) / 36
PLANTED = (
    planted(
        "atomic sum into empty memory", accumulate_atomically, 3,
        lambda start: (ramp(3, 16), start(16)), torch.empty, torch.zeros,
        ramp(3, 16).sum(0), array="out", says="reaches an atomic update",
    ),
    planted(
        "accumulation into empty memory", accumulate, 2,
        lambda start: (ramp(3, 32), start(32), 3), torch.empty, torch.zeros,
        ramp(3, 32).sum(0), block=0, array="out", element=(0,), says="element [0] of out",
    ),
    Planted(
        "scratch that is written in part", (partial_sums, sum_scratch), _scratch(4), _scratch(3), torch.tensor([1176.0]),
        block=0, array="out", element=(0,), says="element [3] of scratch",
    ),
    Planted(
        "row numbers that nobody wrote", (choose_rows, gather_rows), _chosen(2), _chosen(3), ramp(3, 16).flip(0),
        block=2, says="element [2] of chosen",
    ),
    planted(
        "flags that nobody wrote", double_if, 4,
        lambda made: (ramp(64), made(4, dtype=torch.int32), torch.empty(64)), torch.empty, torch.ones,
        ramp(64) * 2, block=0, says="element [0] of flags",
    ),
    Planted(
        "sum over a partial tile", (SUMS,), _rows(SUMS), _rows(row_sums(PAD.ZERO)), ROWS.sum(1),
        block=0, array="out", element=(0,),
    ),
    Planted(
        "softmax over a partial tile", (SOFTMAX,), _rows(SOFTMAX, shape=(3, 12)),
        _rows(softmax(PAD.NEG_INF), shape=(3, 12)), ROWS.softmax(1), block=0, array="out", element=(0, 0),
    ),
    Planted(
        "mask that reaches one too far", (masked_sums,), _rows(masked_sums, 1), _rows(masked_sums, 0), ROWS.sum(1),
        block=0, array="out", element=(0,),
    ),
    Planted(
        "product over a partial tile", (MATMUL,), _product(MATMUL), _product(matmul(PAD.ZERO)), torch.full((20, 24), 40.0),
        block=0, array="out", element=(0, 0),
    ),
    Planted(
        "padding as an index", (count_tile,), _counted(count_tile), _counted(count_gathered),
        torch.ones(12, dtype=torch.int32), block=0,
    ),
    Planted(
        "mean of an empty group", (group_means,), _means(0), _means(1), _integers(3, 0, 2), block=1, array="out",
        element=(1,),
    ),
    planted(
        "multiple that is none", start_from_multiple, 1,
        lambda first: (ramp(32), first, torch.empty(16)), 12, 16,
        ramp(32)[16:], block=0, says="12 is divisible by 8",
    ),
    planted(
        "assertion that fails", log_of_positive, 2,
        lambda x: (x, torch.empty(32)), ramp(32) - 20, torch.full((32,), 4.0),
        torch.full((32,), 2.0), block=0, says="not positive",
    ),
)  # fmt: skip
