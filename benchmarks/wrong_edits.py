"""All wrong edits through the whole pipeline, as `kdiag verify` runs it: which gate catches how many, and which none.

    python benchmarks/wrong_edits.py [--each N] [--kernel NAME ...] > table.md

The generator and what is equivalent are the tests' own (tests/wrong_edits.py, tests/equivalent_edits.py); the test runs
a part of it in one process. Here every edit is compiled and emulated in children, about a second for each.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from equivalent_edits import why_equivalent
from kdiag.loop.compiler import Compiler
from kdiag.loop.emulator import Emulator
from kdiag.loop.findings import choose_kernel
from kdiag.loop.inspection import Pair, inspect
from kdiag.records import failed
from kdiag.workload import Workload
from wrong_edits import FOLDERS, WrongEdit, drawn, kernel_file, workload_text

COLUMNS = ("scope", "compile", "no-op", "effect", "emulation", "equivalent", "not caught")


def outcomes(kernel: str, each: int, folder: Path) -> list[tuple[WrongEdit, str, str]]:
    """Each edit of a kernel with the gate that failed it, "equivalent" or "not caught", and why."""
    source, file = kernel_file(kernel).read_text(), folder / kernel_file(kernel).name
    file.write_text(source)
    (folder / "workload.py").write_text(workload_text(kernel))
    compiler = Compiler(Workload(folder / "workload.py", file, False), file.name, "sm_90", folder / "candidates")
    emulator, name = Emulator(compiler), choose_kernel(source, file.name, None)
    found = []
    for edit in drawn(kernel, each):
        refused = failed(inspect(Pair(source, edit.source, exact=True), name, emulator))
        reason = why_equivalent(edit)
        where = refused.gate if refused else "equivalent" if reason else "not caught"
        found.append((edit, where, refused.reason if refused else reason))
    return found


def main() -> None:
    """Print a table in Markdown, then every edit that no gate failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10_000, help="at most so many edits of a kernel")
    parser.add_argument("--kernel", nargs="*", default=list(FOLDERS), choices=list(FOLDERS))
    options = parser.parse_args()
    total: Counter[str] = Counter()
    passed: list[str] = []
    print(f"| kernel | edits | {' | '.join(COLUMNS)} |\n|---|{'---:|' * (len(COLUMNS) + 1)}")
    for kernel in options.kernel:
        with tempfile.TemporaryDirectory() as folder:
            found = outcomes(kernel, options.each, Path(folder))
        count = Counter(where for _, where, _ in found)
        total.update(count)
        passed += [f"* {edit}: {where}, {why}" for edit, where, why in found if where in COLUMNS[-2:]]
        print(_row(kernel, count), flush=True)
    print(_row("all", total), "", *passed, sep="\n")


def _row(name: str, count: Counter[str]) -> str:
    return f"| {name} | {count.total()} | {' | '.join(str(count[column]) for column in COLUMNS)} |"


if __name__ == "__main__":
    main()
