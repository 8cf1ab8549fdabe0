"""One token times the matrix of each expert chosen for it: 32 rows of one expert per block, a sum for each 64 columns."""

import cuda.tile as ct
import torch

ROWS = 32
TILE_K = 64


@ct.kernel
def expert_gemv_kernel(weights, chosen, x, y, R: ct.Constant[int], TK: ct.Constant[int]):
    slot, row = ct.bid(0), ct.bid(1)
    expert = ct.load(chosen, index=(slot,), shape=(1,)).item()
    total = ct.zeros((1, R), dtype=ct.float32)
    for k in range(ct.num_tiles(weights, axis=2, shape=(1, R, TK))):
        weight = ct.load(weights, index=(expert, row, k), shape=(1, R, TK), padding_mode=ct.PaddingMode.ZERO)
        values = ct.load(x, index=(k,), shape=(TK,), padding_mode=ct.PaddingMode.ZERO)
        products = ct.astype(weight, ct.float32) * ct.astype(values, ct.float32)[None, None, :]
        total = total + ct.sum(products, axis=2)
    ct.store(y, index=(slot, row), tile=ct.astype(total, y.dtype))


def expert_gemv(weights: torch.Tensor, chosen: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    slots, rows = chosen.shape[0], weights.shape[1]
    y = torch.empty((slots, rows), dtype=x.dtype, device=x.device)
    arguments = (weights, chosen, x, y, ROWS, TILE_K)
    ct.launch(torch.cuda.current_stream(), (slots, ct.cdiv(rows, ROWS), 1), expert_gemv_kernel, arguments)
    return y
