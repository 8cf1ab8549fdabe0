"""Puts sampled counters beside Nsight Compute's for the same kernels, in one run on a GPU machine.

    python benchmarks/pm_sampling_vs_ncu.py examples/softmax examples/matmul_bf16 examples/vector_add

Prints a Markdown table: for each workload (a folder or a .py file) and metric the value sampled while the kernel runs
back to back, and the value that Nsight Compute replayed for one launch; then how long both took.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kdiag import isolate
from kdiag.diagnose.report.read import read_launches
from kdiag.executors.ncu.collect import NoCounters, collect
from kdiag.executors.pm_sampling import sample as pm_sampling
from kdiag.records import Evidence, Observations
from kdiag.rules.load_metrics import load_metrics
from kdiag.workload import Workload, read

GIVEN = ("grid_", "sm_count", "capability_")  # known without a counter, so the same on both sides


def rows(workload: Workload) -> Iterator[str]:
    """Sample the first configuration's kernel, then profile its launch for the metrics of the same names."""
    started = time.perf_counter()
    sampled = pm_sampling.sample(pm_sampling.request(workload, workload.kernel_file))
    between = time.perf_counter()
    if isinstance(sampled, NoCounters):
        yield f"\n{workload.path}: not sampled. {sampled.reason}\n"
        return
    print(*sampled.notes, sep="\n", file=sys.stderr)
    compared = {name: one for name, one in sampled.observations.items() if not name.startswith(GIVEN)}
    replayed = _replayed(workload, sampled.kernel, [load_metrics()[name].names[0] for name in compared])
    for name, one in compared.items():
        yield f"| {sampled.kernel} | {name}, {one.unit} | {_digits(one)} | {_digits(replayed.get(name))} |"
    wall = f"{between - started:.2f} | {time.perf_counter() - between:.2f}"
    yield f"| {sampled.kernel} | wall time with the start of the process, s | {wall} |"
    yield f"| {sampled.kernel} | of it sampling, s | {sampled.seconds:.2f} | - |"


def _replayed(workload: Workload, kernel: str, names: list[str]) -> Observations:
    """What Nsight Compute counts; nothing, and the reason on stderr, where it cannot."""
    with tempfile.TemporaryDirectory() as folder:
        answer = collect(workload, workload.kernel_file, kernel, names, Path(folder) / "counters.ncu-rep")
        if isinstance(answer, NoCounters):
            print(answer.reason, file=sys.stderr)
            return {}
        return read_launches(answer)[0].observations


def _digits(one: Evidence | None) -> str:
    return f"{one.value:.4g}" if one and isinstance(one.value, int | float) else "unavailable"


def main() -> None:
    isolate.warm_up()
    print("| kernel | metric | sampled | Nsight Compute |\n|---|---|---|---|")
    for path in map(Path, sys.argv[1:] or sys.exit(__doc__)):
        workload = read(path)
        assert isinstance(workload, Workload), f"{path} is not a Python workload"
        print("\n".join(rows(workload)), flush=True)


if __name__ == "__main__":
    main()
