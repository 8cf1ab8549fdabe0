"""Launches that no rule was tuned on: written and labelled after the rules were fixed, then recorded once."""

import held_out_kernels as hk
import torch
from cases import Case, cuda_pair, empty, pair, random, tiles


def held_out_cases() -> list[Case]:
    """The held-out faults. Needs a GPU."""
    return [*_access(), *_products(), *_blocks()]


def _access() -> list[Case]:
    n = 1 << 26
    x, y = random(2 * n), empty(n)
    table, result = random(1 << 22), empty(n)
    shuffled = torch.randint(0, 1 << 22, (n,), device="cuda", dtype=torch.int32)
    ordered = torch.sort(shuffled).values
    return [
        Case("every_second", ("memory",), ("uncoalesced", "excess-traffic"),
             *pair(hk, "every_second", (n // 1024,), x, y, 1024),
             "the elements side by side", 8.0 * n),
        Case("random_order", ("memory", "latency"), ("uncoalesced", "l2-bandwidth"),
             tiles((n // 1024,), hk.random_order_slow, table, shuffled, result, 1024),
             tiles((n // 1024,), hk.random_order_fast, table, ordered, result, 1024),
             "the same elements in the order of the table", 8.0 * n + 4.0 * (1 << 22)),
        Case("four_apart", ("memory", "latency"), ("bank-conflicts",),
             *cuda_pair("four_apart", 1056, 256, x, y), "lanes five words apart in place of four"),
        Case("block_sum", ("latency",), ("barrier",), *cuda_pair("block_sum", 1056, 1024, x, y), "shuffles in place of barriers"),
    ]  # fmt: skip


def _products() -> list[Case]:
    half = torch.bfloat16
    a, b, c = random(4096, 4096, dtype=half), random(4096, 4096, dtype=half), empty(4096, 4096, dtype=half)
    long, tall, out = (random(1024, 8192, dtype=half), random(8192, 640, dtype=half), empty(1024, 640, dtype=half))
    single, other, sums = random(1536, 1536), random(1536, 1536), empty(1536, 1536)
    return [
        Case("large_tile", ("memory", "latency"), ("register-spills",),
             tiles((16, 16), hk.large_tile_slow, a, b, c, 256, 256, 64), tiles((32, 32), hk.large_tile_fast, a, b, c, 128, 128, 64),
             "tiles of 128x128 in place of 256x256", 6.0 * 4096**2, 2.0 * 4096**3),
        Case("forty_blocks", ("scheduling", "latency"), ("grid-too-small",),
             tiles((8, 5), hk.forty_blocks_slow, long, tall, out, 128, 128, 64), tiles((16, 10), hk.forty_blocks_fast, long, tall, out, 64, 64, 64),
             "160 blocks of 64x64", None, 2.0 * 1024 * 640 * 8192),
        Case("float32_product", ("compute",), ("mma-off-tensor-cores",),
             *pair(hk, "float32_product", (24, 24), single, other, sums, 64, 64, 32),
             "TF32 operands", 12.0 * 1536**2, 2.0 * 1536**3),
    ]  # fmt: skip


def _blocks() -> list[Case]:
    n, half = 1 << 24, torch.bfloat16
    x, y = random(n), empty(n)
    wide, narrow = random(1 << 27, dtype=half), empty(1 << 27, dtype=half)
    rows, result = random(32768, 4096, dtype=half), empty(32768, 4096, dtype=half)
    slots = 132 * 7  # 72 registers a thread let an SM hold seven blocks
    return [
        Case("softplus", ("compute",), ("special-functions-and-division", "instruction-issue"),
             *pair(hk, "softplus", (n // 1024,), x, y, 1024, 16),
             "exp2 and log2", 8.0 * n),
        Case("narrow_tiles", ("compute", "latency"), ("tile-too-small", "instruction-issue"),
             tiles((1 << 20,), hk.narrow_tiles_slow, wide, narrow, 128), tiles((1 << 16,), hk.narrow_tiles_fast, wide, narrow, 2048),
             "tiles of 2048 in place of 128", 4.0 * (1 << 27)),
        Case("one_block", ("latency",), ("occupancy-registers",),
             *pair(hk, "one_block", (32768,), rows, result, 4096),
             "occupancy=4", 4.0 * 32768 * 4096),
        Case("just_over", ("scheduling", "compute"), ("tail-effect",),
             tiles((slots + 32,), hk.just_over_slow, x, y, 4096, 16384), tiles((slots,), hk.just_over_fast, x, y, 4096, 16384),
             "924 blocks, which the card holds at once, in place of 956", 8.0 * (slots + 32) * 4096),
    ]  # fmt: skip
