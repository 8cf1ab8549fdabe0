"""How long emulated launches take on one core: python benchmarks/emulator_speed.py

Each launch is made once to compile, then REPEATS times; in lockstep and one block after the other take turns.
"""

import os
import statistics
import time
from collections.abc import Callable

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is imported

import cuda.tile as ct
import torch

from kdiag.executors.emulator import emulate

REPEATS = 5


@ct.kernel
def softmax(x, y, tile: ct.Constant[int]):
    row = ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
    powers = ct.exp(ct.astype(row, ct.float32) - ct.max(row, axis=1, keepdims=True))
    ct.store(y, (ct.bid(0), 0), ct.astype(powers / ct.sum(powers, axis=1, keepdims=True), y.dtype))


@ct.kernel
def product(a, b, c, rows: ct.Constant[int], columns: ct.Constant[int], depth: ct.Constant[int]):
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(ct.num_tiles(a, 1, (rows, depth))):
        left, right = ct.load(a, (ct.bid(0), k), (rows, depth)), ct.load(b, (k, ct.bid(1)), (depth, columns))
        total = ct.mma(left, right, total)
    ct.store(c, (ct.bid(0), ct.bid(1)), ct.astype(total, c.dtype))


@ct.kernel
def add_gathered(x, y, z, tile: ct.Constant[int]):
    at = ct.bid(0) * tile + ct.arange(tile, dtype=ct.int32)
    ct.scatter(z, at, ct.gather(x, at) + ct.gather(y, at))


def launches() -> dict[str, Callable[[], None]]:
    """What is timed, by name."""
    x, y = torch.randn(4096, 4096), torch.zeros(4096, 4096)
    x16, y16 = x.bfloat16(), y.bfloat16()
    a, b, c = (torch.randn(256, 256, dtype=torch.bfloat16) for _ in range(3))
    u, v, w = (torch.randn(1_000_000) for _ in range(3))
    return {
        "softmax float32 4096x4096": lambda: ct.launch(None, (4096,), softmax, (x, y, 4096)),
        "softmax bfloat16 4096x4096": lambda: ct.launch(None, (4096,), softmax, (x16, y16, 4096)),
        "matmul bfloat16 256x256x256": lambda: ct.launch(None, (4, 4), product, (a, b, c, 64, 64, 32)),
        "gather, add, scatter 1000000": lambda: ct.launch(None, (977,), add_gathered, (u, v, w, 1024)),
    }


def seconds(launch: Callable[[], None], lockstep: bool) -> float:
    """Wall time of one launch, without entering and leaving the emulation."""
    with emulate(lockstep=lockstep):
        began = time.perf_counter()
        launch()
        return time.perf_counter() - began


def main() -> None:
    torch.set_num_threads(1)
    print("| launch | in lockstep, s (least to most) | one block after the other, s |")
    print("|---|---|---|")
    for name, launch in launches().items():
        seconds(launch, True)
        pairs = [(seconds(launch, True), seconds(launch, False)) for _ in range(REPEATS)]
        columns = [
            f"{statistics.median(times):.3f} ({min(times):.3f} to {max(times):.3f})"
            for times in zip(*pairs, strict=True)
        ]
        print(f"| {name} | {' | '.join(columns)} |")


if __name__ == "__main__":
    main()
