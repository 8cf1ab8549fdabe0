import cuda.tile as ct
import torch

TILE = 64


@ct.kernel
def doubled_kernel(x, y, T: ct.Constant[int]):
    index = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    value = ct.gather(x, index)
    ct.scatter(y, index, value + value)


def doubled(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    grid = (ct.cdiv(x.shape[0], TILE), 1, 1)
    ct.launch(torch.cuda.current_stream(), grid, doubled_kernel, (x, y, TILE))
    return y
