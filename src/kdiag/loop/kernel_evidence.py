"""What source and compiler say of one kernel of a workload, whatever else is known of it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kdiag import workload as workloads
from kdiag.diagnose.compiler.compile import compile_workload
from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.diagnose.compiler.observe_products import from_products
from kdiag.diagnose.source.observe import from_source
from kdiag.diagnose.source.read import read_source
from kdiag.errors import UsageError, WorkloadError
from kdiag.records import Compilation, CompileEvidence, CompileFailure, Evidence
from kdiag.workload import CommandWorkload, Workload

from .compiler import TIMEOUT_S, of_kernel

WITHOUT_GPU = "sm_90"  # what is compiled for where nothing says otherwise


@dataclass(frozen=True)
class KernelEvidence:
    """The `source.*` and `compile.*` observations of one kernel, and what could not be had.

    `everything` is what the compiler says of all launches of the workload, `compiled` of the one that is meant.
    """

    observations: Mapping[str, Evidence]
    everything: Compilation
    compiled: CompileEvidence | None
    notes: tuple[str, ...]

    @property
    def last(self) -> int | None:
        """The last configuration that launches anything; None if nothing was compiled."""
        if isinstance(self.everything, CompileFailure):
            return None
        return max(each.launch.configuration for each in self.everything)


def kernel_evidence(workload: Workload, kernel: str, target: str, configuration: int | None = None) -> KernelEvidence:
    """Read and compile one kernel for `target`: the launches of one configuration, or of all.

    Raises UsageError if the workload's kernel file does not define it.
    """
    text = workloads.read_source(workload.kernel_file)
    facts = read_source(text, workload.kernel_file.name)
    observations = from_source(facts, kernel)
    (everything,) = compile_workload(workload, [workload.kernel_file], target, timeout_s=TIMEOUT_S)
    mine = of_kernel(everything, kernel)
    if isinstance(mine, CompileFailure):
        return KernelEvidence(observations, everything, None, (f"no compiler evidence: {mine.message}",))
    meant = [each for each in mine if configuration in (None, each.launch.configuration)]
    if not meant:
        note = f"no compiler evidence: configuration {configuration} does not launch {kernel}"
        return KernelEvidence(observations, everything, None, (note,))
    observations |= from_compilation(meant) | from_products(facts, kernel, meant)
    return KernelEvidence(observations, everything, meant[0], ())


def require_kernel(file: Path) -> None:
    """Raise UsageError for a file that is no workload and defines no kernel either."""
    if not read_source(workloads.read_source(file), str(file)).kernels:
        raise UsageError(
            f"{file} has no function decorated with @ct.kernel and no KERNEL_FILE; name a kernel file or a workload."
        )


def python_workload(what: Path, named: Path | None) -> Workload:
    """The workload of a path that is one, or of a kernel file whose workload is named or beside it.

    Raises WorkloadError when there is none, UsageError for a workload that only has commands or a file without kernels.
    """
    _, found = workloads.named(what, named)
    if found is None:
        require_kernel(what)
        raise WorkloadError(
            f"{what} does not say how its kernels are launched; name a workload with --workload (docs/workload.md)."
        )
    if isinstance(found, CommandWorkload):
        bench = shlex.join(found.bench)
        raise UsageError(
            f"{found.path} runs its kernel with a command, not in Python; under Nsight Compute: kdiag profile -- {bench}."
        )
    return found
