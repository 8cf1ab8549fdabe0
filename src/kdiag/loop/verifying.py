"""Any two versions of a kernel file through the gates, on the device as well where there is one."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kdiag.errors import KdiagError
from kdiag.executors.device_bench import check_on_device, probe_gpu
from kdiag.executors.gates.correctness import correctness
from kdiag.records import GateRecord, Gpu, Proposal, architecture, failed
from kdiag.workload import Workload, source_hash

from .applying import EditRequest, choose, edit_named
from .compiler import Compiler
from .emulator import Emulator
from .inspection import Pair, inspect


@dataclass(frozen=True)
class VerifyRequest:
    """Two versions of the workload's kernel file. `edit` is what is said to have made the second, as "H" or "H:exp2",
    and `after_name` its file's name.

    `exact`: not a bit of the result may change, whatever the edit says.
    """

    before: str
    after: str
    workload: Workload
    kernel: str
    target: str
    after_name: str
    edit: str | None = None
    exact: bool = False


@dataclass(frozen=True)
class Verified:
    """The gates, up to the first that fails. `unable`: there is a GPU, and the check on it could not run."""

    records: tuple[GateRecord, ...]
    unable: bool = False


def verify(request: VerifyRequest, on_note: Callable[[str], None]) -> Verified:
    """Gates 1 to 6. Raises KdiagError if the edit does not apply to the first version."""
    with tempfile.TemporaryDirectory(prefix="kdiag-verify-") as folder:
        name = request.workload.kernel_file.name
        names = {source_hash(request.after): request.after_name}
        compiler = Compiler(request.workload, name, request.target, Path(folder), names=names)
        planned = _planned(request, compiler)
        pair = Pair(
            request.before,
            request.after,
            planned.promises if planned else (),
            request.exact or (planned is not None and planned.safety == "safe"),
            planned=planned.source if planned else None,
        )
        records = inspect(pair, request.kernel, Emulator(compiler))
        if failed(records) is not None:
            return Verified(records)
        gpu = probe_gpu()
        if gpu is None:
            return Verified((*records, correctness(None)))
        last = _on_device(request, compiler, gpu, on_note)
        return Verified((*records, last), unable=last.outcome == "could-not-run")


def _planned(request: VerifyRequest, compiler: Compiler) -> Proposal | None:
    """What the edit that is named makes of the first version."""
    if request.edit is None:
        return None
    name, _, variant = request.edit.partition(":")
    about = EditRequest(request.before, request.kernel, compiler.file_name, compiler)
    proposal, _ = choose(edit_named(name), about, variant or None)
    if proposal.source is None:
        raise KdiagError(f"{request.edit} does not apply to the first file: {proposal.why_not}.")
    return proposal


def _on_device(request: VerifyRequest, compiler: Compiler, gpu: Gpu, on_note: Callable[[str], None]) -> GateRecord:
    """Gate 6; another card than the target still says whether the results are right."""
    target = architecture(gpu.compute_capability or "")
    if target != request.target:
        on_note(f"compiled for {request.target}; the results are checked on {gpu.name} ({target})")
    parent, candidate = (compiler.path(source) for source in (request.before, request.after))
    return correctness(check_on_device(request.workload, parent, candidate))
