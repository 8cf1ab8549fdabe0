"""Reads Nsight Compute reports (`.ncu-rep`): the launches they hold and what was measured of each.

`ncu_report` accepts anything as a report without launches (an empty file, a text, random bytes) and a truncated
file as a report whose last launch is empty; both are failures here. A metric can be missing in three ways, absent,
None or NaN, and all of them leave it out of the observations.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kdiag.diagnose.metrics import number, with_derived
from kdiag.errors import ReportError, ToolMissing, UsageError
from kdiag.records import Evidence, Observations
from kdiag.rules.load_metrics import Metric, load_metrics

MAGIC = b"NVR\0"

# cuTile names a kernel `<python name>_K<signature>`; the signature starts with a lower-case calling convention
# and its number, as in softmax_k_Kt1_A2bf16_..., see cuda.tile.compilation.demangle_kernel_name.
_CUTILE_SYMBOL = re.compile(r"(?P<name>\w+?)_K[a-z]+\d+(_|$)")


@dataclass(frozen=True)
class ReportLaunch:
    """One launch of a report. `index` counts over the whole report, `name` is the Python function."""

    index: int
    name: str
    symbol: str
    gpu_name: str | None
    observations: Observations = field(repr=False)

    @property
    def duration_us(self) -> float | None:
        """Time of the launch under the profiler, for diagnosis only: its clocks and caches are the profiler's."""
        return number(self.observations, "duration_us")


def python_name(symbol: str) -> str:
    """Return the Python function behind a cuTile symbol, or any other symbol as it is."""
    match = _CUTILE_SYMBOL.match(symbol)
    return match["name"] if match else symbol


def read_launches(path: str | Path, kernel: str | None = None) -> tuple[ReportLaunch, ...]:
    """Return the launches of a report, only those whose name or symbol matches the regular expression `kernel`.

    Raises ReportError when the file is not a readable report, holds no launch, is cut off, or has no launch that
    matches; UsageError when `kernel` is not a regular expression; ToolMissing without the package ncu-report.
    """
    path = Path(path)
    actions = _actions(path)
    if not actions:
        raise ReportError(
            f"{path} holds no profiled launch: ncu was interrupted, matched no kernel, or had no permission for "
            "the counters (ERR_NVGPUCTRPERM); record it again and read ncu's last lines."
        )
    # A launch without metrics or without a name is one whose end is missing from the file.
    symbols = [(action.name() or "") if len(action.metric_names()) else "" for action in actions]
    chosen = _matching(symbols, kernel, path)
    for index in chosen:
        if not symbols[index]:
            raise ReportError(
                f"{path} is cut off: the last of its {len(actions)} launches is empty; copy or record it again, "
                "or name a kernel that is whole with --kernel."
            )
    return tuple(_launch(index, symbols[index], actions[index]) for index in chosen)


def _actions(path: Path) -> list[Any]:
    """Return ncu_report's object for each launch, over all ranges of the report."""
    if path.exists() and not path.is_file():
        raise ReportError(
            f"{path} cannot be read, it is not a file: give the .ncu-rep file that `ncu -o` wrote."
        )
    try:
        with path.open("rb") as stream:
            magic = stream.read(len(MAGIC))
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror or error}.") from error
    if magic != MAGIC:
        raise ReportError(
            f"{path} is not an Nsight Compute report (its first bytes are not NVR): "
            "give the .ncu-rep file that `ncu -o` wrote."
        )
    try:
        import ncu_report  # loads a native library; only needed here
    except ImportError as error:
        raise ToolMissing(
            "Reading .ncu-rep files needs the package ncu-report: pip install ncu-report."
        ) from error
    context = ncu_report.load_report(str(path))
    ranges = [context.range_by_idx(each) for each in range(context.num_ranges())]
    return [each.action_by_idx(index) for each in ranges for index in range(each.num_actions())]


def _matching(symbols: list[str], kernel: str | None, path: Path) -> list[int]:
    if kernel is None:
        return list(range(len(symbols)))
    try:
        wanted = re.compile(kernel)
    except re.error as error:
        raise UsageError(f"--kernel {kernel!r} is not a regular expression: {error}.") from error
    chosen = [
        index
        for index, symbol in enumerate(symbols)
        if symbol and (wanted.search(python_name(symbol)) or wanted.search(symbol))
    ]
    if not chosen:
        seen = ", ".join(dict.fromkeys(python_name(symbol) for symbol in symbols if symbol))
        raise ReportError(
            f"No launch in {path} matches {kernel!r}; it holds: {seen or 'none that is whole'}."
        )
    return chosen


def _launch(index: int, symbol: str, action: Any) -> ReportLaunch:
    """Read one launch.

    A launch whose time is NaN was never measured (ncu writes NaN when the replay fails), and the zeros beside it
    are no counts either, so nothing of it is taken but how it was launched and on what.
    """
    metrics = list(load_metrics().values())
    if _is_nan(action, load_metrics()["duration_us"]):
        metrics = [metric for metric in metrics if metric.names[0].startswith(("launch__", "device__"))]
    read = {metric.name: _read(action, metric) for metric in metrics}
    found = {name: evidence for name, evidence in read.items() if evidence is not None}
    device = action.metric_by_name("device__attribute_display_name")
    return ReportLaunch(
        index=index,
        name=python_name(symbol),
        symbol=symbol,
        gpu_name=device.value() if device is not None else None,
        observations=with_derived(found),
    )


def _is_nan(action: Any, metric: Metric) -> bool:
    found = [action.metric_by_name(name) for name in metric.names]
    values = [each.value() for each in found if each is not None]
    return any(isinstance(value, float) and math.isnan(value) for value in values)


def _read(action: Any, metric: Metric) -> Evidence | None:
    """Take the first of the names that holds a finite number.

    Reports of 2019 keep the units' own values beside most metrics (`num_instances() > 0`); `value()` is the figure
    of the whole launch all the same for every name in metrics.toml.
    """
    for name in metric.names:
        found = action.metric_by_name(name)
        value = None if found is None else found.value()
        if isinstance(value, (int, float)) and math.isfinite(value):
            return Evidence("metric", name, value * metric.scale, metric.unit, text=metric.meaning)
    return None
