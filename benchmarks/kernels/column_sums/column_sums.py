"""Weighted sums of columns: every block takes rows and adds them to one result, the weight loaded for each row."""

import cuda.tile as ct
import torch

TILE = 1024


@ct.kernel
def column_sums_kernel(x, weight, sums, ROWS: ct.Constant[int], T: ct.Constant[int]):
    first, columns = ct.bid(0) * ROWS, ct.bid(1) * T + ct.arange(T, dtype=ct.int32)
    for row in range(first, first + ROWS):
        scale = ct.load(weight, index=(0,), shape=(1,), padding_mode=ct.PaddingMode.ZERO)
        values = ct.astype(ct.gather(x, (row, columns), check_bounds=True), ct.float32)
        ct.atomic_add(sums, columns, values * scale, check_bounds=True)


def column_sums(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    sums = torch.zeros(x.shape[1], dtype=torch.float32, device=x.device)
    grid = (ct.cdiv(x.shape[0], 64), ct.cdiv(x.shape[1], TILE), 1)
    ct.launch(torch.cuda.current_stream(), grid, column_sums_kernel, (x, weight, sums, 64, TILE))
    return sums
