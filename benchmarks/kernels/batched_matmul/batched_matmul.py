"""A product for each matrix of a batch, one 64x64 tile of a result per block, the batch along the first grid axis."""

import cuda.tile as ct
import torch

TILE_M = 64
TILE_N = 64
TILE_K = 32


@ct.kernel
def batched_matmul_kernel(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    batch, row, column = ct.bid(0), ct.bid(1), ct.bid(2)
    accumulator = ct.zeros((1, TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, TM, TK))):
        a_tile = ct.load(a, index=(batch, row, k), shape=(1, TM, TK), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(batch, k, column), shape=(1, TK, TN), padding_mode=ct.PaddingMode.ZERO)
        accumulator = ct.mma(a_tile, b_tile, accumulator)
    ct.store(c, index=(batch, row, column), tile=ct.astype(accumulator, c.dtype))


def batched_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    batch, m, n = a.shape[0], a.shape[1], b.shape[2]
    c = torch.empty((batch, m, n), dtype=a.dtype, device=a.device)
    grid = (batch, ct.cdiv(m, TILE_M), ct.cdiv(n, TILE_N))
    ct.launch(torch.cuda.current_stream(), grid, batched_matmul_kernel, (a, b, c, TILE_M, TILE_N, TILE_K))
    return c
