"""Calls of TileGym's operators, with arguments made where they are captured."""

from collections.abc import Callable
from typing import Any

import torch

BF16, FP16, FP32, INT32 = torch.bfloat16, torch.float16, torch.float32, torch.int32


def new(*shape: int, dtype: torch.dtype = BF16, grad: bool = False) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="cuda", requires_grad=grad)


def softmax() -> tuple[Any, ...]:
    return (new(4096, 4096),)


def softmax_chunked() -> dict[str, Any]:
    return {"x": new(512, 65536), "use_chunked": True}


def softmax_tma() -> dict[str, Any]:
    return {"x": new(512, 4096), "use_tma": True}


def rms_norm() -> tuple[Any, ...]:
    return (new(4096, 4096), (4096,), new(4096), 1e-6)


def layer_norm() -> tuple[Any, ...]:
    return (new(4096, 1024), (1024,), new(1024), new(1024), 1e-5)


def persistent_layer_norm() -> tuple[Any, ...]:
    return layer_norm()


def silu_and_mul() -> tuple[Any, ...]:
    return (new(4096, 2 * 4096),)


def swiglu() -> tuple[Any, ...]:
    return (new(4096, 4096), new(4096, 4096))


def geglu() -> dict[str, Any]:
    return {"input": new(1024, 4096)}


def elementwise() -> tuple[Any, ...]:
    return (new(4096, 1000),)


def gelu() -> dict[str, Any]:
    return {"input": new(4096, 1000)}


def rope() -> tuple[Any, ...]:
    return (new(2, 32, 1024, 128), new(2, 8, 1024, 128), new(1, 1024, 128), new(1, 1024, 128))


def matmul() -> tuple[Any, ...]:
    return (new(4096, 4096), new(4096, 4096))


def matmul_persistent() -> dict[str, Any]:
    return {"a": new(4096, 2048), "b": new(4096, 2048), "trans_b": True, "static_persistent": True}


def bmm() -> tuple[Any, ...]:
    return (new(8, 1024, 512, dtype=FP16), new(8, 512, 1024, dtype=FP16))


def group_gemm() -> tuple[Any, ...]:
    rows = (256, 512, 1024)
    return ([new(n, 512) for n in rows], [new(512, 256) for _ in rows])


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


def rms_norm_backward() -> tuple[Any, ...]:
    from tilegym.ops.cutile.rms_norm import rms_norm

    return (rms_norm, (new(4096, 4096, grad=True), (4096,), new(4096, grad=True), 1e-6))


def backward(operator: Callable[..., torch.Tensor], arguments: tuple[Any, ...]) -> None:
    operator(*arguments).sum().backward()


def attention_sink() -> tuple[Any, ...]:
    q, kv = new(2, 512, 8, 4, 64), (2, 512, 8, 64)
    return (q, new(*kv), new(*kv), new(32), 0.125, None, torch.zeros(1, dtype=INT32, device="cuda"))


def attention_sink_decode() -> tuple[Any, ...]:
    q, kv = new(2, 1, 8, 4, 64), (2, 512, 8, 64)
    return (q, new(*kv), new(*kv), new(32), 0.125, None, torch.zeros(1, dtype=INT32, device="cuda"))


def mla() -> tuple[Any, ...]:
    shape = (2, 16, 1024)
    return (
        new(*shape, 128),
        new(*shape, 128),
        new(*shape, 128),
        new(*shape, 64),
        new(2, 1, 1024, 64),
        True,
        None,
    )


def mla_decoding() -> tuple[Any, ...]:
    return (new(2, 16, 512), new(2, 16, 64), new(2, 1024, 512), new(2, 1024, 64), None)


def dropout() -> tuple[Any, ...]:
    return (new(1 << 20, dtype=FP32), 7)


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


def window_attention() -> dict[str, Any]:
    names = ("q", "k", "v")
    return {name: new(1, 8, 1024, 128, dtype=FP16) for name in names} | {"window_size": 256}


def cross_entropy() -> tuple[Any, ...]:
    return (new(512, 1024), new(32000, 1024), torch.zeros(512, dtype=torch.int64, device="cuda"))


def nvfp4() -> tuple[Any, ...]:
    return (new(1024, 1024),)


_OPS = "tilegym.ops.cutile"
# The operator as a path, and what makes its arguments.
CALLS: list[tuple[str, Callable[[], Any]]] = [
    (f"{_OPS}.softmax:softmax", softmax),
    (f"{_OPS}.softmax:softmax", softmax_chunked),
    (f"{_OPS}.softmax:softmax", softmax_tma),
    (f"{_OPS}.rms_norm:rms_norm", rms_norm),
    (f"{__file__}:backward", rms_norm_backward),
    (f"{_OPS}.layer_norm_legacy:persistent_layer_norm", persistent_layer_norm),
    (f"{_OPS}.layer_norm_legacy:layer_norm_legacy", layer_norm),
    (f"{_OPS}.silu_and_mul:silu_and_mul", silu_and_mul),
    (f"{_OPS}.swiglu:swiglu", swiglu),
    (f"{_OPS}.activation.geglu:geglu", geglu),
    (f"{_OPS}.activation.gelu:gelu", gelu),
    (f"{_OPS}.activation.relu:relu", elementwise),
    (f"{_OPS}.rope:apply_rope_base", rope),
    (f"{_OPS}.matmul:matmul", matmul),
    (f"{_OPS}.matmul:matmul", matmul_persistent),
    (f"{_OPS}.bmm:bmm", bmm),
    (f"{_OPS}.group_gemm:group_gemm", group_gemm),
    (f"{_OPS}.attention:tile_fmha", attention),
    (f"{__file__}:backward", attention_backward),
    (f"{_OPS}.flash_decode:fmha_decode", attention_decode),
    (f"{_OPS}.gemma_attention:gemma_attention_cutile", gemma_attention),
    (f"{_OPS}.gemma_attention_decode:gemma_fmha_decode", gemma_decode),
    (f"{_OPS}.attention_sink:attention_sink", attention_sink),
    (f"{_OPS}.attention_sink_decode:attention_sink_decode", attention_sink_decode),
    (f"{_OPS}.mla:tile_mla", mla),
    (f"{_OPS}.mla_decoding:mla_decoding", mla_decoding),
    (f"{_OPS}.mla_decoding_split_kv:mla_decoding_split_kv", mla_decoding),
    (f"{_OPS}.dropout:dropout", dropout),
    (f"{_OPS}.splitk_reduce:splitk_reduce", splitk_reduce),
    (f"{_OPS}.moe:invoke_fused_moe_kernel", fused_moe),
    (f"{_OPS}.moe_align_block:moe_align_block_size", moe_align),
    (f"{_OPS}.chunk_gated_delta_rule:chunk_gated_delta_rule", gated_delta_rule),
    (f"{_OPS}.recurrent_gated_delta_rule:recurrent_gated_delta_rule", recurrent_delta_rule),
    (f"{_OPS}.experimental.swa_attention:tile_swa_attention", window_attention),
    (f"{_OPS}.experimental.fused_linear_cross_entropy:fused_linear_cross_entropy", cross_entropy),
    (f"{_OPS}.experimental.nvfp4_quantize:tile_nvfp4_quantize", nvfp4),
]
# How many launches of a call take their configuration from a search, by its arguments' name.
TUNED = {
    "persistent_layer_norm": 1,
    "rope": 1,
    "matmul": 1,
    "matmul_persistent": 1,
    "bmm": 1,
    "group_gemm": 1,
    "attention": 1,
    "attention_backward": 2,
    "attention_sink": 1,
    "mla": 1,
    "recurrent_delta_rule": 1,
}
