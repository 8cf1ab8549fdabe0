"""cuTile kernels with one known fault each, and the same kernels with that fault alone removed.

The fault is in the name: `<fault>_slow` has it, `<fault>_fast` does not. Fused-in extras are left out on purpose.
"""

from types import FunctionType
from typing import Any

import cuda.tile as ct

Const = ct.Constant[int]


def twins(fault: str, body: FunctionType, **hints: int) -> list[Any]:
    """One kernel under both names, for a fault that lies in the launch: the profiler tells launches by their kernels."""
    functions = [FunctionType(body.__code__, body.__globals__, f"{fault}_{variant}") for variant in ("slow", "fast")]
    for function in functions:
        function.__annotations__ = body.__annotations__
    return [ct.kernel(function, **hints) for function in functions]


# Columns of a row-major matrix, gathered one element of each row at a time.
@ct.kernel
def uncoalesced_slow(x, y, T: Const):
    rows = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    column = ct.bid(1)
    ct.scatter(y, (column, rows), ct.gather(x, (rows, column)))


@ct.kernel
def uncoalesced_fast(x, y, T: Const):
    tile = ct.load(x, index=(ct.bid(0), ct.bid(1)), shape=(T, T))
    ct.store(y, index=(ct.bid(1), ct.bid(0)), tile=ct.permute(tile, (1, 0)))


# A polynomial of degree N in the type of the data.
def _polynomial(x, y, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,))
    result = values
    for _ in range(N):
        result = result * values + 0.25
    ct.store(y, index=(ct.bid(0),), tile=result)


fp64_slow, fp64_fast = twins("fp64", _polynomial)


# Two tiles of 32768 values, 512 registers for each of 128 threads, in every step of the loop.
spills_slow, spills_fast = twins("spills", _polynomial)


@ct.kernel
def exponentials_slow(x, y, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,))
    for _ in range(N):
        values = ct.tanh(values)
    ct.store(y, index=(ct.bid(0),), tile=values)


@ct.kernel
def exponentials_fast(x, y, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,))
    for _ in range(N):
        values = ct.tanh(values, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(y, index=(ct.bid(0),), tile=values)


@ct.kernel
def divisions_slow(x, y, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,))
    result = values
    for _ in range(N):
        result = values / (result + 1.5)
    ct.store(y, index=(ct.bid(0),), tile=result)


@ct.kernel
def divisions_fast(x, y, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,))
    result = values
    for _ in range(N):
        result = ct.truediv(values, result + 1.5, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)
    ct.store(y, index=(ct.bid(0),), tile=result)


# Remainders by a number that is known only at run time, or by a power of two.
@ct.kernel
def remainders_slow(x, y, n: int, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,))
    for _ in range(N):
        values = (values * 5 + 7) % n
    ct.store(y, index=(ct.bid(0),), tile=values)


@ct.kernel
def remainders_fast(x, y, n: int, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,))
    for _ in range(N):
        values = (values * 5 + 7) & (n - 1)
    ct.store(y, index=(ct.bid(0),), tile=values)


# A block sums tiles of one row; with few rows most SMs have no block.
def _sum_tiles(x, y, T: Const, TILES: Const):
    row, part = ct.bid(0), ct.bid(1)
    total = ct.full((1, T), 0.0, dtype=ct.float32)
    for step in range(TILES):
        total = total + ct.load(x, index=(row, part * TILES + step), shape=(1, T))
    ct.store(y, index=(row, part), tile=ct.sum(total, axis=1, keepdims=True))


tiny_grid_slow, tiny_grid_fast = twins("tiny_grid", _sum_tiles)


def product(a, b, c, TM: Const, TN: Const, TK: Const):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, index=(row, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, index=(k, column), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, index=(row, column), tile=ct.astype(total, c.dtype))


# One block more than there are SMs.
tail_slow, tail_fast = twins("tail", product, num_worker_warps=8)


# Rows whose length is no multiple of 16 bytes cannot be read by TMA.
odd_stride_slow, odd_stride_fast = twins("odd_stride", product)


# 40 rows of every matrix in a tile of 128 compute 88 rows of padding.
def _batch(a, b, c, TM: Const, TN: Const, TK: Const):
    batch, column = ct.bid(0), ct.bid(1)
    total = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, TM, TK))):
        left = ct.load(a, index=(batch, 0, k), shape=(1, TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, index=(k, column), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(ct.reshape(left, (TM, TK)), right, total)
    ct.store(c, index=(batch, 0, column), tile=ct.reshape(ct.astype(total, c.dtype), (1, TM, TN)))


padding_slow, padding_fast = twins("padding", _batch)


# Row i of a triangle has i + 1 tiles; a block takes neighbouring rows, or every n-th.
def _triangle_row(x, y, row, T):
    total = ct.full((1, T), 0.0, dtype=ct.float32)
    for step in range(row // 8 + 1):
        total = total + ct.load(x, index=(row, step), shape=(1, T))
    ct.store(y, index=(row, 0), tile=ct.sum(total, axis=1, keepdims=True))


@ct.kernel
def imbalance_slow(x, y, ROWS: Const, T: Const):
    for step in range(ROWS):
        _triangle_row(x, y, ct.bid(0) * ROWS + step, T)


@ct.kernel
def imbalance_fast(x, y, ROWS: Const, T: Const):
    for step in range(ROWS):
        _triangle_row(x, y, step * ct.num_blocks(0) + ct.bid(0), T)


# Every block compares Q points with all of a table that fits L2.
def _nearest(table, points, y, Q: Const, T: Const):
    mine = ct.load(points, index=(ct.bid(0), 0), shape=(Q, 1))
    best = ct.full((Q, T), 3.0e38, dtype=ct.float32)
    for step in range(ct.num_tiles(table, axis=1, shape=(1, T))):
        distance = ct.load(table, index=(0, step), shape=(1, T)) - mine
        best = ct.minimum(best, distance * distance)
    ct.store(y, index=(ct.bid(0), 0), tile=ct.min(best, axis=1, keepdims=True))


l2_resident_slow, l2_resident_fast = twins("l2_resident", _nearest)


# Mean, then variance, then the result: three reads of a row where two suffice.
@ct.kernel
def three_passes_slow(x, y, T: Const, N: Const):
    row = ct.bid(0)
    total = ct.full((1, T), 0.0, dtype=ct.float32)
    for step in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        total = total + ct.load(x, index=(row, step), shape=(1, T))
    mean = ct.sum(total, axis=1, keepdims=True) / N
    squares = ct.full((1, T), 0.0, dtype=ct.float32)
    for step in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        centred = ct.load(x, index=(row, step), shape=(1, T)) - mean
        squares = squares + centred * centred
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / N + 1e-6)
    for step in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        tile = ct.load(x, index=(row, step), shape=(1, T))
        ct.store(y, index=(row, step), tile=(tile - mean) * scale)


@ct.kernel
def three_passes_fast(x, y, T: Const, N: Const):
    row = ct.bid(0)
    total = ct.full((1, T), 0.0, dtype=ct.float32)
    squares = ct.full((1, T), 0.0, dtype=ct.float32)
    for step in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        tile = ct.load(x, index=(row, step), shape=(1, T))
        total, squares = total + tile, squares + tile * tile
    mean = ct.sum(total, axis=1, keepdims=True) / N
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / N - mean * mean + 1e-6)
    for step in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        tile = ct.load(x, index=(row, step), shape=(1, T))
        ct.store(y, index=(row, step), tile=(tile - mean) * scale)


@ct.kernel
def host_bound(x, y, T: Const):
    ct.store(y, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(T,)) + 1.0)
