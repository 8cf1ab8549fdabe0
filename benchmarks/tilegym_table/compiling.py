"""Child jobs: capture the launches of full-size calls with one version of a file, and compile them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kdiag.cutile.gpu_stand_in import CudaOn, gpu_stand_in
from kdiag.diagnose.capture.call import CallRequest, capture_call
from kdiag.diagnose.capture.record import Captured
from kdiag.diagnose.compiler.compile import CompileRequest
from kdiag.diagnose.compiler.job import compile_launches
from kdiag.records import Compilation
from kdiag.workload import Workload
from tilegym_calls import CALLS
from tilegym_table.loading import kernel_of, load
from tilegym_table.records import Checkout, Kernel, Version


@dataclass(frozen=True)
class CompileJob:
    """Compile what these calls launch of the kernels `only` (all of them if None), for `target`."""

    checkout: Checkout
    version: Version
    calls: tuple[int, ...]
    target: str
    cache: Path | None
    only: Kernel | None = None

    @property
    def identity(self) -> str:
        """All that decides the answer, beside what the folder of the answers stands for."""
        return str((self.version.file, self.version.hash, self.calls, self.target, self.only))


def compile_calls(job: CompileJob) -> dict[Kernel, Compilation]:
    """What the compiler says of each kernel; a launch's `configuration` is the number of its call."""
    found: dict[Kernel, list[Captured]] = {}
    with gpu_stand_in(job.target), CudaOn("cpu"):
        load(job.checkout, job.version)
    for kernel, captured in _captured(job):
        found.setdefault(kernel, []).append(captured)
    workload = Workload(job.version.path, job.checkout.operators / job.version.file, False)
    request = CompileRequest(workload, job.version.path, job.target, job.cache)
    return {kernel: compile_launches(launches, request) for kernel, launches in found.items()}


def _captured(job: CompileJob) -> Iterator[tuple[Kernel, Captured]]:
    for index in job.calls:
        call = CALLS[index]
        for captured in capture_call(CallRequest(call.function, call.make, job.target)):
            kernel = kernel_of(job.checkout, job.version, captured.kernel)
            if kernel is not None and job.only in (None, kernel):
                yield kernel, replace(captured, launch=replace(captured.launch, configuration=index))
