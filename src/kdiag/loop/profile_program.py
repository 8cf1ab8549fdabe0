"""Profiles a program under Nsight Compute and reads what comes of it."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kdiag.diagnose.profile import profile_launches
from kdiag.diagnose.report.read import read_launches
from kdiag.errors import ReportError
from kdiag.executors.ncu.collect import profile_command, require
from kdiag.executors.ncu.command import NcuOptions, estimate
from kdiag.executors.ncu.output import Collected
from kdiag.records import Gpu, Profile


@dataclass(frozen=True)
class ProgramRequest:
    """A command line and how to profile it; `save` is where the report stays, None for nowhere."""

    command: tuple[str, ...]
    options: NcuOptions
    save: Path | None


def profile_program(request: ProgramRequest, say: Callable[[str], object], show: Callable[[str], object]) -> Profile:
    """Run the program under ncu and return the profile of its kernels.

    `say` gets lines for the user before the run, `show` what the program prints. Kernels that fail under the profiler
    are named in the notes. Raises what `profile_command` raises.
    """
    require(request.command)
    say(estimate(request.options).sentence())
    with tempfile.TemporaryDirectory(prefix="kdiag-ncu-") as folder:
        report = request.save or Path(folder) / "profile.ncu-rep"
        collected = profile_command(request.command, request.options, report, show)
        return _read(collected, request)


def _read(collected: Collected, request: ProgramRequest) -> Profile:
    name = str(request.save) if request.save is not None else " ".join(request.command)
    notes = collected.notes
    if collected.report is None:
        return Profile(name, Gpu("unknown GPU", None, None), (), notes=notes)
    try:
        launches = read_launches(collected.report)
    except ReportError as error:
        if collected.failed_kernels:
            return Profile(name, Gpu("unknown GPU", None, None), (), notes=(*notes, str(error)))
        raise
    profile = profile_launches(name, launches, everything=request.options.kernel is not None)
    return replace(profile, notes=(*profile.notes, *notes))
