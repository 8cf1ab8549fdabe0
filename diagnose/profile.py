"""Turns a report into a profile: for each launch its speed of light, roofline, bottleneck and causes."""

from __future__ import annotations

from pathlib import Path

from kdiag.diagnose.classify import classify
from kdiag.diagnose.limits import limits_of_card
from kdiag.diagnose.metrics import number
from kdiag.diagnose.report import ReportLaunch, read_launches
from kdiag.diagnose.roofline import roofline_of
from kdiag.records import Gpu, LaunchProfile, Observations, Profile, SpeedOfLight


def profile_report(path: str | Path, kernel: str | None = None) -> Profile:
    """Return the profile of a `.ncu-rep` file, of all launches or of those that match the regular expression.

    Raises what `read_launches` raises: ReportError, UsageError, ToolMissing.
    """
    launches = read_launches(path, kernel)
    return Profile(
        source=str(path),
        gpu=_gpu(launches),
        kernels=tuple(_profile(launch) for launch in launches),
    )


def _gpu(launches: tuple[ReportLaunch, ...]) -> Gpu:
    """Return the card of the first launch; a report of one process on one card is all that ncu writes by default."""
    first = launches[0].observations
    major, minor, count = (
        number(first, name) for name in ("capability_major", "capability_minor", "sm_count")
    )
    return Gpu(
        name=launches[0].gpu_name or "unknown GPU",
        compute_capability=None if major is None or minor is None else f"{major:.0f}.{minor:.0f}",
        sm_count=None if count is None else int(count),
        limits=limits_of_card(launch.observations for launch in launches),
    )


def _profile(launch: ReportLaunch) -> LaunchProfile:
    known = launch.observations
    return LaunchProfile(
        index=launch.index,
        name=launch.name,
        symbol=launch.symbol,
        grid=_shape(known, "grid", "grid_size"),
        block=_shape(known, "block", "block_size"),
        duration_us=launch.duration_us,
        sol=SpeedOfLight(*(number(known, name) for name in ("compute_pct", "memory_pct", "dram_pct"))),
        roofline=roofline_of(known),
        diagnosis=classify(known),
    )


def _shape(known: Observations, name: str, total: str) -> tuple[int, ...] | None:
    """Return the three dimensions, or where only their product was recorded (ncu 2019) that alone, or None."""
    sizes = [number(known, f"{name}_{axis}") for axis in "xyz"]
    if any(size is None for size in sizes):
        sizes = [number(known, total)]
    known_sizes = tuple(int(size) for size in sizes if size is not None)
    return known_sizes or None
