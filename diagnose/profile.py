"""Turns what was read of launches into a profile: for each its speed of light, roofline, bottleneck and causes."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from kdiag.records import (
    Cause,
    CompileEvidence,
    Diagnosis,
    Evidence,
    Gpu,
    LaunchProfile,
    Observations,
    OtherLaunches,
    Profile,
    SpeedOfLight,
    number,
)

from .classify import UNKNOWN, classify
from .contradictions import contradictions
from .limits import limits_of, limits_of_card
from .metrics import with_derived
from .report.read import ReportLaunch, read_launches
from .report.symbol import name_constants
from .roofline import roofline_of


def profile_report(path: str | Path, kernel: str | None = None, launch_index: int | None = None) -> Profile:
    """Return the profile of a report file: of its kernels, or of the launches that were asked for.

    Fills, copies and kernels of libraries are counted, not diagnosed, unless they are asked for or there is nothing
    else. Raises what `read_launches` raises: ReportError, UsageError, ToolMissing.
    """
    launches = read_launches(path, kernel, launch_index)
    asked = kernel is not None or launch_index is not None
    return profile_launches(str(path), launches, everything=asked)


def profile_launches(source: str, launches: Sequence[ReportLaunch], *, everything: bool = False) -> Profile:
    """Return the profile of launches that were read; with `everything`, of those that are no kernels as well."""
    targets = [launch for launch in launches if everything or launch.role == "kernel"]
    notes: tuple[str, ...] = ()
    if not targets:
        targets = list(launches)
        notes = ("only fills, copies or library kernels were recorded: the kernel itself is missing",)
    if others_cards := sorted({each.gpu_name for each in targets if each.gpu_name} - {targets[0].gpu_name}):
        notes += (f"some launches ran on {', '.join(others_cards)}; the card and limits above are the first launch's",)
    others = [launch for launch in launches if launch not in targets]
    return Profile(
        source=source,
        gpu=gpu_of(targets),
        kernels=tuple(launch_profile(launch) for launch in targets),
        others=_others(others),
        notes=notes,
    )


def launch_profile(
    launch: ReportLaunch,
    more: Observations | None = None,
    compiled: CompileEvidence | None = None,
    parameters: Sequence[str] = (),
) -> LaunchProfile:
    """Return the profile of one launch; `more` is what compiler, source, workload and timing say of it.

    Where counters contradict each other nothing they say can be trusted, and the bottleneck is unknown.
    `parameters` are the names of the kernel's parameters, for the constants that its symbol carries.
    """
    known = with_derived({**launch.observations, **(more or {})})
    limits = limits_of(known, launch.gpu_name)
    wrong = contradictions(known, limits)
    return LaunchProfile(
        index=launch.index,
        name=launch.name,
        symbol=launch.symbol,
        grid=grid_of(known),
        block=_shape(known, "block", "block_size"),
        duration_us=number(known, "duration_us"),
        sol=SpeedOfLight(*(number(known, name) for name in ("compute_pct", "memory_pct", "dram_pct"))),
        roofline=roofline_of(known, limits),
        diagnosis=_invalid(wrong) if wrong else classify(known),
        role=launch.role,
        share_pct=launch.share_pct,
        constants=name_constants(launch.constants, parameters),
        nvtx=launch.nvtx,
        contradictions=wrong,
        compiled=compiled,
    )


def gpu_of(launches: Sequence[ReportLaunch]) -> Gpu:
    """Return the card of the first launch; a report of one process on one card is all that ncu writes by default."""
    first = launches[0].observations
    major, minor, count = (number(first, name) for name in ("capability_major", "capability_minor", "sm_count"))
    name = launches[0].gpu_name
    return Gpu(
        name=name or "unknown GPU",
        compute_capability=None if major is None or minor is None else f"{major:.0f}.{minor:.0f}",
        sm_count=None if count is None else int(count),
        limits=limits_of_card((each.observations for each in launches if each.gpu_name == name), name),
    )


def _invalid(reasons: Sequence[str]) -> Diagnosis:
    evidence = tuple(Evidence("metric", "contradiction", None, text=reason) for reason in reasons)
    return Diagnosis(UNKNOWN, 0.0, (Cause(UNKNOWN, 0.0, UNKNOWN, evidence),))


def _others(launches: Iterable[ReportLaunch]) -> tuple[OtherLaunches, ...]:
    """Launches by name, those with most of the time first; a sum is None where one of its parts is."""
    by_name = sorted(launches, key=lambda launch: (launch.role, launch.name))
    groups = [list(group) for _, group in groupby(by_name, key=lambda launch: (launch.role, launch.name))]
    rows = [
        OtherLaunches(
            name=group[0].name,
            role=group[0].role,
            launches=len(group),
            duration_us=_sum(launch.duration_us for launch in group),
            share_pct=_sum(launch.share_pct for launch in group),
        )
        for group in groups
    ]
    return tuple(sorted(rows, key=lambda row: -(row.share_pct or 0.0)))


def _sum(values: Iterable[float | None]) -> float | None:
    every = list(values)
    known = [value for value in every if value is not None]
    return sum(known) if len(known) == len(every) else None


def grid_of(known: Observations) -> tuple[int, ...] | None:
    """Return the blocks of a launch by dimension, None when they are unavailable."""
    return _shape(known, "grid", "grid_size")


def _shape(known: Observations, name: str, total: str) -> tuple[int, ...] | None:
    """Return the three dimensions, or where only their product was recorded (ncu 2019) that alone, or None."""
    sizes = [number(known, f"{name}_{axis}") for axis in "xyz"]
    if any(size is None for size in sizes):
        sizes = [number(known, total)]
    known_sizes = tuple(int(size) for size in sizes if size is not None)
    return known_sizes or None
