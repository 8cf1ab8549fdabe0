"""Calls of TileGym's operators, with arguments made where they are captured; between them they launch every kernel."""

import os
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import torch

import tilegym_arguments as plain
import tilegym_arguments_heads as heads


def backward(operator: Callable[..., torch.Tensor], arguments: tuple[Any, ...]):
    result = operator(*arguments)
    result.backward(torch.ones_like(result))


def untuned(operator: Callable[..., object], arguments: tuple[Any, ...]):
    """A call as it is made where TileGym is told not to tune."""
    with patch.dict(os.environ, {"TILEGYM_DISABLE_AUTOTUNE": "1"}):
        operator(*arguments)


_OPS = "tilegym.ops.cutile"
# The operator as a path, and what makes its arguments.
CALLS: list[tuple[str, Callable[[], Any]]] = [
    (f"{_OPS}.softmax:softmax", plain.softmax),
    (f"{_OPS}.softmax:softmax", plain.softmax_chunked),
    (f"{_OPS}.softmax:softmax", plain.softmax_tma),
    (f"{_OPS}.softmax:softmax", plain.softmax_multi_wave),
    (f"{_OPS}.rms_norm:rms_norm", plain.rms_norm),
    (f"{_OPS}.rms_norm:rms_norm", plain.rms_norm_reload),
    (f"{_OPS}.rms_norm:rms_norm", plain.rms_norm_cached),
    (f"{__file__}:backward", plain.rms_norm_backward),
    (f"{_OPS}.layer_norm_legacy:persistent_layer_norm", plain.persistent_layer_norm),
    (f"{_OPS}.layer_norm_legacy:layer_norm_legacy", plain.layer_norm),
    (f"{_OPS}.silu_and_mul:silu_and_mul", plain.silu_and_mul),
    (f"{__file__}:backward", plain.gated_backward),
    (f"{_OPS}.swiglu:swiglu", plain.swiglu),
    (f"{__file__}:backward", plain.swiglu_backward),
    (f"{_OPS}.activation.geglu:geglu", plain.geglu),
    (f"{__file__}:backward", plain.geglu_backward),
    (f"{_OPS}.activation.gelu:gelu", plain.gelu),
    (f"{_OPS}.activation.relu:relu", plain.elementwise),
    (f"{_OPS}.rope:apply_rope_base", plain.rope),
    (f"{_OPS}.matmul:matmul", plain.matmul),
    (f"{_OPS}.matmul:matmul", plain.matmul_persistent),
    (f"{_OPS}.bmm:bmm", plain.bmm),
    (f"{_OPS}.bmm:bmm", plain.bmm_plain),
    (f"{_OPS}.group_gemm:group_gemm", plain.group_gemm),
    (f"{_OPS}.attention:tile_fmha", heads.attention),
    (f"{__file__}:backward", heads.attention_backward),
    (f"{_OPS}.flash_decode:fmha_decode", heads.attention_decode),
    (f"{_OPS}.gemma_attention:gemma_attention_cutile", heads.gemma_attention),
    (f"{_OPS}.gemma_attention_decode:gemma_fmha_decode", heads.gemma_decode),
    (f"{_OPS}.attention_sink:attention_sink", heads.attention_sink),
    (f"{_OPS}.attention_sink_decode:attention_sink_decode", heads.attention_sink_decode),
    (f"{_OPS}.mla:tile_mla", heads.mla),
    (f"{_OPS}.mla_decoding:mla_decoding", heads.mla_decoding),
    (f"{_OPS}.mla_decoding_split_kv:mla_decoding_split_kv", heads.mla_decoding),
    (f"{_OPS}.dropout:dropout", plain.dropout),
    (f"{_OPS}.splitk_reduce:splitk_reduce", heads.splitk_reduce),
    (f"{_OPS}.moe:invoke_fused_moe_kernel", heads.fused_moe),
    (f"{_OPS}.moe_align_block:moe_align_block_size", heads.moe_align),
    (f"{_OPS}.chunk_gated_delta_rule:chunk_gated_delta_rule", heads.gated_delta_rule),
    (f"{_OPS}.recurrent_gated_delta_rule:recurrent_gated_delta_rule", heads.recurrent_delta_rule),
    (f"{_OPS}.recurrent_gated_delta_rule:recurrent_gated_delta_rule", heads.persistent_delta_rule),
    (f"{__file__}:untuned", heads.delta_rule_decode),
    (f"{_OPS}.experimental.swa_attention:tile_swa_attention", heads.window_attention),
    (f"{_OPS}.experimental.fused_linear_cross_entropy:fused_linear_cross_entropy", plain.cross_entropy),
    (f"{_OPS}.experimental.nvfp4_quantize:tile_nvfp4_quantize", plain.nvfp4),
    (f"{_OPS}.experimental.sparse_mla:tile_sparse_mla", heads.sparse_mla),
    (f"{_OPS}.experimental.mhc:mhc_gemm_rms_scale", plain.mhc_gemm),
    (f"{_OPS}.experimental.mhc:mhc_apply_residual", plain.mhc_residual),
    (f"{_OPS}.experimental.mhc:mhc_sinkhorn", plain.mhc_sinkhorn),
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
    "persistent_delta_rule": 1,
    "mhc_gemm": 1,
    "sparse_mla": 1,
}
