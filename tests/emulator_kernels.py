"""Small kernels that the emulator's tests launch."""

import cuda.tile as ct


@ct.kernel
def softmax(x, y, tile: ct.Constant[int]):
    row = ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
    powers = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(y, (ct.bid(0), 0), powers / ct.sum(powers, axis=1, keepdims=True))


@ct.kernel
def product(a, b, c, rows: ct.Constant[int], columns: ct.Constant[int], depth: ct.Constant[int]):
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(ct.num_tiles(a, 1, (rows, depth))):
        left = ct.load(a, (ct.bid(0), k), (rows, depth), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, ct.bid(1)), (depth, columns), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (ct.bid(0), ct.bid(1)), ct.astype(total, c.dtype))


def wandered(block, blocks, stop, limit):
    """For the kernel below and for Python, which says what it should give."""
    total = 0
    for i in range(block, stop, blocks):
        if i % 5 == 3:
            continue
        if total > limit:
            break
        j = 0
        while j < i:
            j += 2
            if j == 6:
                total += 1
                continue
            total += j
    return total


@ct.kernel
def wandering(y, stop, limit):
    ct.scatter(y, ct.bid(0), wandered(ct.bid(0), ct.num_blocks(0), stop, limit))


@ct.kernel
def doubled(x, y, tile: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) * 2)


@ct.kernel
def halves(x, y, tile: ct.Constant[int]):
    i = ct.bid(0)
    part = x.slice(axis=0, start=i * tile, stop=(i + 1) * tile)
    ct.store(y, (i, 0), ct.load(part, (0, 0), (tile, 1)) * 2)


@ct.kernel
def endless(y):
    while ct.atomic_add(y, 0, 0.0) == 0:  # a load alone would be dropped with its loop
        pass


@ct.kernel
def capped_sums(limits, x, out):
    """The body of the reduction captures a value of the block's own; its operand is the same for all blocks."""
    limit = ct.gather(limits, ct.bid(0))
    tile = ct.load(x, (0,), (16,))
    ct.scatter(out, ct.bid(0), ct.reduce(tile, 0, lambda a, b: ct.minimum(a + b, limit), 0.0))


@ct.kernel
def capped_running_sums(limits, x, out):
    limit = ct.gather(limits, ct.bid(0))
    sums = ct.scan(ct.load(x, (0,), (16,)), 0, lambda a, b: ct.minimum(a + b, limit), 0.0)
    ct.store(out, (ct.bid(0), 0), ct.reshape(sums, (1, 16)))


@ct.kernel
def shared_product(a, b, c):
    """Operands that all blocks share, an accumulator that they do not."""
    start = ct.full((8, 8), ct.bid(0), ct.float32)
    ct.store(c, (ct.bid(0), 0), ct.mma(ct.load(a, (0, 0), (8, 8)), ct.load(b, (0, 0), (8, 8)), start))


@ct.kernel
def stepping(out, step):
    total = 0
    for i in range(0, 10, step):
        total += i
    ct.scatter(out, 0, total)


@ct.kernel
def moved_by_cutile(out):
    u = ct.load(out, (0,), (4,))
    w = u
    for a in range(0, 5, 1):
        w = u + 1
        for _ in range(0, a):  # noqa: PIE808 - with a start of its own
            w = w * 2
    ct.store(out, (0,), w)


@ct.kernel
def advancing(x, out, distance):
    at = 0
    for _ in range(4):
        at += distance
    ct.scatter(out, 0, ct.gather(x, at))


@ct.kernel
def lopsided(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (3,)))


@ct.kernel
def unknown_type(x, out):
    ct.store(out, (0,), ct.astype(ct.astype(ct.load(x, (0,), (16,)), ct.float8_e5m3fnu), ct.float32))


@ct.kernel
def talkative(x):
    ct.printf("block %d has %.2f\n", ct.bid(0), ct.sum(ct.load(x, (ct.bid(0),), (2,))))
