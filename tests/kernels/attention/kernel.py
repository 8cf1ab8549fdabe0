"""Causal attention of one head: an online softmax over blocks of keys."""

import cuda.tile as ct
import torch

TILE_Q, TILE_K = 16, 8


@ct.kernel
def attention_kernel(
    q, k, v, out, keys: int, scale: float, D: ct.Constant[int], TQ: ct.Constant[int], TK: ct.Constant[int]
):
    block = ct.bid(0)
    queries = ct.load(q, index=(block, 0), shape=(TQ, D), padding_mode=ct.PaddingMode.ZERO)
    rows = (block * TQ + ct.arange(TQ, dtype=ct.int32))[:, None]
    largest = ct.full((TQ, 1), -1e30, dtype=ct.float32)
    total = ct.zeros((TQ, 1), dtype=ct.float32)
    accumulator = ct.zeros((TQ, D), dtype=ct.float32)
    for j in range(ct.cdiv(min(keys, (block + 1) * TQ), TK)):
        part = ct.load(k, index=(j, 0), shape=(TK, D), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(queries, ct.transpose(part), ct.zeros((TQ, TK), dtype=ct.float32)) * scale
        columns = (j * TK + ct.arange(TK, dtype=ct.int32))[None, :]
        scores = ct.where((columns <= rows) & (columns < keys), scores, -1e30)
        peak = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        powers = ct.exp(scores - peak)
        rescale = ct.exp(largest - peak)
        total = total * rescale + ct.sum(powers, axis=1, keepdims=True)
        values = ct.load(v, index=(j, 0), shape=(TK, D), padding_mode=ct.PaddingMode.ZERO)
        accumulator = ct.mma(ct.astype(powers, values.dtype), values, accumulator * rescale)
        largest = peak
    ct.store(out, index=(block, 0), tile=ct.astype(accumulator / total, out.dtype))


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    length, width = q.shape
    out = torch.empty_like(q)
    grid = (ct.cdiv(length, TILE_Q), 1, 1)
    arguments = (q, k, v, out, k.shape[0], width**-0.5, width, TILE_Q, TILE_K)
    ct.launch(torch.cuda.current_stream(), grid, attention_kernel, arguments)
    return out
