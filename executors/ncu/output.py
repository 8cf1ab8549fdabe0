"""What became of a run of Nsight Compute: a report, or one sentence on what stood in the way and how to get past it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from .command import NcuOptions
from .failures import (
    ApplicationFailed,
    DiskFull,
    Interrupted,
    NcuFailed,
    NoKernels,
    ProfilerError,
    TimedOut,
    obstacle_in,
)
from .messages import Heard
from .process import Ended

MAGIC = b"NVR\0"  # the first bytes of a .ncu-rep
FULL_BYTES = 32 << 20  # less room than this beside a report that is missing: the disk was full
NAMES_SHOWN = 8


@dataclass(frozen=True)
class Collected:
    """What a run gave. `report` is None when ncu wrote none; `notes` are sentences for the user.

    `failed_kernels` ran but failed under the profiler, as ncu prints their names (it cuts long ones). A launch of
    theirs may be in the report, with nothing measured. `application_exit` is the command's own exit code, or 9 where
    ncu killed it. `launches` were profiled with at most `passes` passes each.
    """

    report: Path | None
    failed_kernels: tuple[str, ...] = ()
    application_exit: int = 0
    notes: tuple[str, ...] = ()
    launches: int = 0
    passes: int | None = None


def judge(ended: Ended, heard: Heard, options: NcuOptions, report: Path) -> Collected:
    """Return what the run gave; raise the ProfilerError that says why it gave nothing.

    What was profiled before a failure counts: the failure is then a note. Kernels that fail under the profiler are no
    error either, because they can be judged without counters.
    """
    kept = report if is_report(report) else None
    if ended.stopped == "interrupt":
        raise _interrupted(heard, kept)
    if kept is not None and heard.profiled:
        return _collected(kept, heard, _partial(ended, heard, options))
    obstacle = obstacle_in(heard.text) or _no_room(heard, report)
    if obstacle is not None:
        raise obstacle
    if ended.stopped == "timeout":
        raise TimedOut(
            f"There was no report after {options.timeout_s:g} s{_while(heard)}: allow more time with --timeout, or "
            "ask for less with --kernel, --launch-count or a smaller --set."
        )
    if heard.failed or heard.launch_failed:
        return _collected(kept, heard, ())
    raise _nothing(ended, heard, options)


def is_report(path: Path) -> bool:
    """Say whether a file is there and begins as a report does."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _collected(report: Path | None, heard: Heard, notes: tuple[str, ...]) -> Collected:
    if heard.failed or heard.launch_failed:
        notes = (_failing(heard), *notes)
    return Collected(
        report, heard.failed, heard.application_exit, notes, launches=len(heard.profiled), passes=heard.passes
    )


def _partial(ended: Ended, heard: Heard, options: NcuOptions) -> tuple[str, ...]:
    """Return the note of a run that gave a report and did not end well."""
    held = f"the report holds what was profiled until then ({_launches(heard)})"
    if ended.stopped == "timeout":
        return (f"The run was stopped after {options.timeout_s:g} s{_while(heard)}; {held}.",)
    if heard.failed or heard.launch_failed:
        return ()
    if (heard.application_exit or ended.exit_code) and not options.kill:
        return (f"{_application(ended, heard)}; {held}.",)
    return ()


def _failing(heard: Heard) -> str:
    names = _shown(tuple(dict.fromkeys(heard.failed))) or "a kernel that it does not name"
    why = "LaunchFailed" if heard.launch_failed else next(iter(heard.errors), "no reason given")
    advice = (
        "kernels launched with num_ctas=2 run by themselves and fail under ncu 2025.3; profile a variant with num_ctas=1, "
        "or go by timing and compiler evidence, which need no counters"
        if heard.launch_failed
        else "timing and compiler evidence remain, which need no counters"
    )
    return f"ncu could not profile {names} ({why.rstrip('.')}): {advice}."


def _no_room(heard: Heard, report: Path) -> DiskFull | None:
    if not heard.profiled or report.exists() or shutil.disk_usage(report.parent).free >= FULL_BYTES:
        return None
    return DiskFull(
        f"There was no room in {report.parent} to write the report: free some space, or name another folder for it."
    )


def _nothing(ended: Ended, heard: Heard, options: NcuOptions) -> ProfilerError:
    """Return the error of a run without a report that no obstacle explains."""
    if heard.profiled:
        return NcuFailed(f"ncu profiled {_launches(heard)} and wrote no report: {_quote(ended, heard)}")
    if heard.errors:  # ncu itself never fails in silence; a command that never met the GPU leaves nothing to say
        return NcuFailed(f"ncu failed with exit code {ended.exit_code}: {_quote(ended, heard)}")
    if heard.application_exit or ended.exit_code:
        return ApplicationFailed(
            f"{_application(ended, heard)}, before a kernel was profiled; run it without kdiag to see all it says."
        )
    return NoKernels(_no_kernels(heard, options))


def _no_kernels(heard: Heard, options: NcuOptions) -> str:
    seen = _shown(tuple(dict.fromkeys(name.partition("(")[0] for name in heard.available)))
    if seen and options.launch_skip:
        return (
            f"No launch was profiled; the command launches {seen}: correct --kernel, or skip fewer than "
            f"{options.launch_skip} launches."
        )
    if seen:
        return f"No kernel matches what was asked for; the command launches {seen}: correct --kernel or --nvtx-include."
    if options.kernel is not None or options.nvtx_include:
        return (
            "No kernel was profiled, and ncu names none that the command launches: leave --kernel and --nvtx-include "
            "out to see what it launches, and check that it runs on the GPU."
        )
    return (
        "The command launched no kernel on the GPU: check that it uses the GPU, with the same arguments, without kdiag."
    )


def _interrupted(heard: Heard, kept: Path | None) -> Interrupted:
    if kept is None or not heard.profiled:
        return Interrupted("Interrupted before a launch was profiled; there is no report.")
    return Interrupted(f"Interrupted; what was profiled until then ({_launches(heard)}) is in {kept}.")


def _application(ended: Ended, heard: Heard) -> str:
    code = heard.application_exit or ended.exit_code
    said = [line.strip() for line in ended.stderr.splitlines() if line.strip() and not line.startswith("==")]
    return f"The command failed with exit code {code}" + (f" ({said[-1]})" if said else "")


def _quote(ended: Ended, heard: Heard) -> str:
    lines = [line.strip() for line in ended.stderr.splitlines() if line.strip()]
    return (*heard.errors, *lines[-1:], "it said nothing")[0].rstrip(".") + "."


def _launches(heard: Heard) -> str:
    return f"{len(heard.profiled)} launch{'es' if len(heard.profiled) != 1 else ''}"


def _while(heard: Heard) -> str:
    return f", while ncu was profiling {_shown((heard.unfinished,))}" if heard.unfinished else ""


def _shown(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more
