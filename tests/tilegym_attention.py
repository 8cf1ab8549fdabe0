"""Attention and mixture-of-experts operators of TileGym, with what PyTorch gives for them in double precision."""

import math

import torch

from tilegym_references import BF16, FP16, FP32, TF32_EPSILON, Check, values


def weighted(scores, mask, v, sinks=None):
    """softmax(scores) @ v, where `mask` is true; `sinks` are extra scores (heads, 1, 1) without a value."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks.expand(*scores.shape[:-1], 1)], -1)
    return torch.softmax(scores, -1)[..., : v.shape[-2]] @ v


def heads_of(shape, dtype):
    """`shape` is (batch, query heads, key heads, queries, keys, size)."""
    batch, heads, kv_heads, queries, keys, size = shape
    q = values(batch, heads, queries, size, dtype=dtype)
    return (q, values(batch, kv_heads, keys, size, dtype=dtype), values(batch, kv_heads, keys, size, dtype=dtype))


def repeated(x, heads):
    return x.double().repeat_interleave(heads // x.shape[1], 1)


def scores_of(q, k, scale):
    return q.double() @ repeated(k, q.shape[1]).mT * scale


def positions(queries, keys):
    """How far each query is after each key; the last query is at the last key."""
    return (torch.arange(queries)[:, None] + keys - queries) - torch.arange(keys)


def attention(shape, dtype, *, causal=True, **more):
    q, k, v = heads_of(shape, dtype)
    mask = positions(shape[3], shape[4]) >= 0 if causal else None
    expected = weighted(scores_of(q, k, shape[5] ** -0.5), mask, repeated(v, shape[1]))
    return Check("attention:tile_fmha", (q, k, v), expected, {"is_causal": causal}, units=2, **more)


def attention_decode(shape, dtype, *, faults=frozenset(), **options):
    q, k, v = heads_of(shape, dtype)
    expected = weighted(scores_of(q, k, 0.1), None, repeated(v, shape[1]))
    return Check("flash_decode:fmha_decode", (q, k, v, 0.1), expected, options, units=2, faults=faults)


def gemma(shape, dtype, *, window=0, cap=None, **more):
    """Prefill, or decoding where there is one query."""
    q, k, v = heads_of(shape, dtype)
    scores, after = scores_of(q, k, shape[5] ** -0.5), positions(shape[3], shape[4])
    scores = scores if cap is None else torch.tanh(scores / cap) * cap
    mask = after >= 0
    mask = mask & (after <= window) if window else mask
    decode = shape[3] == 1
    operator = "gemma_attention_decode:gemma_fmha_decode" if decode else "gemma_attention:gemma_attention_cutile"
    options = {"window_size": window, "soft_cap": cap}
    return Check(operator, (q, k, v), weighted(scores, mask, repeated(v, shape[1])), options, units=2, **more)


def sink_attention(shape, dtype, *, window=None, **more):
    """Arguments are (batch, length, heads, size); decoding where there is one query.

    Decoding rounds the sum of each split to `dtype`, hence the tolerance.
    """
    batch, heads, kv_heads, queries, keys, size = shape
    q, k, v = heads_of(shape, dtype)
    sinks, after = values(heads, dtype=dtype), positions(queries, keys)
    mask = (after >= 0) & (after < (window or keys))
    result = weighted(scores_of(q, k, 0.125), mask, repeated(v, heads), sinks.double()[:, None, None])
    query = q.transpose(1, 2).reshape(batch, queries, kv_heads, heads // kv_heads, size)
    name = "attention_sink_decode" if queries == 1 else "attention_sink"
    start = torch.tensor([keys - queries], dtype=torch.int32)
    arguments = (query, k.transpose(1, 2).contiguous(), v.transpose(1, 2).contiguous(), sinks)
    expected = result.transpose(1, 2).reshape(batch, queries, heads * size)
    return Check(f"{name}:{name}", (*arguments, 0.125, window, start), expected, units=2 if queries > 1 else 4, **more)


def window_attention(shape, dtype, window):
    q, k, v = heads_of(shape, dtype)
    after = positions(shape[3], shape[4])
    mask = (after >= 0) & (after < window)
    expected = weighted(scores_of(q, k, shape[5] ** -0.5), mask, repeated(v, shape[1]))
    return Check("experimental.swa_attention:tile_swa_attention", (q, k, v, window), expected, units=2)


def mla(shape, dtype, extra, **more):
    """Each head has `extra` more elements of query and key; these keys are one for all heads."""
    q, k, v = heads_of(shape, dtype)
    batch, heads, _, queries, keys, size = shape
    qpe, kpe = values(batch, heads, queries, extra, dtype=dtype), values(batch, 1, keys, extra, dtype=dtype)
    scale = (size + extra) ** -0.5
    scores = scores_of(q, k, scale) + scores_of(qpe, kpe, scale)
    expected = weighted(scores, positions(queries, keys) >= 0, repeated(v, heads))
    return Check("mla:tile_mla", (q, k, v, qpe, kpe, True, None), expected, units=2, **more)


def mla_decoding(shape, dtype, *, split, **more):
    """`shape` is (batch, heads, keys, size, extra)."""
    batch, heads, keys, size, extra = shape
    q, qpe = values(batch, heads, size, dtype=dtype), values(batch, heads, extra, dtype=dtype)
    kv, kpe = values(batch, keys, size, dtype=dtype), values(batch, keys, extra, dtype=dtype)
    scores = (q.double() @ kv.double().mT + qpe.double() @ kpe.double().mT) * (size + extra) ** -0.5
    expected = weighted(scores, None, kv.double())
    if split:
        return Check("mla_decoding_split_kv:mla_decoding_split_kv", (q, qpe, kv, kpe), expected, units=2, **more)
    sums = torch.logsumexp(scores, -1) / math.log(2)
    return Check("mla_decoding:mla_decoding", (q, qpe, kv, kpe, None), (expected, sums), units=2, **more)


def sparse_mla(shape, dtype, chosen):
    """Each query looks at `chosen` keys of its own, of which those after it do not count."""
    batch, heads, kv_heads, queries, keys, size = shape
    q, k, v = heads_of(shape, dtype)
    qpe, kpe = values(batch, heads, queries, 16, dtype=dtype), values(batch, 1, keys, 16, dtype=dtype)
    ranks = torch.rand(batch, queries, kv_heads, keys)
    ranks[..., 0] = -1.0  # so that no query is left without a key
    indices = ranks.argsort(-1)[..., :chosen].int()
    mask = torch.zeros(batch, queries, kv_heads, keys, dtype=torch.bool).scatter_(-1, indices.long(), True)
    mask = mask.transpose(1, 2).repeat_interleave(heads // kv_heads, 1)
    scale = (size + 16) ** -0.5
    scores = scores_of(q, k, scale) + scores_of(qpe, kpe, scale)
    expected = weighted(scores, mask & (torch.arange(keys) <= torch.arange(queries)[:, None]), repeated(v, heads))
    return Check("experimental.sparse_mla:tile_sparse_mla", (q, k, v, indices, qpe, kpe), expected, units=2)


def delta_rule(shape, dtype, *, chunked, tuned=True, **options):
    """`shape` is (batch, length, heads, size, size of a value)."""
    batch, length, heads, size, width = shape
    q, k = (torch.nn.functional.normalize(values(batch, length, heads, size), dim=-1) for _ in range(2))
    v, beta = values(batch, length, heads, width), torch.rand(batch, length, heads)
    q, k, v, beta = (x.to(dtype) for x in (q, k, v, beta))
    decay = -torch.rand(batch, length, heads)
    state = torch.zeros(batch, heads, size, width, dtype=torch.float64)
    outputs = []
    for t in range(length):
        query, key, value = (x[:, t].double() for x in (q, k, v))
        state = state * decay[:, t].double().exp()[..., None, None]
        change = (value - (state * key[..., None]).sum(-2)) * beta[:, t].double()[..., None]
        state = state + key[..., None] * change[..., None, :]
        outputs.append((state * query[..., None]).sum(-2) * size**-0.5)
    name = "chunk_gated_delta_rule" if chunked else "recurrent_gated_delta_rule"
    expected = (torch.stack(outputs, 1), state)
    epsilon = torch.finfo(BF16 if dtype == FP16 else dtype).eps
    epsilon = TF32_EPSILON if chunked and dtype == FP32 else epsilon
    options = {"output_final_state": True} | options
    arguments = (q, k, v, decay, beta)
    return Check(f"{name}:{name}", arguments, expected, options, units=2, epsilon=epsilon, tuned=tuned)


def moe_align(shape, experts, block):
    """`shape` is (tokens, choices). The experts of the blocks are not compared."""
    chosen = torch.rand(shape[0], experts).argsort(-1)[:, : shape[1]].int().contiguous()
    counts = torch.bincount(chosen.flatten(), minlength=experts)
    sums = torch.cat([torch.zeros(1, dtype=torch.int64), (-(-counts // block) * block).cumsum(0)])
    ids = torch.full((chosen.numel() + experts * (block - 1),), chosen.numel())
    for expert, start in enumerate(sums[:-1].tolist()):
        own = torch.nonzero(chosen.flatten() == expert).flatten()
        ids[start : start + own.numel()] = own
    expected = (ids, None, sums[-1:], sums, counts.max()[None])
    return Check("moe_align_block:moe_align_block_size", (chosen, block, experts), expected, epsilon=0.0)


def fused_moe(shape, dtype, **more):
    """`shape` is (tokens, experts, choices, width, depth). The result is the third argument."""
    tokens, experts, choices, n, k = shape
    x, weights = values(tokens, k, dtype=dtype), values(experts, n, k, dtype=dtype)
    align = moe_align((tokens, choices), experts, 16)
    chosen, (ids, _, padded, sums, _) = align.arguments[0], align.expected
    owners = torch.zeros(-(-ids.numel() // 16), dtype=torch.int32)
    for expert in range(experts):
        owners[sums[expert] // 16 : sums[expert + 1] // 16] = expert
    routed = torch.rand(tokens, choices)
    result = torch.full((tokens, choices, n), math.nan, dtype=dtype)
    product = (x.double()[:, None, None] @ weights.double().mT[chosen.long()])[:, :, 0]
    config = {"TILE_SIZE_M": 16, "TILE_SIZE_N": 32, "TILE_SIZE_K": 32, "GROUP_SIZE_M": 8}
    arguments = (x, weights, result, None, None, routed, chosen, ids.int(), owners, padded.int())
    expected = product * routed.double()[..., None]
    return Check("moe:invoke_fused_moe_kernel", (*arguments, True, choices, config, None, False), expected, **more)
