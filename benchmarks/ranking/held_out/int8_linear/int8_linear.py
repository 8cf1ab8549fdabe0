"""y = x (scale w)^T: int8 weights as a linear layer stores them, scaled to float16 as their tiles are loaded."""

import cuda.tile as ct
import torch

TILE_M = 128
TILE_N = 128
TILE_K = 64


@ct.kernel
def int8_linear_kernel(x, w, scales, y, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    column, row = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO
    accumulator = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(TM, TK))):
        codes = ct.load(w, index=(column, k), shape=(TN, TK), padding_mode=zero)
        scale = ct.load(scales, index=(column,), shape=(TN,), padding_mode=zero)
        weights = ct.astype(ct.astype(codes, ct.float32) * scale[:, None], x.dtype)
        x_tile = ct.load(x, index=(row, k), shape=(TM, TK), padding_mode=zero)
        accumulator = ct.mma(x_tile, ct.transpose(weights), accumulator)
    ct.store(y, index=(row, column), tile=ct.astype(accumulator, y.dtype))


def int8_linear(x: torch.Tensor, w: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    m, n = x.shape[0], w.shape[0]
    y = torch.empty((m, n), dtype=x.dtype, device=x.device)
    grid = (ct.cdiv(n, TILE_N), ct.cdiv(m, TILE_M), 1)
    ct.launch(torch.cuda.current_stream(), grid, int8_linear_kernel, (x, w, scales, y, TILE_M, TILE_N, TILE_K))
    return y
