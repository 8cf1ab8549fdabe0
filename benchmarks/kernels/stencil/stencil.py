"""A three-point stencil: neighbours outside of the vector count as zero."""

import cuda.tile as ct
import torch

TILE = 32


@ct.kernel
def stencil_kernel(x, y, n: int, T: ct.Constant[int]):
    here = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    left = ct.gather(x, here - 1, mask=here > 0, padding_value=0.0)
    middle = ct.gather(x, here, check_bounds=True)
    right = ct.gather(x, here + 1, mask=here + 1 < n, padding_value=0.0)
    ct.scatter(y, here, (left + middle * 2.0 + right) * 0.25, check_bounds=True)


def stencil(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    n = x.numel()
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(n, TILE), 1, 1), stencil_kernel, (x, y, n, TILE))
    return y
