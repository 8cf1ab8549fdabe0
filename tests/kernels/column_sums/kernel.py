"""Sums of columns by atomic addition: each block adds the sums of its rows."""

import cuda.tile as ct
import torch

TILE_M, TILE_N = 4, 16


@ct.kernel
def column_sums_kernel(x, out, TM: ct.Constant[int], TN: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    values = ct.load(x, index=(row, column), shape=(TM, TN), padding_mode=ct.PaddingMode.ZERO)
    columns = column * TN + ct.arange(TN, dtype=ct.int32)
    ct.atomic_add(out, columns, ct.sum(values, axis=0), check_bounds=True)


def column_sums(x: torch.Tensor) -> torch.Tensor:
    rows, columns = x.shape
    out = torch.zeros(columns, dtype=x.dtype, device=x.device)
    grid = (ct.cdiv(rows, TILE_M), ct.cdiv(columns, TILE_N), 1)
    ct.launch(torch.cuda.current_stream(), grid, column_sums_kernel, (x, out, TILE_M, TILE_N))
    return out
