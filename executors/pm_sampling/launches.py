"""Captures the launch of a kernel on the GPU and repeats it, and nothing else, for as long as a window needs.

Child processes only: this module is imported where torch is.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import cuda.tile as ct
import torch

from kdiag.cutile.signature import kernel_name

from .windows import Launched

GRAPH_NODES = 500  # launches of one CUDA graph: enough to hide the host, few enough to build in milliseconds
GRAPH_MS = 20.0  # of a long kernel fewer launches do
WARM_UP_MS = 100.0  # until clocks and power have settled under this kernel's load


@dataclass(frozen=True)
class GpuLaunch:
    """One `ct.launch` with its live arguments; `again` repeats it on the current stream."""

    name: str
    grid: tuple[int, ...]
    kernel: Any
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def again(self) -> None:
        """Launch the same kernel on the same data."""
        ct.launch(torch.cuda.current_stream(), self.grid, self.kernel, self.arguments, **self.options)

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)


@contextlib.contextmanager
def recorded_launches() -> Iterator[list[GpuLaunch]]:
    """Everything launched with `ct.launch` inside, which runs as usual.

    To see a kernel file that imports the name `launch` itself, the file must be loaded inside too.
    """
    launches: list[GpuLaunch] = []
    real = ct.launch

    def launch(stream: Any, grid: Any, kernel: Any, arguments: Any, /, **options: Any) -> None:
        real(stream, grid, kernel, arguments, **options)
        size = tuple(map(int, grid)) if isinstance(grid, tuple | list) else (int(grid),)
        launches.append(GpuLaunch(kernel_name(kernel), size, kernel, tuple(arguments), options))

    with patch.object(ct, "launch", launch):
        yield launches


class Repeater:
    """Replays a CUDA graph of nothing but one launch, so that the host leaves no gaps between launches."""

    def __init__(self, launch: GpuLaunch) -> None:
        self._blocks = launch.blocks
        launch.again()
        launch_ms = max(_milliseconds(launch.again), 1e-3)
        self._nodes = max(1, min(GRAPH_NODES, math.ceil(GRAPH_MS / launch_ms)))
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for _ in range(self._nodes):
                launch.again()
        spent = self._graph_ms = _milliseconds(self._graph.replay)
        while spent < WARM_UP_MS:
            self._graph_ms = _milliseconds(self._graph.replay)
            spent += self._graph_ms

    def expected_ms(self, window_ms: float) -> float:
        return self._replays(window_ms) * self._graph_ms

    def fill(self, window_ms: float) -> Launched:
        replays = self._replays(window_ms)

        def all_replays() -> None:
            for _ in range(replays):
                self._graph.replay()

        launches = replays * self._nodes
        return Launched(launches, self._blocks, _milliseconds(all_replays) / launches)

    def _replays(self, window_ms: float) -> int:
        return max(1, math.ceil(window_ms / self._graph_ms))


def _milliseconds(work: Callable[[], object]) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))


def fingerprint(launch: GpuLaunch) -> tuple[float, ...]:
    """A sum over each tensor argument: it tells whether a launch changed its data, and whether NaNs got in."""
    tensors = [argument for argument in launch.arguments if isinstance(argument, torch.Tensor)]
    kinds = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64)
    return tuple(float(t.sum(dtype=torch.float64)) for t in tensors if t.dtype in kinds and t.numel())
