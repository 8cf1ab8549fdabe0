"""Gradient of a layer norm by its input, added to that of the residual branch: one row per block, held as a whole."""

import cuda.tile as ct
import torch


@ct.kernel
def layer_norm_backward_kernel(dy, x, mean, rstd, weight, residual, dx, n: int, N: ct.Constant[int]):
    row = ct.bid(0)
    zero = ct.PaddingMode.ZERO
    gradient = ct.astype(ct.load(dy, index=(row, 0), shape=(1, N), padding_mode=zero), ct.float32)
    values = ct.astype(ct.load(x, index=(row, 0), shape=(1, N), padding_mode=zero), ct.float32)
    scale = ct.astype(ct.load(weight, index=(0,), shape=(N,), padding_mode=zero), ct.float32)
    center = ct.load(mean, index=(row,), shape=(1,))
    inverse = ct.load(rstd, index=(row,), shape=(1,))
    normalized = (values - center) * inverse
    weighted = gradient * scale[None, :]
    along = ct.sum(weighted * normalized, axis=1, keepdims=True) / n
    average = ct.sum(weighted, axis=1, keepdims=True) / n
    change = (weighted - average - normalized * along) * inverse
    branch = ct.astype(ct.load(residual, index=(row, 0), shape=(1, N), padding_mode=zero), ct.float32)
    ct.store(dx, index=(row, 0), tile=ct.astype(change + branch, dx.dtype))


def layer_norm_backward(
    dy: torch.Tensor,
    x: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor,
    residual: torch.Tensor,
) -> torch.Tensor:
    rows, n = x.shape
    width = 1 << (n - 1).bit_length()
    dx = torch.empty_like(x)
    arguments = (dy, x, mean, rstd, weight, residual, dx, n, width)
    ct.launch(torch.cuda.current_stream(), (rows, 1, 1), layer_norm_backward_kernel, arguments)
    return dx
