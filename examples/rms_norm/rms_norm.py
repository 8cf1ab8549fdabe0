"""RMS normalization of rows: y = x / sqrt(mean(x^2) + eps) * weight, one row per block."""

import cuda.tile as ct
import torch


@ct.kernel
def rms_norm_kernel(x, weight, y, n_columns: int, eps: float, TILE: ct.Constant[int]):
    row = ct.bid(0)
    columns = ct.arange(TILE, dtype=ct.int32)
    values = ct.astype(ct.gather(x, (row, columns), check_bounds=True), ct.float32)
    scale = ct.astype(ct.gather(weight, columns, check_bounds=True), ct.float32)
    mean_square = ct.sum(values * values, axis=0, keepdims=True) / n_columns
    result = values / ct.sqrt(mean_square + eps) * scale
    ct.scatter(y, (row, columns), ct.astype(result, y.dtype), check_bounds=True)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    rows, columns = x.shape
    y = torch.empty_like(x)
    tile = 1 << (columns - 1).bit_length()
    stream = torch.cuda.current_stream()
    ct.launch(stream, (rows, 1, 1), rms_norm_kernel, (x, weight, y, columns, eps, tile))
    return y
