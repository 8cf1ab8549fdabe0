import cuda.tile as ct
import torch


@ct.kernel
def sums_kernel(x, weight, totals, T: ct.Constant[int]):
    columns = ct.arange(T, dtype=ct.int32)
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        factors = ct.load(weight, index=(0,), shape=(T,), padding_mode=ct.PaddingMode.ZERO)
        values = ct.gather(x, (row, columns))
        ct.atomic_add(totals, columns, values * factors)


def sums(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    totals = torch.zeros_like(weight)
    grid = (min(x.shape[0], 4), 1, 1)
    ct.launch(torch.cuda.current_stream(), grid, sums_kernel, (x, weight, totals, 64))
    return totals
