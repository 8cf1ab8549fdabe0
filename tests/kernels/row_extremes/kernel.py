"""The largest element and the sum of each row: tiles along the row, padding that a maximum does not see."""

import cuda.tile as ct
import torch

TILE_M, TILE_N = 4, 16


@ct.kernel
def row_extremes_kernel(x, largest, total, TM: ct.Constant[int], TN: ct.Constant[int]):
    block = ct.bid(0)
    top = ct.full((TM, 1), -float("inf"), dtype=ct.float32)
    added = ct.zeros((TM, 1), dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(TM, TN))):
        padded = ct.load(x, index=(block, j), shape=(TM, TN), padding_mode=ct.PaddingMode.NEG_INF)
        top = ct.maximum(top, ct.max(padded, axis=1, keepdims=True))
        values = ct.load(x, index=(block, j), shape=(TM, TN), padding_mode=ct.PaddingMode.ZERO)
        added = added + ct.sum(values, axis=1, keepdims=True)
    ct.store(largest, index=(block, 0), tile=top)
    ct.store(total, index=(block, 0), tile=added)


def row_extremes(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows = x.shape[0]
    largest = torch.empty((rows, 1), dtype=x.dtype, device=x.device)
    total = torch.empty((rows, 1), dtype=x.dtype, device=x.device)
    grid = (ct.cdiv(rows, TILE_M), 1, 1)
    arguments = (x, largest, total, TILE_M, TILE_N)
    ct.launch(torch.cuda.current_stream(), grid, row_extremes_kernel, arguments)
    return largest, total
