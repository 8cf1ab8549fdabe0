"""Rows to int8 with a scale each: scale = max|x| / 127, code = round(x / scale), one whole row per block."""

import cuda.tile as ct
import torch


@ct.kernel
def quantize_rows_kernel(x, codes, scales, T: ct.Constant[int]):
    row = ct.bid(0)
    values = ct.astype(ct.load(x, index=(row, 0), shape=(1, T), padding_mode=ct.PaddingMode.ZERO), ct.float32)
    largest = ct.max(ct.abs(values), axis=1, keepdims=True)
    scale = ct.maximum(largest, 1e-12) / 127.0
    rounded = ct.floor(values / scale + 0.5)
    clamped = ct.minimum(ct.maximum(rounded, -127.0), 127.0)
    ct.store(codes, index=(row, 0), tile=ct.astype(clamped, ct.int8))
    ct.store(scales, index=(row,), tile=ct.reshape(scale, (1,)))


def quantize_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, columns = x.shape
    codes = torch.empty((rows, columns), dtype=torch.int8, device=x.device)
    scales = torch.empty(rows, dtype=torch.float32, device=x.device)
    tile = 1 << (columns - 1).bit_length()
    ct.launch(torch.cuda.current_stream(), (rows, 1, 1), quantize_rows_kernel, (x, codes, scales, tile))
    return codes, scales
