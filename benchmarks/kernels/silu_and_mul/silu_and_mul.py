"""y = silu(gate) * up for a row that holds both halves: 256 columns a block, gathered with bounds checks."""

import cuda.tile as ct
import torch

TILE = 256


@ct.kernel
def silu_and_mul_kernel(x, y, columns: int, T: ct.Constant[int]):
    row = ct.bid(0)
    offsets = ct.bid(1) * T + ct.arange(T, dtype=ct.int32)
    gate = ct.astype(ct.gather(x, (row, offsets), check_bounds=True), ct.float32)
    up = ct.astype(ct.gather(x, (row, offsets + columns), check_bounds=True), ct.float32)
    result = gate / (1.0 + ct.exp(-gate)) * up
    ct.scatter(y, (row, offsets), ct.astype(result, y.dtype), check_bounds=True)


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    rows, columns = x.shape[0], x.shape[1] // 2
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    grid = (rows, ct.cdiv(columns, TILE), 1)
    ct.launch(torch.cuda.current_stream(), grid, silu_and_mul_kernel, (x, y, columns, TILE))
    return y
