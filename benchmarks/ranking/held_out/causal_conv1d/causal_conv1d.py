"""Depthwise causal convolution over the steps, then SiLU: 16 steps of 64 channels per block, a gather for each tap."""

import cuda.tile as ct
import torch

STEPS = 16
CHANNELS = 64


@ct.kernel
def causal_conv1d_kernel(x, weight, bias, y, width: int, S: ct.Constant[int], C: ct.Constant[int]):
    batch = ct.bid(2)
    steps = (ct.bid(1) * S + ct.arange(S, dtype=ct.int32))[:, None]
    channels = (ct.bid(0) * C + ct.arange(C, dtype=ct.int32))[None, :]
    total = ct.zeros((S, C), dtype=ct.float32) + ct.astype(ct.gather(bias, channels), ct.float32)
    for tap in range(width):
        source = steps + tap - (width - 1)
        values = ct.gather(x, (batch, source, channels), mask=source >= 0)
        factor = ct.gather(weight, (channels, tap))
        total = total + ct.astype(values, ct.float32) * ct.astype(factor, ct.float32)
    result = total / (1.0 + ct.exp(-total))
    ct.scatter(y, (batch, steps, channels), ct.astype(result, y.dtype))


def causal_conv1d(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    batch, steps, channels = x.shape
    grid = (ct.cdiv(channels, CHANNELS), ct.cdiv(steps, STEPS), batch)
    arguments = (x, weight, bias, y, weight.shape[1], STEPS, CHANNELS)
    ct.launch(torch.cuda.current_stream(), grid, causal_conv1d_kernel, arguments)
    return y
