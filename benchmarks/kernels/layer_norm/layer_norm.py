"""Layer normalization of long rows in tiles: a pass for the mean, one for the variance, one for the result."""

import cuda.tile as ct
import torch

TILE = 1024


@ct.kernel
def layer_norm_kernel(x, weight, bias, y, eps: float, T: ct.Constant[int]):
    row = ct.bid(0)
    columns = x.shape[1]
    tiles = ct.cdiv(columns, T)
    total = ct.full((T,), 0.0, dtype=ct.float32)
    for j in range(tiles):
        total = total + ct.astype(
            ct.gather(x, (row, j * T + ct.arange(T, dtype=ct.int32)), check_bounds=True), ct.float32
        )
    mean = ct.sum(total, axis=0, keepdims=True) / columns
    squares = ct.full((T,), 0.0, dtype=ct.float32)
    for j in range(tiles):
        offsets = j * T + ct.arange(T, dtype=ct.int32)
        difference = ct.astype(ct.gather(x, (row, offsets), check_bounds=True), ct.float32) - mean
        squares = squares + ct.where(offsets < columns, difference * difference, 0.0)
    variance = ct.sum(squares, axis=0, keepdims=True) / columns
    for j in range(tiles):
        offsets = j * T + ct.arange(T, dtype=ct.int32)
        values = ct.astype(ct.gather(x, (row, offsets), check_bounds=True), ct.float32)
        scale = ct.astype(ct.gather(weight, offsets, check_bounds=True), ct.float32)
        shift = ct.astype(ct.gather(bias, offsets, check_bounds=True), ct.float32)
        result = (values - mean) / ct.sqrt(variance + eps) * scale + shift
        ct.scatter(y, (row, offsets), ct.astype(result, y.dtype), check_bounds=True)


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (x.shape[0], 1, 1), layer_norm_kernel, (x, weight, bias, y, eps, TILE))
    return y
