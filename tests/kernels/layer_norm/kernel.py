"""Layer normalization of rows: mean, then variance, then scale and shift, tile after tile."""

import cuda.tile as ct
import torch

TILE = 16


@ct.kernel
def layer_norm_kernel(x, weight, bias, y, columns: int, eps: float, T: ct.Constant[int]):
    row = ct.bid(0)
    tiles = ct.num_tiles(x, axis=1, shape=(1, T))
    total = ct.zeros((1, 1), dtype=ct.float32)
    for j in range(tiles):
        values = ct.load(x, index=(row, j), shape=(1, T), padding_mode=ct.PaddingMode.ZERO)
        total = total + ct.sum(values, axis=1, keepdims=True)
    mean = total / columns
    squares = ct.zeros((1, 1), dtype=ct.float32)
    for j in range(tiles):
        values = ct.load(x, index=(row, j), shape=(1, T), padding_mode=ct.PaddingMode.ZERO)
        inside = (j * T + ct.arange(T, dtype=ct.int32))[None, :] < columns
        centred = ct.where(inside, values - mean, 0.0)
        squares = squares + ct.sum(centred * centred, axis=1, keepdims=True)
    factor = ct.rsqrt(squares / columns + eps)
    for j in range(tiles):
        values = ct.load(x, index=(row, j), shape=(1, T), padding_mode=ct.PaddingMode.ZERO)
        scale = ct.load(weight, index=(j,), shape=(T,), padding_mode=ct.PaddingMode.ZERO)
        shift = ct.load(bias, index=(j,), shape=(T,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(y, index=(row, j), tile=(values - mean) * factor * scale[None, :] + shift[None, :])


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    rows, columns = x.shape
    y = torch.empty_like(x)
    arguments = (x, weight, bias, y, columns, 1e-5, TILE)
    ct.launch(torch.cuda.current_stream(), (rows, 1, 1), layer_norm_kernel, arguments)
    return y
