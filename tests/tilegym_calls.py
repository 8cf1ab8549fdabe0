"""Calls of TileGym's operators, of sizes that models have, made where they are captured; between them they launch every kernel."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any
from unittest.mock import patch

import torch

BF16, FP16, FP32, INT32 = torch.bfloat16, torch.float16, torch.float32, torch.int32


@dataclass(frozen=True)
class Call:
    """A call of an operator, with what makes its arguments. `tuned` launches of it take their configuration from a search."""

    name: str
    operator: str
    make: Callable[[], Any]
    tuned: int = 0

    @property
    def function(self):
        """The operator as a path; a function of this file is one as well."""
        own = self.operator in ("backward", "untuned")
        return f"{__file__}:{self.operator}" if own else f"tilegym.ops.cutile.{self.operator}"

    @property
    def arguments(self):
        """What makes the arguments, in a form that can be sent to a child."""
        return partial(arguments_of, self.name)


def arguments_of(name):
    return next(call.make() for call in CALLS if call.name == name)


def operator_at(path):
    module, _, name = path.partition(":")
    return getattr(import_module(f"tilegym.ops.cutile.{module}"), name)


def backward(path, *arguments):
    result = operator_at(path)(*arguments)
    result.backward(torch.ones_like(result))


def untuned(path, *arguments):
    """A call as it is made where TileGym is told not to tune."""
    with patch.dict(os.environ, {"TILEGYM_DISABLE_AUTOTUNE": "1"}):
        operator_at(path)(*arguments)


def new(*shape, dtype=BF16, grad=False):
    return torch.empty(shape, dtype=dtype, device="cuda", requires_grad=grad)


def zeros(*shape, dtype=INT32):
    return torch.zeros(shape, dtype=dtype, device="cuda")


def rms_norm(*, grad=False):
    return (new(4096, 4096, grad=grad), (4096,), new(4096, grad=grad), 1e-6)


def layer_norm():
    return (new(4096, 1024), (1024,), new(1024), new(1024), 1e-5)


def pair(*, grad=False):
    return (new(4096, 4096, grad=grad), new(4096, 4096, grad=grad))


def bmm():
    return (new(8, 1024, 512, dtype=FP16), new(8, 512, 1024, dtype=FP16))


def group_gemm():
    rows = (256, 512, 1024)
    return ([new(n, 512) for n in rows], [new(512, 256) for _ in rows])


def heads(length=1024, *, grad=False):
    return (new(2, 32, length, 128, grad=grad), *(new(2, 8, 1024, 128, grad=grad) for _ in range(2)))


def attention_sink(length):
    kv = (2, 512, 8, 64)
    return (new(2, length, 8, 4, 64), new(*kv), new(*kv), new(32), 0.125, None, zeros(1))


def mla():
    shape = (2, 16, 1024)
    return (*(new(*shape, 128) for _ in range(3)), new(*shape, 64), new(2, 1, 1024, 64), True, None)


def mla_decoding():
    return (new(2, 16, 512), new(2, 16, 64), new(2, 1024, 512), new(2, 1024, 64), None)


def fused_moe():
    tokens, experts, top_k, n, k = 256, 8, 2, 512, 512
    padded = tokens * top_k + experts * 64
    tensors = (new(tokens, k), new(experts, n, k), new(tokens, top_k, n), None, None, new(tokens, top_k, dtype=FP32))
    routing = (zeros(tokens, top_k), zeros(padded), zeros(padded // 64), zeros(1))
    config = {"TILE_SIZE_M": 64, "TILE_SIZE_N": 64, "TILE_SIZE_K": 64, "GROUP_SIZE_M": 8}
    return (*tensors, *routing, False, top_k, config, None, False)


def delta_rule(length=256):
    shape = (2, length, 8)
    return (*(new(*shape, 128) for _ in range(3)), new(*shape, dtype=FP32), new(*shape))


def persistent_delta_rule():
    return dict(zip(("query", "key", "value", "g", "beta"), delta_rule(), strict=True)) | {"persistent": True}


def window_attention():
    return {name: new(1, 8, 1024, 128, dtype=FP16) for name in "qkv"} | {"window_size": 256}


def sparse_mla():
    q, k, v = new(1, 16, 1024, 128), new(1, 1, 1024, 128), new(1, 1, 1024, 128)
    return (q, k, v, zeros(1, 1024, 1, 512), new(1, 16, 1024, 64), new(1, 1, 1024, 64))


SOFTMAX, RMS_NORM, SWIGLU, GEGLU = "softmax:softmax", "rms_norm:rms_norm", "swiglu:swiglu", "activation.geglu:geglu"
SILU, RECURRENT = "silu_and_mul:silu_and_mul", "recurrent_gated_delta_rule:recurrent_gated_delta_rule"
CALLS = (
    Call("softmax", SOFTMAX, lambda: (new(4096, 4096),)),
    Call("softmax_chunked", SOFTMAX, lambda: {"x": new(512, 65536), "use_chunked": True}),
    Call("softmax_tma", SOFTMAX, lambda: {"x": new(512, 4096), "use_tma": True}),
    Call("softmax_multi_wave", SOFTMAX, lambda: {"x": new(4096, 4096), "use_multi_wave": True}),
    Call("rms_norm", RMS_NORM, rms_norm),
    Call("rms_norm_reload", RMS_NORM, lambda: (*rms_norm(), None, "multi_wave_reload")),
    Call("rms_norm_cached", RMS_NORM, lambda: (*rms_norm(), None, "multi_wave_cached")),
    Call("rms_norm_backward", "backward", lambda: (RMS_NORM, *rms_norm(grad=True))),
    Call("persistent_layer_norm", "layer_norm_legacy:persistent_layer_norm", layer_norm, 1),
    Call("layer_norm", "layer_norm_legacy:layer_norm_legacy", layer_norm),
    Call("silu_and_mul", SILU, lambda: (new(4096, 8192),)),
    Call("gated_backward", "backward", lambda: (SILU, new(4096, 8192, grad=True))),
    Call("swiglu", SWIGLU, pair),
    Call("swiglu_backward", "backward", lambda: (SWIGLU, *pair(grad=True))),
    Call("geglu", GEGLU, lambda: {"input": new(1024, 4096)}),
    Call("geglu_backward", "backward", lambda: (GEGLU, new(1024, 4096, grad=True), -1, "tanh")),
    Call("gelu", "activation.gelu:gelu", lambda: {"input": new(4096, 1000)}),
    Call("elementwise", "activation.relu:relu", lambda: (new(4096, 1000),)),
    Call("rope", "rope:apply_rope_base", lambda: (new(2, 32, 1024, 128), new(2, 8, 1024, 128), *(new(1, 1024, 128) for _ in "cs")), 1),
    Call("matmul", "matmul:matmul", pair, 1),
    Call("matmul_persistent", "matmul:matmul", lambda: {"a": new(4096, 2048), "b": new(4096, 2048), "trans_b": True, "static_persistent": True}, 1),
    Call("bmm", "bmm:bmm", bmm, 1),
    Call("bmm_plain", "bmm:bmm", lambda: dict(zip("ab", bmm(), strict=True)) | {"static_persistent": False}),
    Call("group_gemm", "group_gemm:group_gemm", group_gemm, 1),
    Call("attention", "attention:tile_fmha", heads, 1),
    Call("attention_backward", "backward", lambda: ("attention:tile_fmha_with_backward", *heads(grad=True)), 2),
    Call("attention_decode", "flash_decode:fmha_decode", lambda: (*heads(1), 0.088)),
    Call("gemma_attention", "gemma_attention:gemma_attention_cutile", heads),
    Call("gemma_decode", "gemma_attention_decode:gemma_fmha_decode", lambda: heads(1)),
    Call("attention_sink", "attention_sink:attention_sink", lambda: attention_sink(512), 1),
    Call("attention_sink_decode", "attention_sink_decode:attention_sink_decode", lambda: attention_sink(1)),
    Call("mla", "mla:tile_mla", mla, 1),
    Call("mla_decoding", "mla_decoding:mla_decoding", mla_decoding),
    Call("mla_decoding_split_kv", "mla_decoding_split_kv:mla_decoding_split_kv", mla_decoding),
    Call("dropout", "dropout:dropout", lambda: (new(1 << 20, dtype=FP32), 7)),
    Call("splitk_reduce", "splitk_reduce:splitk_reduce",
         lambda: (new(2, 32, 16, 128, dtype=FP32), new(2, 32, 16, dtype=FP32), new(2, 32, 128), 1024)),
    Call("fused_moe", "moe:invoke_fused_moe_kernel", fused_moe),
    Call("moe_align", "moe_align_block:moe_align_block_size", lambda: (zeros(256, 2), 64, 8)),
    Call("gated_delta_rule", "chunk_gated_delta_rule:chunk_gated_delta_rule", delta_rule),
    Call("recurrent_delta_rule", RECURRENT, delta_rule, 1),
    Call("persistent_delta_rule", RECURRENT, persistent_delta_rule, 1),
    Call("delta_rule_decode", "untuned", lambda: (RECURRENT, *delta_rule(1))),
    Call("window_attention", "experimental.swa_attention:tile_swa_attention", window_attention),
    Call("cross_entropy", "experimental.fused_linear_cross_entropy:fused_linear_cross_entropy",
         lambda: (new(512, 1024), new(32000, 1024), zeros(512, dtype=torch.int64))),
    Call("nvfp4", "experimental.nvfp4_quantize:tile_nvfp4_quantize", lambda: (new(1024, 1024),)),
    Call("sparse_mla", "experimental.sparse_mla:tile_sparse_mla", sparse_mla, 1),
    Call("mhc_gemm", "experimental.mhc:mhc_gemm_rms_scale",
         lambda: (new(1024, 4096), new(4096, 24, dtype=FP32), 4, 0.1, 0.2, 0.3, new(24, dtype=FP32)), 1),
    Call("mhc_residual", "experimental.mhc:mhc_apply_residual",
         lambda: (new(1024, 4 * 1024), new(1024, 1024), new(1024, 24, dtype=FP32), 4)),
    Call("mhc_sinkhorn", "experimental.mhc:mhc_sinkhorn", lambda: (new(1024, 24, dtype=FP32), 4)),
)  # fmt: skip
