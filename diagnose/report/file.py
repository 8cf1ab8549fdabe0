"""Reads Nsight Compute report files (`.ncu-rep`, and `.ncu-repz`, the same compressed) through the package ncu-report.

The native reader is silent about what it leaves out, so the container is checked first; it runs in a process of its
own, `kdiag.diagnose.report.native`, which a damaged file may end.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kdiag.errors import ReportError, ToolMissing
from kdiag.rules.load_metrics import load_metrics

from .container import MAGIC, NEWEST, read_container
from .contents import Contents, Figure, RecordedLaunch
from .native import MISSING

ZSTD = b"\x28\xb5\x2f\xfd"  # how a .ncu-repz starts; ncu_report unpacks it
TIMEOUT_S = 300.0


def is_report_file(start: bytes) -> bool:
    """Whether a file that starts so is for this reader."""
    return start.startswith((MAGIC, ZSTD))


def read_report_file(path: Path) -> Contents:
    """Return what the report at `path` holds.

    Raises ReportError when its format is newer than known here, ToolMissing without the package ncu-report.
    """
    expected, whole = _expected(path)
    found = _native(path)
    if found is None:
        return Contents((), _damage(0))
    launches = tuple(_launch(each) for each in found)
    readable = sum(launch.whole for launch in launches)
    lost = not whole or readable < len(launches) or (expected is not None and readable != expected)
    return Contents(launches, _damage(readable) if lost else None)


def _native(path: Path) -> Sequence[Mapping[str, Any]] | None:
    """What the reader's process says of each launch; None if the file ended it, or kept it too long."""
    try:
        name = str(path).encode().decode()
    except UnicodeEncodeError:
        raise ReportError(f"The name of {path!r} is not UTF-8, which the report reader needs; rename it.") from None
    names = [name for metric in load_metrics().values() for name in metric.names]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kdiag.diagnose.report.native", name],
            input=json.dumps(names),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == MISSING:
        raise ToolMissing("Reading .ncu-rep files needs the package ncu-report: pip install ncu-report.")
    if done.returncode != 0:
        return None
    launches: Sequence[Mapping[str, Any]] = json.loads(done.stdout)["launches"]
    return launches


def _launch(found: Mapping[str, Any]) -> RecordedLaunch:
    known: Mapping[str, float] = found["figures"]

    def figures(name: str) -> Sequence[Figure]:
        return (Figure(known[name], ""),) if name in known else ()

    return RecordedLaunch(
        symbol=found["symbol"],
        base_name=found["base_name"],
        figures=figures,
        gpu_name=found["gpu_name"],
        nvtx=tuple(found["nvtx"]),
        base_units=True,
        whole=found["whole"],
    )


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
