"""Matrix product on a one-dimensional grid, tiles in groups of rows for the sake of the L2 cache."""

import cuda.tile as ct
import torch

TILE_M, TILE_N, TILE_K = 16, 16, 16
GROUP = 2


@ct.kernel
def swizzled_matmul_kernel(
    a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int], GROUP_M: ct.Constant[int]
):
    block = ct.bid(0)
    tiles_m = ct.cdiv(a.shape[0], TM)
    tiles_n = ct.cdiv(b.shape[1], TN)
    in_group = GROUP_M * tiles_n
    group = block // in_group
    first = group * GROUP_M
    height = min(tiles_m - first, GROUP_M)
    row = first + (block % in_group) % height
    column = (block % in_group) // height
    accumulator = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, index=(row, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, index=(k, column), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        accumulator = ct.mma(left, right, accumulator)
    ct.store(c, index=(row, column), tile=ct.astype(accumulator, c.dtype))


def swizzled_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, n = a.shape[0], b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (ct.cdiv(m, TILE_M) * ct.cdiv(n, TILE_N), 1, 1)
    arguments = (a, b, c, TILE_M, TILE_N, TILE_K, GROUP)
    ct.launch(torch.cuda.current_stream(), grid, swizzled_matmul_kernel, arguments)
    return c
