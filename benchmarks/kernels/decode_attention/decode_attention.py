"""Attention of one new query per head over all cached keys: one block per head of a sequence walks through them."""

import math

import cuda.tile as ct
import torch

TILE = 64


@ct.kernel
def decode_attention_kernel(
    q, k, v, o, scale: float, heads: int, length: int, T: ct.Constant[int], D: ct.Constant[int]
):
    sequence, head = ct.bid(0) // heads, ct.bid(0) % heads
    query = ct.astype(ct.reshape(ct.load(q, index=(sequence, head, 0), shape=(1, 1, D)), (1, D)), ct.float32)
    largest = ct.full((1, 1), -float("inf"), dtype=ct.float32)
    total = ct.zeros((1, 1), dtype=ct.float32)
    result = ct.zeros((1, D), dtype=ct.float32)
    for j in range(ct.cdiv(length, T)):
        key = ct.load(k, index=(sequence, head, j, 0), shape=(1, 1, T, D), padding_mode=ct.PaddingMode.ZERO)
        key = ct.astype(ct.reshape(key, (T, D)), ct.float32)
        scores = ct.sum(key * query, axis=1, keepdims=True) * scale
        inside = j * T + ct.arange(T, dtype=ct.int32) < length
        scores = ct.where(inside[:, None], scores, -float("inf"))
        newest = ct.maximum(largest, ct.max(scores, axis=0, keepdims=True))
        weights = ct.exp(scores - newest)
        correction = ct.exp(largest - newest)
        value = ct.load(v, index=(sequence, head, j, 0), shape=(1, 1, T, D), padding_mode=ct.PaddingMode.ZERO)
        value = ct.astype(ct.reshape(value, (T, D)), ct.float32)
        total = total * correction + ct.sum(weights, axis=0, keepdims=True)
        result = result * correction + ct.sum(weights * value, axis=0, keepdims=True)
        largest = newest
    ct.store(o, index=(sequence, head, 0), tile=ct.reshape(ct.astype(result / total, o.dtype), (1, 1, D)))


def decode_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    sequences, heads, length, d = k.shape
    o = torch.empty_like(q)
    arguments = (q, k, v, o, 1.0 / math.sqrt(d), heads, length, TILE, d)
    ct.launch(torch.cuda.current_stream(), (sequences * heads, 1, 1), decode_attention_kernel, arguments)
    return o
