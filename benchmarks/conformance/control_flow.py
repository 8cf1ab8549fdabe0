"""Blocks, branches, loops and functions."""

import cuda.tile as ct
from case import Case, family_of, out, small

case = family_of("control flow and parameters")


@ct.kernel
def blocks_kernel(y):
    where = (ct.bid(0), ct.bid(1), ct.bid(2))
    ct.store(
        y,
        where,
        ct.bid(0) * 100 + ct.bid(1) * 10 + ct.bid(2) + 1000 * (ct.num_blocks(0) + ct.num_blocks(1) * ct.num_blocks(2)),
    )


@ct.kernel
def nested_if_kernel(y):
    b = ct.bid(0)
    if b % 2 == 0:
        if b > 3:  # noqa: SIM108
            value = b * 10
        else:
            value = -b
    elif b == 3 or b > 6:
        value = 33
    else:
        value = 7
    ct.store(y, (b,), value)


@ct.kernel
def early_return_kernel(y, last):
    if ct.bid(0) >= last:
        return
    ct.store(y, (ct.bid(0),), 5)
    if not ct.bid(0) % 2:
        return
    ct.store(y, (ct.bid(0),), 6)


@ct.kernel
def tile_condition_kernel(x, y):
    value = ct.load(x, (ct.bid(0),), ())
    result = value if value > 0 else -value * 2
    ct.store(y, (ct.bid(0),), result)


@ct.kernel
def for_kernel(x, y, start, stop, step):
    total = ct.zeros((8,), ct.float32)
    for k in range(start, stop, step):
        total += ct.load(x, (k,), (8,)) * k
    for k in range(ct.bid(0)):
        total = total + k
    ct.store(y, (ct.bid(0),), total)


@ct.kernel
def while_kernel(y):
    n, steps = ct.bid(0) + 7, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps == 12:
            break
    ct.store(y, (ct.bid(0),), steps * 1000 + n)


@ct.kernel
def break_continue_kernel(y, limit):
    total = 0
    for k in range(limit):
        if k % 3 == 1:
            continue
        if k > ct.bid(0) * 2:
            break
        total = total + k
    ct.store(y, (ct.bid(0),), total)


@ct.kernel
def persistent_kernel(x, y, tiles):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(y, (tile,), ct.load(x, (tile,), (8,)) * 2 + ct.bid(0))


@ct.kernel
def nested_loop_kernel(y):
    total = 0
    for i in range(ct.bid(0) + 1):
        for j in range(i + 1):
            if i == j:
                total += 100
                continue
            total += j
    ct.store(y, (ct.bid(0),), total)


def scaled(tile, factor=2, *, shift=0):
    return tile * factor + shift


def split(tile):
    return ct.extract(tile, (0,), (4,)), ct.extract(tile, (1,), (4,))


@ct.function
def clamp(tile, low, high):
    if ct.ensure_constant(low is None):
        return min(tile, high)
    return max(min(tile, high), low)


@ct.kernel
def helpers_kernel(x, y):
    low, high = split(scaled(ct.load(x, (0,), (8,)), shift=1))
    pair = (low, high, 3)
    ct.store(y, (0,), pair[0] + pair[1] * pair[2] + len(pair))
    ct.store(y, (1,), clamp(scaled(high, 5), -10, high=20) + clamp(low, None, 1))


def cases() -> list[Case]:
    eight, many = small("float32", 8), small("float32", 64)
    ints = [out("int32", 8) for _ in range(5)]
    return [
        case("blocks-3d", blocks_kernel, out("int32", 3, 2, 4), grid=(3, 2, 4)),
        case("if-nested", nested_if_kernel, ints[0], grid=(8,)),
        case("if-early-return", early_return_kernel, ints[1], 6, grid=(8,)),
        case("if-tile-condition", tile_condition_kernel, eight, out("float32", 8), grid=(8,)),
        case("for-run-time-bounds", for_kernel, many, out("float32", 32), 1, 8, 3, grid=(4,)),
        case("for-empty", for_kernel, many, out("float32", 32), 5, 5, 1, grid=(2,)),
        case("while-break", while_kernel, ints[2], grid=(8,)),
        case("for-break-continue", break_continue_kernel, ints[3], 11, grid=(8,)),
        case("for-persistent", persistent_kernel, many, out("float32", 64), 8, grid=(3,)),
        case("for-nested", nested_loop_kernel, ints[4], grid=(6,)),
        case("helpers", helpers_kernel, eight, out("float32", 8)),
    ]
