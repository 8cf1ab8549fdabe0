"""A matrix transposed tile by tile."""

import cuda.tile as ct
import torch

TILE_M, TILE_N = 8, 16


@ct.kernel
def transpose_kernel(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(row, column), shape=(TM, TN), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(column, row), tile=ct.transpose(tile))


def transpose(x: torch.Tensor) -> torch.Tensor:
    rows, columns = x.shape
    y = torch.empty((columns, rows), dtype=x.dtype, device=x.device)
    grid = (ct.cdiv(rows, TILE_M), ct.cdiv(columns, TILE_N), 1)
    ct.launch(torch.cuda.current_stream(), grid, transpose_kernel, (x, y, TILE_M, TILE_N))
    return y
