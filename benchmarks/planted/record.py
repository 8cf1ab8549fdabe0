"""Times every planted fault against the launch without it, and launches them for the profiler.

python record.py time OUT.json     interleaved medians of both, in milliseconds
ncu ... python record.py launch    each kernel once, with the fault and without, in the order of the cases
"""

import json
import statistics
import sys
from pathlib import Path

import torch
from cases import Case, cuda_cases, host_cases, tile_cases
from held_out import held_out_cases

from kdiag.executors.device_timing import Budget, Flush, interleaved
from kdiag.executors.paired_statistics import paired_ratio


def cases_of(name: str) -> list[Case]:
    """The cases of a set that show in a profile."""
    if name == "held-out":
        return held_out_cases()
    return [*tile_cases(), *cuda_cases()]


def measure(case: Case, flush: Flush) -> dict[str, object]:
    """How much faster the launch is without the fault: median of the paired ratios with its 95 % interval."""
    slow, fast = interleaved([case.slow, case.fast], Budget(15, 40, 0.5), flush)
    ratio = paired_ratio(slow, fast)
    return {
        "case": case.name,
        "bottlenecks": case.bottlenecks,
        "causes": case.causes,
        "intervention": case.intervention,
        "slow_ms": statistics.median(slow),
        "fast_ms": statistics.median(fast),
        "speedup": [ratio.median, ratio.low, ratio.high],
        "work_bytes": case.work_bytes,
        "work_flops": case.work_flops,
    }


def main(name: str, what: str, *out: str) -> None:
    cases = cases_of(name)
    if what == "launch":
        for case in cases:
            case.slow()
            case.fast()
        torch.cuda.synchronize()
        return
    flush = Flush()
    rows = []
    for case in [*cases, *(host_cases() if name == "planted" else [])]:
        row = measure(case, flush)
        rows.append(row)
        print(f"{case.name:20} {row['slow_ms']:9.4f} {row['fast_ms']:9.4f} {row['speedup'][0]:7.3f}", flush=True)
    Path(out[0]).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
