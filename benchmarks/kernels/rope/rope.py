"""Rotary position embedding: the two halves of each head turned by an angle of its position, in place."""

import cuda.tile as ct
import torch


@ct.kernel
def rope_kernel(q, cosines, sines, HALF: ct.Constant[int]):
    position, head = ct.bid(0), ct.bid(1)
    columns = ct.arange(HALF, dtype=ct.int32)
    cosine = ct.gather(cosines, (position, columns))
    sine = ct.gather(sines, (position, columns))
    first = ct.astype(ct.gather(q, (position, head, columns)), ct.float32)
    second = ct.astype(ct.gather(q, (position, head, columns + HALF)), ct.float32)
    ct.scatter(q, (position, head, columns), ct.astype(first * cosine - second * sine, q.dtype))
    ct.scatter(q, (position, head, columns + HALF), ct.astype(second * cosine + first * sine, q.dtype))


def rope(q: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    positions, heads, width = q.shape
    ct.launch(torch.cuda.current_stream(), (positions, heads, 1), rope_kernel, (q, cosines, sines, width // 2))
    return q
