"""The mean over the steps whose mask is set: 64 channels of a sequence per block, 8 steps at a time."""

import cuda.tile as ct
import torch

STEPS = 8
CHANNELS = 64


@ct.kernel
def masked_mean_kernel(x, mask, y, S: ct.Constant[int], C: ct.Constant[int]):
    batch, block = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO
    total = ct.zeros((1, C), dtype=ct.float32)
    count = ct.zeros((1, 1), dtype=ct.float32)
    for j in range(ct.num_tiles(mask, axis=1, shape=(1, S))):
        values = ct.load(x, index=(batch, j, block), shape=(1, S, C), padding_mode=zero)
        flags = ct.astype(ct.load(mask, index=(batch, j), shape=(1, S), padding_mode=zero), ct.float32)
        total = total + ct.sum(ct.astype(values, ct.float32) * flags[:, :, None], axis=1)
        count = count + ct.sum(flags, axis=1, keepdims=True)
    mean = total / ct.maximum(count, 1.0)
    ct.store(y, index=(batch, block), tile=ct.astype(mean, y.dtype))


def masked_mean(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    batch, _, channels = x.shape
    y = torch.empty((batch, channels), dtype=x.dtype, device=x.device)
    grid = (batch, ct.cdiv(channels, CHANNELS), 1)
    ct.launch(torch.cuda.current_stream(), grid, masked_mean_kernel, (x, mask, y, STEPS, CHANNELS))
    return y
