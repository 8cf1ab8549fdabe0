"""Arguments for TileGym's operators on heads and experts, of sizes that models have."""

from typing import Any

import torch

from tilegym_arguments import FP16, FP32, INT32, new


def heads(length: int = 1024, size: int = 128, *, grad: bool = False) -> tuple[Any, ...]:
    q = new(2, 32, length, size, grad=grad)
    return (q, new(2, 8, 1024, size, grad=grad), new(2, 8, 1024, size, grad=grad))


def attention() -> tuple[Any, ...]:
    return heads()


def attention_decode() -> tuple[Any, ...]:
    return (*heads(1), 0.088)


def gemma_attention() -> tuple[Any, ...]:
    return heads()


def gemma_decode() -> tuple[Any, ...]:
    return heads(1)


def attention_backward() -> tuple[Any, ...]:
    from tilegym.ops.cutile.attention import tile_fmha_with_backward

    return (tile_fmha_with_backward, heads(grad=True))


def attention_sink() -> tuple[Any, ...]:
    q, kv = new(2, 512, 8, 4, 64), (2, 512, 8, 64)
    return (q, new(*kv), new(*kv), new(32), 0.125, None, torch.zeros(1, dtype=INT32, device="cuda"))


def attention_sink_decode() -> tuple[Any, ...]:
    q, kv = new(2, 1, 8, 4, 64), (2, 512, 8, 64)
    return (q, new(*kv), new(*kv), new(32), 0.125, None, torch.zeros(1, dtype=INT32, device="cuda"))


def mla() -> tuple[Any, ...]:
    shape = (2, 16, 1024)
    return (new(*shape, 128), new(*shape, 128), new(*shape, 128), new(*shape, 64), new(2, 1, 1024, 64), True, None)


def mla_decoding() -> tuple[Any, ...]:
    return (new(2, 16, 512), new(2, 16, 64), new(2, 1024, 512), new(2, 1024, 64), None)


def splitk_reduce() -> tuple[Any, ...]:
    return (new(2, 32, 16, 128, dtype=FP32), new(2, 32, 16, dtype=FP32), new(2, 32, 128), 1024)


def fused_moe() -> tuple[Any, ...]:
    tokens, experts, top_k, n, k = 256, 8, 2, 512, 512
    padded = tokens * top_k + experts * 64
    ids = torch.zeros(tokens, top_k, dtype=INT32, device="cuda")
    config = {"TILE_SIZE_M": 64, "TILE_SIZE_N": 64, "TILE_SIZE_K": 64, "GROUP_SIZE_M": 8}
    return (
        new(tokens, k),
        new(experts, n, k),
        new(tokens, top_k, n),
        None,
        None,
        new(tokens, top_k, dtype=FP32),
        ids,
        torch.zeros(padded, dtype=INT32, device="cuda"),
        torch.zeros(padded // 64, dtype=INT32, device="cuda"),
        torch.zeros(1, dtype=INT32, device="cuda"),
        False,
        top_k,
        config,
        None,
        False,
    )


def moe_align() -> tuple[Any, ...]:
    return (torch.zeros(256, 2, dtype=INT32, device="cuda"), 64, 8)


def gated_delta_rule() -> tuple[Any, ...]:
    shape = (2, 256, 8)
    return (*(new(*shape, 128) for _ in range(3)), new(*shape, dtype=FP32), new(*shape))


def recurrent_delta_rule() -> tuple[Any, ...]:
    return gated_delta_rule()


def persistent_delta_rule() -> dict[str, Any]:
    names = ("query", "key", "value", "g", "beta")
    return {**dict(zip(names, gated_delta_rule(), strict=True)), "persistent": True}


def delta_rule_decode() -> tuple[Any, ...]:
    from tilegym.ops.cutile.recurrent_gated_delta_rule import recurrent_gated_delta_rule

    shape = (2, 1, 8)
    arguments = (*(new(*shape, 128) for _ in range(3)), new(*shape, dtype=FP32), new(*shape))
    return (recurrent_gated_delta_rule, arguments)


def window_attention() -> dict[str, Any]:
    names = ("q", "k", "v")
    return {name: new(1, 8, 1024, 128, dtype=FP16) for name in names} | {"window_size": 256}


def sparse_mla() -> tuple[Any, ...]:
    chosen = torch.zeros(1, 1024, 1, 512, dtype=INT32, device="cuda")
    q, k, v = new(1, 16, 1024, 128), new(1, 1, 1024, 128), new(1, 1, 1024, 128)
    return (q, k, v, chosen, new(1, 16, 1024, 64), new(1, 1, 1024, 64))
