"""In a child process on the GPU: the versions of one kernel, and the library's own, timed in turn."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.nn import functional

from kdiag.executors import device_jobs
from kdiag.executors.bench import Source
from kdiag.executors.correctness.judging import label
from kdiag.executors.device_timing import Budget, Flush, copy_gbs, interleaved, matrix_tflops
from kdiag.workload import Workload

Inputs = dict[str, Any]
# What PyTorch has as one call, cuBLAS behind the products; nothing for what it would do in several kernels.
LIBRARY: dict[str, Callable[[Inputs], object]] = {
    "softmax": lambda i: torch.softmax(i["x"], 1),
    "rms_norm": lambda i: functional.rms_norm(i["x"], i["x"].shape[1:], i["weight"], 1e-6),
    "rms_norm_persistent": lambda i: functional.rms_norm(i["x"], i["x"].shape[1:], i["weight"], 1e-6),
    "layer_norm": lambda i: functional.layer_norm(i["x"], i["x"].shape[1:], i["weight"], i["bias"], 1e-5),
    "matmul_bf16": lambda i: i["a"] @ i["b"],
    "matmul_fp32": lambda i: i["a"] @ i["b"],
    "swizzled_matmul": lambda i: i["a"] @ i["b"],
    "batched_matmul": lambda i: torch.bmm(i["a"], i["b"]),
    "vector_add": lambda i: i["a"] + i["b"],
    "many_copies": lambda i: torch._foreach_mul(list(i.values()), 0.5),
    "attention": lambda i: functional.scaled_dot_product_attention(i["q"], i["k"], i["v"]),
    "transpose": lambda i: i["x"].T.contiguous(),
}


@dataclass(frozen=True)
class BesideRequest:
    """The versions to time beside each other, and the name by which LIBRARY may know the kernel."""

    workload: Workload
    name: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Beside:
    """One configuration: median ms of each version, with half the interquartile range as a share of it, and of the
    library, and of a copy that reads and writes as many bytes as the kernel has to; bytes and operations, and the copy
    bandwidth (GB/s) and matrix rate (TFLOP/s) in the same process.
    """

    configuration: str
    ms: tuple[float, ...]
    spread: tuple[float, ...]
    library_ms: float | None
    copy_ms: float
    moved: float
    operations: float
    copy_gbs: float
    matrix_tflops: float | None


def beside(request: BesideRequest) -> tuple[Beside, ...]:
    """Time them interleaved, with cold L2, at least 15 and at most 100 rounds."""
    workload, modules = device_jobs.versions(request.workload, request.sources)
    library, flush, rows = LIBRARY.get(request.name), Flush(), []
    torch.backends.cuda.matmul.allow_tf32 = True
    copy = copy_gbs(flush)
    for config in workload.configs():
        arms: list[Callable[[], object]] = [*device_jobs.arms(workload, modules, config)]
        inputs = workload.make_inputs(config, "cuda", 1)
        arms += [partial(library, inputs)] if library else []
        moved = workload.bytes_moved(config)
        read, written = torch.ones((2, max(1, moved // 8)), device="cuda")
        arms.append(partial(written.copy_, read))
        times = interleaved(arms, Budget(seconds=2.0), flush)
        ms = [statistics.median(each) for each in times]
        quarters = [statistics.quantiles(each, n=4) for each in times]
        count = len(modules)
        rows.append(
            Beside(
                label(config),
                tuple(ms[:count]),
                tuple((high - low) / 2 / middle for low, middle, high in quarters[:count]),
                ms[count] if library else None,
                ms[-1],
                float(moved),
                float(workload.flops(config)),
                copy,
                matrix_tflops(dtype, flush) if (dtype := device_jobs.matrix_dtype(workload, config)) else None,
            )
        )
    return tuple(rows)
