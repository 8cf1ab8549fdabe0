"""How many candidates an exhaustive search would time: one edit, and two in a row; needs no GPU, and minutes a kernel.

    PYTHONPATH=src:benchmarks python benchmarks/reached/space.py OUT.json NAME ...

Candidates that run the same machine code, as the no-op gate sees it, count once, at the fewest edits; those that spill
more than the unedited kernel, or do not compile, are counted apart, and nothing is tried on top of them.
"""

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from ranking.measure import offered
from ranking.records import folders

from kdiag import workload as workloads
from kdiag.executors.gates.no_op import machine_code
from kdiag.loop.compiler import Compiler, of_kernel
from kdiag.loop.findings import choose_kernel
from kdiag.planner.compile_evidence import stack_bytes
from kdiag.records import CompileFailure
from kdiag.workload import Workload

EDITS = 2


def space(folder: Path, scratch: Path) -> list[dict[str, int]]:
    """For each number of edits what its sources came to: "distinct", "no-op", "spills", or a compiler's failure."""
    found = workloads.read(folder)
    assert isinstance(found, Workload)
    compiler = Compiler(found, found.kernel_file.name, "sm_90", scratch)
    source = workloads.read_source(found.kernel_file)
    kernel, everything = choose_kernel(source, folder.name, None), compiler.compile_one(source)
    unedited = of_kernel(everything, kernel)
    assert not isinstance(unedited, CompileFailure), unedited
    known, edited, counts = {machine_code(unedited)}, [source], list[dict[str, int]]()
    for _ in range(EDITS):
        offers = dict.fromkeys(text for each in edited for _, text in offered(each, kernel, compiler, everything))
        edited, count = [], Counter[str]()
        for text, compiled in zip(offers, compiler.compile(list(offers)).values(), strict=True):
            candidate = of_kernel(compiled, kernel, everything)
            if isinstance(candidate, CompileFailure):
                count[candidate.kind] += 1
            elif (stack_bytes(candidate) or 0) > (stack_bytes(unedited) or 0):
                count["spills"] += 1
            elif machine_code(candidate) in known:
                count["no-op"] += 1
            else:
                count["distinct"] += 1
                known.add(machine_code(candidate))
                edited.append(text)
        counts.append(dict(count))
    return counts


def main() -> None:
    """Write after every kernel, so that a run that is cut short keeps what it has."""
    out, names, counted = Path(sys.argv[1]), sys.argv[2:], {}
    paths = {folder.name: folder for folder in folders()}
    for name in names:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kdiag-space-") as scratch:
            counted[name] = space(paths[name], Path(scratch))
        out.write_text(json.dumps(counted, indent=1))
        print(f"{name}: {counted[name]}, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
