"""Kernels that are edited twice: how each is called with small arguments, and what any version of it does.

A version is emulated and captured in one go, once for each text.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from bundled import kernel_file
from kdiag.cutile.hooks import launching_through
from kdiag.diagnose.capture.record import Captured, Recorder
from kdiag.executors.correctness.judging import outputs_of, scaled_error
from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.examples.autotune_spaces import BEFORE as SEARCHED
from kdiag.executors.emulator.emulation import Emulation, emulate
from kdiag.workload import load_module, source_hash

HERE = Path(__file__).parent
TARGET = "sm_90"
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 8e-3}
TF32_TOLERANCE = 4e-3  # of a sum of products whose operands are rounded to 11 bits


@dataclass(frozen=True)
class Entry:
    """A kernel of the pool. `call` calls the launch wrapper of a version's module."""

    name: str
    source: str
    kernel: str
    call: Callable[[ModuleType], Any]


def made(*shape, seed=1, dtype=torch.float32):
    """The same values every time."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def kept(path, name, call, kernel=""):
    return Entry(name, path.read_text(), kernel or f"{path.stem}_kernel", call)


def example(name, call):
    return kept(kernel_file(name), name, call)


def benchmark(name, call, kernel=""):
    return kept(HERE.parent / "benchmarks" / "kernels" / name / f"{name}.py", name, call, kernel)


def own(name, call):
    return kept(HERE / "pair_kernels" / f"{name}.py", name, call)


def searched(module):
    result = torch.empty(70, 130)
    module.run(made(70, 40), made(40, 130, seed=2), result)
    return result


BF16 = torch.bfloat16
POOL = (
    example("softmax", lambda m: m.softmax(made(5, 100, dtype=BF16))),
    example("rms_norm", lambda m: m.rms_norm(made(5, 100, dtype=BF16), made(100, seed=2, dtype=BF16))),
    example("vector_add", lambda m: m.vector_add(made(1500), made(1500, seed=2))),
    example("matmul_fp32", lambda m: m.matmul(made(70, 50), made(50, 90, seed=2))),
    example("matmul_bf16", lambda m: m.matmul(*(x.to(BF16) for x in (made(70, 40), made(40, 90))))),
    benchmark("silu_and_mul", lambda m: [m.silu_and_mul(made(3, 2 * columns)) for columns in (512, 300)]),
    benchmark("layer_norm", lambda m: m.layer_norm(made(3, 1500), *(made(1500, seed=seed) for seed in (2, 3)))),
    benchmark("swizzled_matmul", lambda m: m.swizzled_matmul(made(150, 40), made(40, 70, seed=2))),
    benchmark("attention", lambda m: m.attention(*(made(1, 2, 100, 32, seed=seed) for seed in (1, 2, 3)))),
    benchmark("many_copies", lambda m: m.scale_all([made(n, seed=n) for n in (1100, 70, 33)], 0.5), "scale_kernel"),
    Entry("searched_product", SEARCHED, "product", searched),
    own("row_loop", lambda m: m.row_loop(made(7, 60))),
    own("sums", lambda m: m.sums(made(9, 50).mul(4).round(), made(50, seed=2).mul(4).round())),
    own("row_starts", lambda m: [m.row_starts(made(400), 6, stride) for stride in (64, 55)]),
)


@dataclass(frozen=True)
class Ran:
    """What a version did: its result, its faults by kind and array, and its launches."""

    outputs: tuple[torch.Tensor, ...]
    faults: frozenset[tuple[str, str | None]]
    launches: tuple[Captured, ...]

    def same_bits(self, other):
        return len(self.outputs) == len(other.outputs) and all(
            torch.equal(one.nan_to_num(nan=7e3), two.nan_to_num(nan=7e3))
            for one, two in zip(self.outputs, other.outputs, strict=True)
        )

    def near(self, other, tolerance):
        """Whether each tensor is within the tolerance of its dtype, or this one if that is larger."""
        return all(
            scaled_error(one, two) <= max(tolerance, TOLERANCE[one.dtype])
            for one, two in zip(self.outputs, other.outputs, strict=True)
        )


@dataclass
class Bench(Recorder):
    """Emulates and records every launch; remembers what each text did."""

    emulation: Emulation | None = None
    folder: Path = Path()
    ran: dict[tuple[str, str], Ran] = field(default_factory=dict)

    def launch(self, stream, grid, kernel, arguments, /, **options):
        super().launch(stream, grid, kernel, arguments, **options)
        self.emulation.launch(stream, grid, kernel, arguments)

    def run(self, entry, source):
        """Emulate one version. Raises what its import, its wrapper and cuTile raise."""
        key = (entry.name, source_hash(source))
        if key not in self.ran:
            self.ran[key] = self._run(entry, source)
        return self.ran[key]

    def subject(self, entry, source):
        """A version as edits are shown it: with its launches."""
        launches = (captured.launch for captured in self.run(entry, source).launches)
        return Subject(source, entry.kernel, TARGET, tuple(one for one in launches if one.kernel == entry.kernel))

    def _run(self, entry, source):
        path = self.path(entry, source)
        self.launches.clear()
        result = entry.call(load_module(path, search=path.parent, source_hash=source_hash(source)))
        self.emulation.check_written()
        faults = frozenset(
            (fault.kind, fault.array)
            for fault in self.emulation.faults
            if not fault.warning and Path(fault.file) == path
        )
        outputs = tuple(output.clone() for output in outputs_of(result))
        return Ran(outputs, faults, tuple(self.launches))

    def path(self, entry, source):
        """The file that holds exactly this text."""
        path = self.folder / source_hash(source)[:16] / f"{entry.name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(source.encode())
        return path


@contextmanager
def bench():
    """Within this versions can be run; one at a time in a process."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kdiag-pairs-")))
        emulation = stack.enter_context(emulate(TARGET, on_fault="record"))
        made = Bench(TARGET, emulation=emulation, folder=folder.resolve())
        stack.enter_context(launching_through(made))
        yield made
