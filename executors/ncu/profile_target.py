"""The process that Nsight Compute profiles: `python -m kdiag.executors.ncu.profile_target WORKLOAD SOURCE`.

It runs the first configuration twice; the first launch warms caches and is skipped by the profiler. With a third word,
`smallest`, compute-sanitizer watches it: it runs the smallest configuration there is once.
"""

import sys
from pathlib import Path

import torch

from kdiag.workload import Workload, load_kernel, load_module, read


def main(workload_path: Path, source: Path, *, smallest: bool) -> None:
    """Launch the workload's first configuration twice on the GPU, or its smallest one once."""
    described = read(workload_path)
    assert isinstance(described, Workload)
    module = load_kernel(described.kernel_file, source)
    workload = load_module(workload_path, search=workload_path.parent)
    config = workload.configs()[0]
    if smallest:
        edges = workload.edge_configs() if hasattr(workload, "edge_configs") else ()
        config = min(edges or workload.configs(), key=workload.bytes_moved)
    inputs = workload.make_inputs(config, "cuda", 1)
    for _ in range(1 if smallest else 2):
        workload.run(module, inputs)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), smallest=sys.argv[3:] == ["smallest"])
