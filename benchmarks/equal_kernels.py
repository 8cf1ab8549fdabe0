"""Kernels of microseconds beside copies of themselves: how often the interval of the ratio holds 1; needs a GPU.

PYTHONPATH=src:benchmarks python benchmarks/equal_kernels.py [REPEATS]
"""

import shutil
import sys
import tempfile
from pathlib import Path

from ranking.records import ROOT

from kdiag import isolate
from kdiag import workload as workloads
from kdiag.executors import device_jobs
from kdiag.executors.bench import Source
from kdiag.executors.correctness.judging import label
from kdiag.executors.device_timing import Budget, Flush, compared
from kdiag.executors.paired_statistics import Ratio, paired_ratio
from kdiag.isolate import Died
from kdiag.workload import Workload

CASES = {
    "softmax": '[{"rows": r, "columns": 1024, "dtype": "bfloat16"} for r in (64, 256, 4096, 16384)]',
    "vector_add": '[{"n": n, "dtype": "float32"} for n in (1 << 16, 1 << 20, 1 << 23)]',
    "rms_norm": '[{"rows": r, "columns": 2048, "dtype": "bfloat16"} for r in (256, 2048)]',
}
COPIES = 3
Row = tuple[str, float, list[Ratio]]


def beside_itself(request: tuple[Workload, int]) -> list[Row]:
    """In a child process: label, ms and the ratios to its copies, for each configuration as often as asked."""
    workload, repeats = request
    module, versions = device_jobs.versions(workload, [Source.of(workload.kernel_file)] * (1 + COPIES))
    flush, rows = Flush(), list[Row]()
    for config in module.configs() * repeats:
        first, *copies = compared(device_jobs.arms(module, versions, config), Budget(), flush)
        rows.append((label(config), min(first), [paired_ratio(first, copy) for copy in copies]))
    return rows


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    every = list[Ratio]()
    for name, configs in CASES.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = shutil.copytree(ROOT / "examples" / name, Path(scratch) / name)
            with (folder / "workload.py").open("a") as file:
                file.write(f"\n\ndef configs():\n    return {configs}\n")
            found = workloads.read(folder)
            assert isinstance(found, Workload)
            rows = isolate.run(beside_itself, (found, repeats), timeout_s=300.0)
        if isinstance(rows, Died):
            sys.exit(f"{name}: {rows.message}")
        for case, ms, ratios in rows:
            print(f"{name} {case}: {1e3 * ms:.1f} us,", " ".join(f"{r.median:.4f}" for r in ratios), flush=True)
            every += ratios
    held = sum(ratio.low <= 1 <= ratio.high for ratio in every)
    print(
        f"{held} of {len(every)} intervals hold 1; the worst ratio is {max(abs(r.median - 1) for r in every):.2%} off"
    )


if __name__ == "__main__":
    main()
