"""Reads Nsight Compute report files (`.ncu-rep`, and `.ncu-repz`, the same compressed) through the package ncu-report.

The native reader survives anything (tried with a thousand mutated files) but is silent about what it leaves out, and
its parser logs to the process's standard error: the container is checked first, and the log is not shown.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kdiag.diagnose.report.container import MAGIC, NEWEST, read_container
from kdiag.diagnose.report.contents import Contents, Figure, RecordedLaunch
from kdiag.errors import ReportError, ToolMissing

ZSTD = b"\x28\xb5\x2f\xfd"  # how a .ncu-repz starts; ncu_report unpacks it

# What a result that is no single kernel is called, by ncu_report's IAction.WorkloadType_*.
_WORKLOADS = {1: "range", 2: "command list", 3: "graph", 4: "subgrid schedule"}


def is_report_file(start: bytes) -> bool:
    """Whether a file that starts so is for this reader."""
    return start.startswith((MAGIC, ZSTD))


def read_report_file(path: Path) -> Contents:
    """Return what the report at `path` holds.

    Raises ReportError when its format is newer than known here, ToolMissing without the package ncu-report.
    """
    try:
        import ncu_report  # loads a native library; only needed here
    except ImportError as error:
        raise ToolMissing(
            "Reading .ncu-rep files needs the package ncu-report: pip install ncu-report."
        ) from error
    try:
        name = str(path).encode().decode()
    except UnicodeEncodeError:
        raise ReportError(
            f"The name of {path!r} is not UTF-8, which the report reader needs; rename it."
        ) from None
    expected, whole = _expected(path)
    with _native_log_hidden():
        context = ncu_report.load_report(name)
        ranges = [context.range_by_idx(each) for each in range(context.num_ranges())]
        actions = [each.action_by_idx(index) for each in ranges for index in range(each.num_actions())]
        launches = tuple(_launch(action, context) for action in actions)
    readable = sum(launch.whole for launch in launches)
    lost = not whole or readable < len(launches) or (expected is not None and readable != expected)
    return Contents(launches, _damage(readable) if lost else None)


def _damage(readable: int) -> str:
    return f"is cut off or damaged: {readable or 'none'} of its launches can be read"


def _expected(path: Path) -> tuple[int | None, bool]:
    """The number of launches that the container announces, None if it is compressed, and whether it is whole."""
    with path.open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            return None, True
        container = read_container(stream, path.stat().st_size)
    if container.version > NEWEST:
        raise ReportError(
            f"{path} has version {container.version} of the report format and this kdiag reads up to {NEWEST}: "
            f"upgrade kdiag, or give what `ncu --import {path.name} --page raw --csv` prints."
        )
    return container.launches, container.whole


@contextmanager
def _native_log_hidden() -> Iterator[None]:
    """Point file descriptor 2 at nothing for a moment: the native reader logs there without being asked."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def _launch(action: Any, context: Any) -> RecordedLaunch:
    """One result; a launch without metrics is one whose end is missing.

    `context` owns the memory of all that is read through `action`, and lives as long as the launch does: the native
    reader does not count references, and a metric read after the context is gone ends the process.
    """

    def figures(name: str, _owner: Any = context) -> Sequence[Figure]:
        # `value()` of a metric with instances is the figure of the whole launch, for every name in metrics.toml.
        metric = action.metric_by_name(name)
        value = None if metric is None else metric.value()
        if metric is None or not isinstance(value, (int, float)):
            return ()
        return (Figure(float(value), ""),)  # base units; `unit()` ends a process in which torch is loaded (2025.3.1)

    kind = _WORKLOADS.get(action.workload_type(), "")
    name = action.name() or kind
    device = action.metric_by_name("device__attribute_display_name")
    return RecordedLaunch(
        symbol=action.name(action.NameBase_DEMANGLED) or name,
        base_name=name,
        figures=figures,
        gpu_name=_text(device.value()) if device is not None else None,
        nvtx=_nvtx(action),
        base_units=True,
        # Every whole launch has the card's name; listing all metrics, which takes a while, is for what else there may be.
        whole=bool(name) and (device is not None or len(action.metric_names()) > 0),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() and value.isprintable() else None


def _nvtx(action: Any) -> tuple[str, ...]:
    """The NVTX ranges around the launch, outermost first; those of other domains than the default with their domain."""
    state = action.nvtx_state()
    if state is None:
        return ()
    domains = [state.domain_by_id(each) for each in state.domains()]
    return tuple(
        text if domain.name() == "<default domain>" else f"{domain.name()}:{text}"
        for domain in domains
        for text in (*domain.push_pop_ranges(), *domain.start_end_ranges())
    )
