"""cuTile kernels of the held-out set: written and labelled after the rules were fixed, and never used to tune them."""

import cuda.tile as ct
from tile_kernels import product, twins

Const = ct.Constant[int]


# Every second element of an array.
@ct.kernel
def every_second_slow(x, y, T: Const):
    columns = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, columns, ct.gather(x, columns * 2) + 1.0)


@ct.kernel
def every_second_fast(x, y, T: Const):
    columns = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, columns, ct.gather(x, columns) + 1.0)


large_tile_slow, large_tile_fast = twins("large_tile", product)


forty_blocks_slow, forty_blocks_fast = twins("forty_blocks", product)


@ct.kernel
def float32_product_slow(a, b, c, TM: Const, TN: Const, TK: Const):
    product(a, b, c, TM, TN, TK)


@ct.kernel
def float32_product_fast(a, b, c, TM: Const, TN: Const, TK: Const):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, index=(row, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, index=(k, column), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(ct.astype(left, ct.tfloat32), ct.astype(right, ct.tfloat32), total)
    ct.store(c, index=(row, column), tile=total)


# log(1 + exp(x)), again and again.
@ct.kernel
def softplus_slow(x, y, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,))
    for _ in range(N):
        values = ct.log(1.0 + ct.exp(values))
    ct.store(y, index=(ct.bid(0),), tile=values)


@ct.kernel
def softplus_fast(x, y, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,)) * 1.4426950408889634
    for _ in range(N):
        values = ct.log2(1.0 + ct.exp2(values, flush_to_zero=True))
    ct.store(y, index=(ct.bid(0),), tile=values * 0.6931471805599453)


# Elements of a table in a random order, or in the order of the table.
def _looked_up(table, index, y, T: Const):
    columns = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, columns, ct.gather(table, ct.gather(index, columns)))


random_order_slow, random_order_fast = twins("random_order", _looked_up)


def _silu(x, y, T: Const):
    values = ct.astype(ct.load(x, index=(ct.bid(0),), shape=(T,)), ct.float32)
    ct.store(y, index=(ct.bid(0),), tile=ct.astype(values / (1.0 + ct.exp(-values)), y.dtype))


narrow_tiles_slow, narrow_tiles_fast = twins("narrow_tiles", _silu)


# A row in one tile by TMA: 255 registers, one block on an SM.
def _normalize(x, y, T):
    tile = ct.astype(ct.load(x, index=(ct.bid(0), 0), shape=(1, T)), ct.float32)
    mean = ct.sum(tile, axis=1, keepdims=True) * (1.0 / T)
    centred = tile - mean
    scale = ct.rsqrt(ct.sum(centred * centred, axis=1, keepdims=True) * (1.0 / T) + 1e-6)
    ct.store(y, index=(ct.bid(0), 0), tile=ct.astype(centred * scale, y.dtype))


@ct.kernel
def one_block_slow(x, y, T: Const):
    _normalize(x, y, T)


@ct.kernel(occupancy=4)
def one_block_fast(x, y, T: Const):
    _normalize(x, y, T)


# Blocks of equal work, 3 % more than the card holds at once.
def _long(x, y, T: Const, N: Const):
    values = ct.load(x, index=(ct.bid(0),), shape=(T,))
    result = values
    for _ in range(N):
        result = result * values + 0.25
    ct.store(y, index=(ct.bid(0),), tile=result)


just_over_slow, just_over_fast = twins("just_over", _long, occupancy=4)
