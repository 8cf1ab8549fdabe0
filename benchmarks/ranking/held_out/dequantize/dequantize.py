"""y = (code - zero) * scale for int8 codes in groups of 128: flat indices, one gather each for code, zero and scale."""

import cuda.tile as ct
import torch

GROUP = 128
TILE = 1024


@ct.kernel
def dequantize_kernel(codes, zeros, scales, y, G: ct.Constant[int], T: ct.Constant[int]):
    elements = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    groups = elements // G
    code = ct.astype(ct.gather(codes, elements, check_bounds=True), ct.float32)
    zero = ct.astype(ct.gather(zeros, groups, check_bounds=True), ct.float32)
    scale = ct.astype(ct.gather(scales, groups, check_bounds=True), ct.float32)
    ct.scatter(y, elements, ct.astype((code - zero) * scale, y.dtype), check_bounds=True)


def dequantize(codes: torch.Tensor, zeros: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    y = torch.empty(codes.shape, dtype=scales.dtype, device=codes.device)
    flat = (codes.view(-1), zeros.view(-1), scales.view(-1), y.view(-1))
    grid = (ct.cdiv(codes.numel(), TILE), 1, 1)
    ct.launch(torch.cuda.current_stream(), grid, dequantize_kernel, (*flat, GROUP, TILE))
    return y
