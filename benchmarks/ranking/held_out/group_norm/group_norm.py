"""Group norm, NCHW: one group of an image per block, a pass for the sums, another for the result."""

import cuda.tile as ct
import torch

TILE = 1024
EPS = 1e-6


@ct.kernel
def group_norm_kernel(x, weight, bias, y, groups: int, channels: int, pixels: int, T: ct.Constant[int]):
    block = ct.bid(0)
    zero = ct.PaddingMode.ZERO
    total = squares = ct.zeros((1, 1, 1), dtype=ct.float32)
    for c in range(channels):
        for j in range(ct.cdiv(pixels, T)):
            values = ct.astype(ct.load(x, index=(block, c, j), shape=(1, 1, T), padding_mode=zero), ct.float32)
            total = total + ct.sum(values, axis=2, keepdims=True)
            squares = squares + ct.sum(values * values, axis=2, keepdims=True)
    mean = total / (channels * pixels)
    rstd = ct.rsqrt(squares / (channels * pixels) - mean * mean + EPS)
    for c in range(channels):
        channel = block % groups * channels + c
        scale = ct.astype(ct.load(weight, index=(channel,), shape=(1,)), ct.float32)
        shift = ct.astype(ct.load(bias, index=(channel,), shape=(1,)), ct.float32)
        for j in range(ct.cdiv(pixels, T)):
            values = ct.astype(ct.load(x, index=(block, c, j), shape=(1, 1, T), padding_mode=zero), ct.float32)
            result = (values - mean) * rstd * scale + shift
            ct.store(y, index=(block, c, j), tile=ct.astype(result, y.dtype))


def group_norm(x: torch.Tensor, groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    images, channels = x.shape[:2]
    y = torch.empty_like(x)
    shape = (images * groups, channels // groups, x.shape[2] * x.shape[3])
    arguments = (x.view(shape), weight, bias, y.view(shape), groups, *shape[1:], TILE)
    ct.launch(torch.cuda.current_stream(), (shape[0], 1, 1), group_norm_kernel, arguments)
    return y
