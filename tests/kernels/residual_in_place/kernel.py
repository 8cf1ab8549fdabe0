"""x += scale * y for vectors whose last tile is not full."""

import cuda.tile as ct
import torch

TILE = 32


@ct.kernel
def residual_kernel(x, y, scale: float, n: int, T: ct.Constant[int]):
    offsets = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    inside = offsets < n
    left = ct.gather(x, offsets, mask=inside, check_bounds=False)
    right = ct.gather(y, offsets, mask=inside, check_bounds=False)
    ct.scatter(x, offsets, left + right * scale, mask=inside, check_bounds=False)


def residual(x: torch.Tensor, y: torch.Tensor, scale: float) -> torch.Tensor:
    n = x.numel()
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(n, TILE), 1, 1), residual_kernel, (x, y, scale, n, TILE))
    return x
