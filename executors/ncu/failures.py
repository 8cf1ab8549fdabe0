"""The ways in which a run of Nsight Compute gives nothing, and the ones that ncu's words tell.

The words are those of ncu 2021 to 2026, from public logs and issues.
"""

import re
from dataclasses import dataclass

from kdiag.errors import COUNTER_PERMISSION, INTERRUPTED, KdiagError, ToolMissing


class NcuMissing(ToolMissing):
    """Nsight Compute is not installed."""


class ProfilerError(KdiagError):
    """Nsight Compute ran and there is no report."""


class ApplicationFailed(ProfilerError):
    """The command failed by itself before a kernel was profiled."""


class NoKernels(ProfilerError):
    """The command ended well and no launch was chosen."""


class NoPermission(ProfilerError):
    """The driver keeps the counters for administrators."""


class CountersBusy(ProfilerError):
    """Another program holds the counters, or another user ncu's lock."""


class NotSupported(ProfilerError):
    """The installed ncu cannot profile on this driver or this card."""


class UnknownCounters(ProfilerError):
    """The installed ncu, or the card, does not have a counter that was asked for."""


class DiskFull(ProfilerError):
    """There was no room for the report."""


class TimedOut(ProfilerError):
    """The time ended before a launch was profiled."""


class NcuFailed(ProfilerError):
    """ncu failed in a way that has no name here; the message quotes it."""


class Interrupted(ProfilerError):
    """The user interrupted the run."""

    exit_code = INTERRUPTED


@dataclass(frozen=True)
class _Obstacle:
    """A failure of the machine rather than of the command, known by what ncu says."""

    said: re.Pattern[str]
    error: type[ProfilerError]
    sentence: str


_OBSTACLES = (
    _Obstacle(
        re.compile(r"ERR_NVGPUCTRPERM"),
        NoPermission,
        f"The driver lets only administrators read GPU counters (ERR_NVGPUCTRPERM): {COUNTER_PERMISSION}.",
    ),
    _Obstacle(
        re.compile(r"nsight-compute-lock|InterprocessLockFailed"),
        CountersBusy,
        "ncu cannot open its lock file, which belongs to another user or a run as root: set TMPDIR to a folder of "
        "your own and try again.",
    ),
    _Obstacle(
        re.compile(r"driver resource was unavailable"),
        CountersBusy,
        "Another program is reading the GPU's counters, often DCGM: end it, or pause it with `dcgmi profile --pause`, "
        "and try again.",
    ),
    _Obstacle(
        re.compile(r"Failed to find metric (?P<what>\S+)"),
        UnknownCounters,
        "This ncu does not know the counter {what} for this GPU: use a newer ncu, or --set full, which asks for what "
        "the GPU has.",
    ),
    _Obstacle(
        re.compile(
            r"(?P<what>[^\n]*(?:not supported on device|not compatible with Nsight Compute|LibraryNotLoaded"
            r"|failed to connect to the CUDA driver|No supported GPU|Failed to load Nsight Compute CUDA modules)[^\n]*)"
        ),
        NotSupported,
        "ncu cannot profile with this driver or GPU ({what}): install the ncu that belongs to the driver's CUDA "
        "version (nvidia-smi shows it), or update the driver.",
    ),
    _Obstacle(
        re.compile(r"[Nn]o space left on device"),
        DiskFull,
        "There was no room to write the report: free some space, or name another folder for it.",
    ),
)


def obstacle_in(said: str) -> ProfilerError | None:
    """Return the failure of the machine that ncu speaks of, or None."""
    for obstacle in _OBSTACLES:
        if found := obstacle.said.search(said):
            words = {name: value.strip().rstrip(".") for name, value in found.groupdict().items()}
            return obstacle.error(obstacle.sentence.format(**words))
    return None
