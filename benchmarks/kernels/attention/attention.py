"""Forward attention without a mask, 64 queries a block, softmax kept up to date from tile to tile of keys."""

import math

import cuda.tile as ct
import torch

TILE_M = 64
TILE_N = 64


@ct.kernel
def attention_kernel(
    q, k, v, o, scale: float, heads: int, length: int, D: ct.Constant[int], TM: ct.Constant[int], TN: ct.Constant[int]
):
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    query = ct.reshape(
        ct.load(q, index=(batch, head, block, 0), shape=(1, 1, TM, D), padding_mode=ct.PaddingMode.ZERO), (TM, D)
    )
    largest = ct.full((TM, 1), -float("inf"), dtype=ct.float32)
    total = ct.full((TM, 1), 0.0, dtype=ct.float32)
    accumulator = ct.full((TM, D), 0.0, dtype=ct.float32)
    for j in range(ct.cdiv(length, TN)):
        key = ct.reshape(
            ct.load(k, index=(batch, head, j, 0), shape=(1, 1, TN, D), padding_mode=ct.PaddingMode.ZERO), (TN, D)
        )
        scores = ct.mma(query, ct.transpose(key), ct.full((TM, TN), 0.0, dtype=ct.float32)) * scale
        inside = j * TN + ct.arange(TN, dtype=ct.int32) < length
        scores = ct.where(inside[None, :], scores, -float("inf"))
        newest = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp(scores - newest)
        correction = ct.exp(largest - newest)
        total = total * correction + ct.sum(weights, axis=1, keepdims=True)
        value = ct.reshape(
            ct.load(v, index=(batch, head, j, 0), shape=(1, 1, TN, D), padding_mode=ct.PaddingMode.ZERO), (TN, D)
        )
        accumulator = ct.mma(ct.astype(weights, v.dtype), value, accumulator * correction)
        largest = newest
    result = ct.reshape(ct.astype(accumulator / total, o.dtype), (1, 1, TM, D))
    ct.store(o, index=(batch, head, block, 0), tile=result)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    batch, heads, length, d = q.shape
    o = torch.empty_like(q)
    grid = (ct.cdiv(length, TILE_M), batch * heads, 1)
    arguments = (q, k, v, o, 1.0 / math.sqrt(d), heads, length, d, TILE_M, TILE_N)
    ct.launch(torch.cuda.current_stream(), grid, attention_kernel, arguments)
    return o
