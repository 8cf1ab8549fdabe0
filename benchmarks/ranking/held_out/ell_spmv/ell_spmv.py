"""y = A x for a sparse A in ELL format: 256 rows per block, a slot of each row at a time."""

import cuda.tile as ct
import torch

ROWS = 256


@ct.kernel
def ell_spmv_kernel(values, columns, x, y, slots: int, R: ct.Constant[int]):
    rows = ct.bid(0) * R + ct.arange(R, dtype=ct.int32)
    total = ct.zeros((R,), dtype=ct.float32)
    for slot in range(slots):
        column = ct.gather(columns, (rows, slot))
        total = total + ct.gather(values, (rows, slot)) * ct.gather(x, column)
    ct.scatter(y, rows, total)


def ell_spmv(values: torch.Tensor, columns: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    rows, slots = values.shape
    y = torch.empty(rows, dtype=x.dtype, device=x.device)
    grid, arguments = (ct.cdiv(rows, ROWS), 1, 1), (values, columns, x, y, slots, ROWS)
    ct.launch(torch.cuda.current_stream(), grid, ell_spmv_kernel, arguments)
    return y
