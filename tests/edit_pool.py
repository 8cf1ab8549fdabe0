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

from kdiag.cutile.hooks import launching_through
from kdiag.diagnose.capture.record import Captured, Recorder
from kdiag.executors.correctness.judging import outputs_of, scaled_error
from kdiag.executors.edits.base import Subject
from kdiag.executors.emulator.emulation import Emulation, emulate
from kdiag.workload import load_module, source_hash

HERE = Path(__file__).parent
TARGET = "sm_90"
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 8e-3}
TF32_TOLERANCE = 4e-3  # of a sum of products whose operands are rounded to 11 bits


@dataclass(frozen=True)
class Entry:
    """A kernel of the pool. `call` calls the launch wrapper of a version's module."""

    path: Path
    kernel: str
    call: Callable[[ModuleType], Any]

    @property
    def name(self):
        return self.path.stem if self.path.parent.name == "pair_kernels" else self.path.parent.name

    @property
    def source(self):
        return self.path.read_text()


def made(*shape, seed=1, dtype=torch.float32):
    """The same values every time."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def example(name, call, file=""):
    path = HERE.parent / "examples" / name / f"{file or name}.py"
    return Entry(path, f"{path.stem}_kernel", call)


def own(name, call):
    return Entry(HERE / "pair_kernels" / f"{name}.py", f"{name}_kernel", call)


def copied(module):
    parts = [made(length, seed=length) for length in (100, 70, 33)]
    results = [torch.zeros_like(part) for part in parts]
    module.copies(parts, results)
    return results


BF16 = torch.bfloat16
POOL = (
    example("softmax", lambda m: m.softmax(made(5, 100, dtype=BF16))),
    example("rms_norm", lambda m: m.rms_norm(made(5, 100, dtype=BF16), made(100, seed=2, dtype=BF16))),
    example("vector_add", lambda m: m.vector_add(made(1500), made(1500, seed=2))),
    example("matmul_fp32", lambda m: m.matmul(made(70, 50), made(50, 90, seed=2)), "matmul"),
    example("matmul_bf16", lambda m: m.matmul(*(x.to(BF16) for x in (made(70, 40), made(40, 90)))), "matmul"),
    own("gather_scale", lambda m: m.gather_scale(made(300), 1.5)),
    own("row_loop", lambda m: m.row_loop(made(7, 60))),
    own("chunked_norm", lambda m: m.chunked_norm(made(3, 150), made(150, seed=2))),
    own("swizzled_product", lambda m: m.swizzled_product(made(150, 40), made(40, 70, seed=2))),
    own("attend", lambda m: m.attend(*(made(2, 40, 32, seed=seed) for seed in (1, 2, 3)))),
    own("tuned_add", lambda m: m.tuned_add(made(500), made(500, seed=2))),
    own("sums", lambda m: m.sums(made(9, 50).mul(4).round(), made(50, seed=2).mul(4).round())),
    own("doubled", lambda m: [m.doubled(made(length)) for length in (320, 300)]),
    own("row_starts", lambda m: [m.row_starts(made(400), 6, stride) for stride in (64, 55)]),
    own("copies", copied),
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
        path = self.folder / source_hash(source)[:16] / entry.path.name
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
