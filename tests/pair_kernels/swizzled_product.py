import cuda.tile as ct
import torch

TILE_M, TILE_N, TILE_K = 32, 32, 16
GROUP_SIZE_M = 4


@ct.kernel
def swizzled_product_kernel(
    a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int], GROUP: ct.Constant[int]
):
    block = ct.bid(0)
    rows, columns = ct.cdiv(a.shape[0], TM), ct.cdiv(b.shape[1], TN)
    per_group = GROUP * columns
    first = block // per_group * GROUP
    size = min(rows - first, GROUP)
    row, column = first + block % per_group % size, block % per_group // size
    accumulator = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TK)):
        left = ct.load(a, index=(row, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, index=(k, column), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        accumulator = ct.mma(left, right, accumulator)
    ct.store(c, index=(row, column), tile=accumulator)


def swizzled_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, n = a.shape[0], b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (ct.cdiv(m, TILE_M) * ct.cdiv(n, TILE_N), 1, 1)
    constants = (TILE_M, TILE_N, TILE_K, GROUP_SIZE_M)
    ct.launch(torch.cuda.current_stream(), grid, swizzled_product_kernel, (a, b, c, *constants))
    return c
