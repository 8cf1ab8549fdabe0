"""Matrix product, one 128x128 tile of the result per block, bf16 operands, float32 accumulator."""

import cuda.tile as ct
import torch

TILE_M = 128
TILE_N = 128
TILE_K = 64


@ct.kernel
def matmul_kernel(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    accumulator = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        a_tile = ct.load(a, index=(row, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(k, column), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        accumulator = ct.mma(a_tile, b_tile, accumulator)
    ct.store(c, index=(row, column), tile=ct.astype(accumulator, c.dtype))


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, n = a.shape[0], b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (ct.cdiv(m, TILE_M), ct.cdiv(n, TILE_N), 1)
    ct.launch(torch.cuda.current_stream(), grid, matmul_kernel, (a, b, c, TILE_M, TILE_N, TILE_K))
    return c
