"""c = a + b for long float32 vectors: three streams through DRAM and nothing else to speed up."""

import cuda.tile as ct
import torch

TILE = 1024


@ct.kernel
def vector_add_kernel(a, b, c, T: ct.Constant[int]):
    index = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    total = ct.gather(a, index, check_bounds=True) + ct.gather(b, index, check_bounds=True)
    ct.scatter(c, index, total, check_bounds=True)


def vector_add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    c = torch.empty_like(a)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(a.shape[0], TILE), 1, 1), vector_add_kernel, (a, b, c, TILE))
    return c
