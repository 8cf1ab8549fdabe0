"""Wrong edits of real kernels: what careless rewrites do, one change each, made by operators on the syntax tree.

Which of them are tried is drawn with a seed, a few of every operator for every kernel.
"""

import random
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from source_text import Text
from wrong_edit_operators import ALL

ROOT = Path(__file__).parents[1]
# The kernels, and for those with a workload of real size configurations that are small enough to be run hundreds of times.
# No two dimensions have the same number of tiles, or a loop over the wrong one would do the right thing.
SMALL = {
    "softmax": [{"rows": 3, "columns": 17, "dtype": "bfloat16"}, {"rows": 2, "columns": 64, "dtype": "float16"}],
    "rms_norm": [{"rows": 5, "columns": 29, "dtype": "bfloat16"}, {"rows": 2, "columns": 64, "dtype": "float16"}],
    "matmul_fp32": [{"m": 70, "n": 150, "k": 100, "dtype": "float32"}, {"m": 5, "n": 64, "k": 32, "dtype": "float32"}],
    "matmul_bf16": [
        {"m": 130, "n": 300, "k": 250, "dtype": "bfloat16"},
        {"m": 5, "n": 128, "k": 64, "dtype": "bfloat16"},
    ],
    "vector_add": [{"n": 1500, "dtype": "float32"}, {"n": 7, "dtype": "float32"}],
    "rope": [{"positions": 5, "heads": 3, "width": 16}, {"positions": 2, "heads": 4, "width": 8}],
    "stencil": [{"n": 71}, {"n": 32}],
    "swizzled_matmul": [{"m": 40, "n": 50, "k": 55}, {"m": 32, "n": 32, "k": 32}],
    "transpose": [{"rows": 19, "columns": 37}, {"rows": 32, "columns": 32}],
}
FOLDERS = {
    file.parent.name: file.parent
    for room in ("examples", "benchmarks/kernels", "tests/kernels")
    for file in sorted((ROOT / room).glob("*/workload.py"))
    if room == "tests/kernels" or file.parent.name in SMALL
}

UNTIMED = """

def bytes_moved(config):
    return 0


def flops(config):
    return 0
"""


@dataclass(frozen=True)
class WrongEdit:
    """One change of a kernel file: at `line`, `before` has become `after`."""

    kernel: str
    operator: str
    line: int
    before: str
    after: str
    source: str = field(repr=False, compare=False)

    def __str__(self):
        return f"{self.kernel}:{self.line}: {self.operator}: {self.before} -> {self.after}"


def wrong_edits(kernel):
    """All wrong edits of one kernel, each source once."""
    text = Text(kernel_file(kernel).read_text())
    found = {}
    for operator in ALL:
        for name, node, new in operator(text):
            source = text.replaced(node, new)
            if source != text.source and source not in found:
                found[source] = WrongEdit(kernel, name, node.lineno, text.of(node), new, source)
    return list(found.values())


def drawn(kernel, count, seed=1):
    """At most `count` of a kernel's wrong edits, all operators in turn."""
    dice = random.Random(f"{kernel} {seed}")
    by_operator = {}
    for edit in wrong_edits(kernel):
        by_operator.setdefault(edit.operator, []).append(edit)
    for edits in by_operator.values():
        dice.shuffle(edits)
    groups = dice.sample(list(by_operator.values()), len(by_operator))
    return [edit for turn in zip_longest(*groups) for edit in turn if edit is not None][:count]


def kernel_file(kernel):
    """The kernel's own file."""
    return FOLDERS[kernel] / (
        f"{kernel.removesuffix('_fp32').removesuffix('_bf16')}.py" if kernel in SMALL else "kernel.py"
    )


def workload_text(kernel):
    """The kernel's workload: with small configurations alone, or with what only timing asks."""
    text = (FOLDERS[kernel] / "workload.py").read_text()
    return f"{text}\n\ndef edge_configs():\n    return {SMALL[kernel]!r}\n" if kernel in SMALL else text + UNTIMED
