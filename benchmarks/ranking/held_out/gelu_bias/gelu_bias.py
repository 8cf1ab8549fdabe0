"""y = gelu(x + bias), the tanh form, one 8x64 tile per block."""

import cuda.tile as ct
import torch

TILE_M = 8
TILE_N = 64


@ct.kernel
def gelu_bias_kernel(x, bias, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    values = ct.astype(ct.load(x, index=(row, column), shape=(TM, TN)), ct.float32)
    shift = ct.astype(ct.load(bias, index=(column,), shape=(TN,)), ct.float32)
    u = values + shift
    inner = 0.7978845608028654 * (u + 0.044715 * u * u * u)
    result = 0.5 * u * (1.0 + ct.tanh(inner))
    ct.store(y, index=(row, column), tile=ct.astype(result, y.dtype))


def gelu_bias(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    rows, columns = x.shape
    y = torch.empty_like(x)
    grid = (ct.cdiv(rows, TILE_M), ct.cdiv(columns, TILE_N), 1)
    ct.launch(torch.cuda.current_stream(), grid, gelu_bias_kernel, (x, bias, y, TILE_M, TILE_N))
    return y
