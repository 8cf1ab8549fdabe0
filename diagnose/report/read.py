"""Reads profiler reports: the launches they hold, what was measured of each, and which kernel each was.

Nsight Compute's report files, its CSV and its tables become the same observations under kdiag's own names and units
(`rules/metrics.toml`). A metric can be missing in many ways (absent, NaN, text, an unknown unit, a value that cannot
be); all of them leave it out of the observations.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kdiag.errors import ReportError, UsageError
from kdiag.records import Evidence, LaunchRole, Observations, number
from kdiag.rules.load_metrics import Metric, load_metrics

from .contents import Contents, Figure, RecordedLaunch
from .file import is_report_file, read_report_file
from .plausible import plausible
from .roles import role_of, shares
from .symbol import Constant, decode, python_name
from .units import convert

# Printed without unit whatever they measure, and then never scaled.
_UNITLESS = ("device__attribute_", "derived__l1tex__")


@dataclass(frozen=True)
class ReportLaunch:
    """One launch of a report. `index` counts over the whole report, `name` is the Python or C++ function.

    `share_pct` is its part of the time of all launches in the report; `constants` are the compile-time arguments that
    a cuTile symbol carries; `nvtx` the ranges around the launch.
    """

    index: int
    name: str
    symbol: str
    gpu_name: str | None
    observations: Observations = field(repr=False)
    role: LaunchRole = "kernel"
    share_pct: float | None = None
    constants: tuple[Constant, ...] = ()
    nvtx: tuple[str, ...] = ()

    @property
    def duration_us(self) -> float | None:
        """Time of the launch under the profiler, for diagnosis only: its clocks and caches are the profiler's."""
        return number(self.observations, "duration_us")


def read_launches(
    path: str | Path, kernel: str | None = None, launch_index: int | None = None
) -> tuple[ReportLaunch, ...]:
    """Return the launches of a report: all, those that match the regular expression `kernel`, or the one of an index.

    Raises ReportError when the file is not a readable report, holds no launch, is damaged (unless launches that are
    whole are asked for), or has no launch that matches; UsageError when `kernel` is not a regular expression or there
    is no such index; ToolMissing without the package ncu-report.
    """
    path = Path(path)
    contents = _contents(path)
    if contents.damage and (not contents.launches or (kernel is None and launch_index is None)):
        hint = ", or choose whole launches with --kernel or --launch-index" if contents.launches else ""
        raise ReportError(f"{path} {contents.damage}; copy or record it again{hint}.")
    if not contents.launches:
        raise ReportError(
            f"{path} holds no profiled launch: ncu was interrupted, matched no kernel, or had no permission for "
            "the counters (ERR_NVGPUCTRPERM); record it again and read ncu's last lines."
        )
    chosen = _matching(contents.launches, kernel, path)
    if launch_index is not None:
        chosen = [_existing(contents.launches, launch_index, chosen, path)]
    for index in chosen:
        if not contents.launches[index].whole:
            raise ReportError(f"{path} {contents.damage}, and launch {index} cannot; copy or record it again.")
    times = [None if contents.damage else _time(launch) for launch in contents.launches]
    parts = shares(times)
    return tuple(_launch(index, contents.launches[index], parts[index]) for index in chosen)


def _contents(path: Path) -> Contents:
    """Read the whole report, by what the file is, not by what it is called."""
    if path.exists() and not path.is_file():
        raise ReportError(f"{path} cannot be read, it is not a file: give the .ncu-rep file that `ncu -o` wrote.")
    try:
        with path.open("rb") as stream:
            start = stream.read(8)
        if is_report_file(start):
            return read_report_file(path)
        from .text import read_text_report  # report files are the usual case

        return read_text_report(path)
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror or error}.") from error


def _matching(launches: Sequence[RecordedLaunch], kernel: str | None, path: Path) -> list[int]:
    if kernel is None:
        return list(range(len(launches)))
    try:
        wanted = re.compile(kernel)
    except re.error as error:
        raise UsageError(f"--kernel {kernel!r} is not a regular expression: {error}.") from error
    whole = [(index, launch) for index, launch in enumerate(launches) if launch.whole]
    chosen = [index for index, launch in whole if wanted.search(_name(launch)) or wanted.search(launch.symbol)]
    if not chosen:
        seen = ", ".join(dict.fromkeys(_name(launch) for _, launch in whole))
        raise ReportError(f"No launch in {path} matches {kernel!r}; it holds: {seen or 'none that is whole'}.")
    return chosen


def _existing(launches: Sequence[RecordedLaunch], index: int, matching: Sequence[int], path: Path) -> int:
    if not 0 <= index < len(launches):
        raise UsageError(f"--launch-index {index}: the last launch in {path} is {len(launches) - 1}.")
    if index not in matching:
        raise UsageError(f"--launch-index {index} is a launch of {_name(launches[index])}, which --kernel leaves out.")
    return index


def _name(launch: RecordedLaunch) -> str:
    return python_name(launch.base_name)


def _launch(index: int, recorded: RecordedLaunch, share_pct: float | None) -> ReportLaunch:
    """Interpret one launch.

    A launch whose time is NaN was never measured (ncu writes NaN when the replay fails), and the zeros beside it
    are no counts either, so nothing of it is taken but how it was launched and on what.
    """
    metrics = load_metrics()
    times = [figure.value for name in metrics["duration_us"].names for figure in recorded.figures(name)]
    never_measured = any(map(math.isnan, times))
    found = {
        metric.name: evidence
        for metric in metrics.values()
        if not never_measured or metric.names[0].startswith(("launch__", "device__"))
        if (evidence := _read(recorded, metric)) is not None
    }
    decoded = decode(recorded.base_name)
    return ReportLaunch(
        index=index,
        name=_name(recorded),
        symbol=recorded.symbol,
        gpu_name=_product(recorded.gpu_name),
        observations=found,
        role=role_of(recorded.symbol),
        share_pct=share_pct,
        constants=decoded.constants if decoded else (),
        nvtx=recorded.nvtx,
    )


def _product(name: str | None) -> str | None:
    """A name with letters that is not ncu's way to write that there is none."""
    named = name is not None and any(map(str.isalpha, name)) and name.strip(" ()!").lower() not in ("n/a", "nan")
    return name if named else None


def _time(recorded: RecordedLaunch) -> float | None:
    read = _read(recorded, load_metrics()["duration_us"])
    return read.value if read is not None and isinstance(read.value, float) else None


def _read(recorded: RecordedLaunch, metric: Metric) -> Evidence | None:
    """Take the first figure, by the order of the names, that is finite, in a unit of the metric, and can be."""
    for name in metric.names:
        for figure in recorded.figures(name):
            value = _in_unit(figure, name, metric, recorded.base_units)
            if value is not None and plausible(value, metric.unit):
                return Evidence("metric", name, value, metric.unit, text=metric.meaning)
    return None


def _in_unit(figure: Figure, name: str, metric: Metric, base_units: bool) -> float | None:
    """The figure in the metric's unit, None when it is in a unit of something else.

    Nsight Compute prints some rates in the unit of their counts ("Tbyte"); the name tells that they are per second.
    """
    if figure.unit == "" and (base_units or name.startswith(_UNITLESS)):
        return figure.value * metric.scale
    per_second = name.endswith(".per_second") and not figure.unit.endswith(("hz", "/s", "second"))
    return convert(figure.value, figure.unit + "/s" if per_second else figure.unit, metric.unit)
