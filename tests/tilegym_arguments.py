"""Arguments for TileGym's operators on rows, elements and products, of sizes that models have."""

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


def softmax_multi_wave() -> dict[str, Any]:
    return {"x": new(4096, 4096), "use_multi_wave": True}


def rms_norm() -> tuple[Any, ...]:
    return (new(4096, 4096), (4096,), new(4096), 1e-6)


def rms_norm_reload() -> tuple[Any, ...]:
    return (*rms_norm(), None, "multi_wave_reload")


def rms_norm_cached() -> tuple[Any, ...]:
    return (*rms_norm(), None, "multi_wave_cached")


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


def bmm_plain() -> dict[str, Any]:
    a, b = bmm()
    return {"a": a, "b": b, "static_persistent": False}


def group_gemm() -> tuple[Any, ...]:
    rows = (256, 512, 1024)
    return ([new(n, 512) for n in rows], [new(512, 256) for _ in rows])


def rms_norm_backward() -> tuple[Any, ...]:
    from tilegym.ops.cutile.rms_norm import rms_norm

    return (rms_norm, (new(4096, 4096, grad=True), (4096,), new(4096, grad=True), 1e-6))


def gated_backward() -> tuple[Any, ...]:
    from tilegym.ops.cutile.silu_and_mul import silu_and_mul

    return (silu_and_mul, (new(4096, 8192, grad=True),))


def swiglu_backward() -> tuple[Any, ...]:
    from tilegym.ops.cutile.swiglu import swiglu

    return (swiglu, (new(4096, 4096, grad=True), new(4096, 4096, grad=True)))


def geglu_backward() -> tuple[Any, ...]:
    from tilegym.ops.cutile.activation.geglu import geglu

    return (geglu, (new(1024, 4096, grad=True), -1, "tanh"))


def dropout() -> tuple[Any, ...]:
    return (new(1 << 20, dtype=FP32), 7)


def cross_entropy() -> tuple[Any, ...]:
    return (new(512, 1024), new(32000, 1024), torch.zeros(512, dtype=torch.int64, device="cuda"))


def nvfp4() -> tuple[Any, ...]:
    return (new(1024, 1024),)


def mhc_gemm() -> tuple[Any, ...]:
    return (new(1024, 4096), new(4096, 24, dtype=FP32), 4, 0.1, 0.2, 0.3, new(24, dtype=FP32))


def mhc_residual() -> tuple[Any, ...]:
    return (new(1024, 4 * 1024), new(1024, 1024), new(1024, 24, dtype=FP32), 4)


def mhc_sinkhorn() -> tuple[Any, ...]:
    return (new(1024, 24, dtype=FP32), 4)
