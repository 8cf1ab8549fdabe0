"""What is launched: each fault with its right answers, and the launch with the fault and without.

The answers were fixed before any rule was tuned, and hold where removing the fault alone makes the launch faster
(`record.py` measures that).
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import cuda.tile as ct
import cuda_kernels
import tile_kernels as tk
import torch

Launch = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """`bottlenecks` and `causes` are the right answers; `work_bytes` what the launch must move at least."""

    name: str
    bottlenecks: tuple[str, ...]
    causes: tuple[str, ...]
    slow: Launch
    fast: Launch
    intervention: str
    work_bytes: float | None = None
    work_flops: float | None = None


def tiles(grid: tuple[int, ...], kernel: object, *arguments: object) -> Launch:
    full = (*grid, 1, 1)[:3]
    return lambda: ct.launch(torch.cuda.current_stream(), full, kernel, arguments)


def pair(kernels: ModuleType, fault: str, grid: tuple[int, ...], *arguments: object) -> tuple[Launch, Launch]:
    """The launches of a kernel with its fault and without, on the same grid and arguments."""
    slow, fast = (tiles(grid, getattr(kernels, f"{fault}_{variant}"), *arguments) for variant in ("slow", "fast"))
    return slow, fast


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(shape, device="cuda", dtype=torch.float32).to(dtype)


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, device="cuda", dtype=dtype)


def tile_cases() -> list[Case]:
    """The cases written in cuTile. Needs a GPU for the tensors (or a stand-in for one)."""
    return [*_memory(), *_arithmetic(), *_products(), *_distribution()]


def _memory() -> list[Case]:
    n = 8192
    x, y = random(n, n), empty(n, n)
    table, points, best = random(1, 1 << 20), random(4224, 1), empty(4224, 1)
    long, result = random(528, 1 << 20), empty(528, 1 << 20)
    return [
        Case("uncoalesced", ("memory", "latency"), ("uncoalesced",),
             tiles((n // 1024, n), tk.uncoalesced_slow, x, y, 1024), tiles((n // 64, n // 64), tk.uncoalesced_fast, x, y, 64),
             "square tiles, transposed in the block", 8.0 * n * n),
        Case("l2_resident", ("memory", "latency"), ("l2-bandwidth", "tile-too-small"),
             tiles((4224,), tk.l2_resident_slow, table, points, best, 1, 1024), tiles((1056,), tk.l2_resident_fast, table, points, best, 4, 1024),
             "four points a block, so that the table is read a fourth as often", 4.0 * (1 << 20), 3.0 * 4224 * (1 << 20)),
        Case("three_passes", ("memory",), ("excess-traffic",),
             *pair(tk, "three_passes", (528,), long, result, 4096, 1 << 20),
             "mean and variance in one pass", 8.0 * 528 * (1 << 20)),
    ]  # fmt: skip


def _arithmetic() -> list[Case]:
    n, tile = 1 << 24, 1024
    blocks = (n // tile,)
    doubles, singles = random(n, dtype=torch.float64), random(n)
    out64, out32 = empty(n, dtype=torch.float64), empty(n)
    integers = torch.randint(0, 1 << 20, (n,), device="cuda", dtype=torch.int32)
    outi = torch.empty_like(integers)
    return [
        Case("fp64", ("compute",), ("fp64-pipe",),
             tiles(blocks, tk.fp64_slow, doubles, out64, tile, 256), tiles(blocks, tk.fp64_fast, singles, out32, tile, 256),
             "float32", 16.0 * n, 512.0 * n),
        Case("spills", ("memory", "latency", "compute"), ("register-spills",),
             tiles((n // 32768,), tk.spills_slow, singles, out32, 32768, 64), tiles((n // 2048,), tk.spills_fast, singles, out32, 2048, 64),
             "tiles of 2048 elements", 8.0 * n, 128.0 * n),
        Case("exponentials", ("compute",), ("special-functions-and-division", "instruction-issue"),
             *pair(tk, "exponentials", blocks, singles, out32, tile, 16),
             "approximate tanh", 8.0 * n),
        Case("divisions", ("compute",), ("special-functions-and-division", "instruction-issue"),
             *pair(tk, "divisions", blocks, singles, out32, tile, 16),
             "approximate division", 8.0 * n),
        Case("remainders", ("compute",), ("instruction-issue",),
             *pair(tk, "remainders", blocks, integers, outi, 65536, tile, 16),
             "a mask for the remainder by a power of two", 8.0 * n),
    ]  # fmt: skip


def _products() -> list[Case]:
    half = torch.bfloat16
    k = 4096
    a, b = random(128 * 19, k, dtype=half), random(k, 256 * 11, dtype=half)
    c = empty(128 * 19, 256 * 11, dtype=half)
    odd, padded = random(4096, 4100, dtype=half)[:, :4096], random(4096, 4104, dtype=half)[:, :4096]
    square, product = random(4096, 4096, dtype=half), empty(4096, 4096, dtype=half)
    batches, thin, out = (
        random(1024, 40, 2048, dtype=half),
        random(2048, 256, dtype=half),
        empty(1024, 40, 256, dtype=half),
    )
    return [
        Case("tail", ("scheduling",), ("tail-effect",),
             tiles((19, 7), tk.tail_slow, a, b[:, : 256 * 7], c[:, : 256 * 7], 128, 256, 64),
             tiles((12, 11), tk.tail_fast, a[: 128 * 12], b, c[: 128 * 12], 128, 256, 64),
             "132 blocks of the same size in place of 133", None, 2.0 * 128 * 19 * 256 * 7 * k),
        Case("odd_stride", ("latency", "compute", "memory"), ("tma-load-rejected",),
             tiles((32, 32), tk.odd_stride_slow, odd, square, product, 128, 128, 64), tiles((32, 32), tk.odd_stride_fast, padded, square, product, 128, 128, 64),
             "rows of 4104 elements, a multiple of 16 bytes, in place of 4100", None, 2.0 * 4096**3),
        Case("padding", ("compute", "latency"), ("padding-waste",),
             tiles((1024, 2), tk.padding_slow, batches, thin, out, 128, 128, 64), tiles((1024, 2), tk.padding_fast, batches, thin, out, 64, 128, 64),
             "tiles of 64 rows for matrices of 40", 2.0 * (1024 * 40 * 2048 + 2048 * 256 + 1024 * 40 * 256), 2.0 * 1024 * 40 * 256 * 2048),
    ]  # fmt: skip


def _distribution() -> list[Case]:
    few, sums = random(16, 1 << 22), empty(16, 64)
    triangle, total = random(8448, 1056 * 256), empty(8448, 1)
    return [
        Case("tiny_grid", ("scheduling", "latency"), ("grid-too-small",),
             tiles((16, 1), tk.tiny_grid_slow, few, sums, 4096, 1024), tiles((16, 64), tk.tiny_grid_fast, few, sums, 4096, 16),
             "64 blocks a row", 4.0 * 16 * (1 << 22)),
        Case("imbalance", ("scheduling",), ("sm-imbalance",),
             *pair(tk, "imbalance", (264,), triangle, total, 32, 256),
             "every 264th row for a block in place of 32 neighbours", None),
    ]  # fmt: skip


def host_cases() -> list[Case]:
    """The case that only shows outside a profiler, which serializes launches. Needs a GPU."""
    small, copy = random(1024), empty(1024)
    many = [tiles((1,), tk.host_bound, small, copy, 1024)] * 200
    graph = torch.cuda.CUDAGraph()
    return [
        Case("host_bound", ("host", "scheduling", "latency"), ("launch-bound", "host-overhead", "grid-too-small"),
             lambda: [launch() for launch in many], lambda: _replay(graph, many),
             "200 launches in a CUDA graph", 200 * 8.0 * 1024),
    ]  # fmt: skip


def _replay(graph: torch.cuda.CUDAGraph, launches: list[Launch]) -> None:
    """Capture once, then replay."""
    if not hasattr(_replay, "captured"):
        with torch.cuda.graph(graph):
            for launch in launches:
                launch()
        _replay.captured = True  # type: ignore[attr-defined] # the graph is captured on the first call alone
    graph.replay()


def cuda_launch(name: str, blocks: int, threads: int, *arguments: object, shared: int = 0) -> Launch:
    """The launch of a CUDA kernel, compiled by NVRTC. Needs a GPU."""
    compile_kernel = getattr(torch.cuda, "compile_kernel", None) or torch.cuda._compile_kernel  # before 2.12
    kernel = compile_kernel(cuda_kernels.SOURCE, name)
    if shared > 48 << 10:
        kernel.set_shared_memory_config(shared)
    return lambda: kernel((blocks, 1, 1), (threads, 1, 1), arguments, shared_mem=shared)


def cuda_pair(fault: str, blocks: int, threads: int, *arguments: object) -> tuple[Launch, Launch]:
    """The launches of a CUDA kernel with its fault and without."""
    slow, fast = (cuda_launch(f"{fault}_{variant}", blocks, threads, *arguments) for variant in ("slow", "fast"))
    return slow, fast


def cuda_cases() -> list[Case]:
    """The cases written in CUDA. Needs a GPU."""
    x, y = random(1 << 28), empty(1 << 20)
    n = x.numel()
    return [
        Case("bank_conflicts", ("memory", "latency"), ("bank-conflicts",), *cuda_pair("bank_conflicts", 1056, 256, x, y), "a pitch of 33 words"),
        Case("shared_bandwidth", ("memory",), ("shared-memory-bandwidth",), *cuda_pair("shared_bandwidth", 2112, 512, x, y), "an operand used four times"),
        Case("l1_bandwidth", ("memory",), ("l1-bandwidth",), *cuda_pair("l1_bandwidth", 2112, 512, x, y), "an operand used four times"),
        Case("barriers", ("latency",), ("barrier",), *cuda_pair("barriers", 1056, 1024, x, y), "__syncwarp for __syncthreads"),
        Case("bytes_in_flight", ("latency",), ("bytes-in-flight",), cuda_launch("bytes_in_flight_slow", 264, 1024, x, y, n),
             cuda_launch("bytes_in_flight_fast", 264, 1024, x, y, n // 4), "16 bytes a load", 4.0 * n),
        Case("occupancy_shared", ("latency",), ("occupancy-shared-memory",),
             cuda_launch("occupancy_shared_slow", 1056, 128, x, y, n // 4, shared=100 << 10), cuda_launch("occupancy_shared_fast", 1056, 128, x, y, n // 4),
             "no shared memory", 4.0 * n),
        Case("occupancy_blocks", ("latency",), ("occupancy-blocks",),
             cuda_launch("occupancy_blocks_slow", 33792, 32, x, y, n), cuda_launch("occupancy_blocks_fast", 8448, 128, x, y, n), "128 threads a block", 4.0 * n),
    ]  # fmt: skip
