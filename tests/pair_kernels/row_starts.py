import cuda.tile as ct
import torch


@ct.kernel
def row_starts_kernel(x, y, stride: int, T: ct.Constant[int]):
    place = ct.bid(0) * stride + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, place, ct.gather(x, place) * 2)


def row_starts(x: torch.Tensor, rows: int, stride: int) -> torch.Tensor:
    y = torch.zeros_like(x)
    ct.launch(torch.cuda.current_stream(), (rows,), row_starts_kernel, (x, y, stride, 32))
    return y
