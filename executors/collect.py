"""Profiles one launch of a workload with Nsight Compute.

`--clock-control none` always: the clocks of a shared card are not ours. The kernel is selected by name, or
PyTorch's own kernels (fills, random numbers) would be profiled with it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kdiag.workload import Workload

TIMEOUT_S = 120.0


@dataclass(frozen=True)
class NoCounters:
    """Why there is no report, in one sentence that says what to do."""

    reason: str


def find_ncu() -> str | None:
    """The ncu on PATH, else the newest below /opt/nvidia/nsight-compute or /usr/local/cuda; None if there is none."""
    if found := shutil.which("ncu"):
        return found
    places = [*Path("/opt/nvidia/nsight-compute").glob("*/ncu"), Path("/usr/local/cuda/bin/ncu")]
    return next((str(path) for path in sorted(places, reverse=True) if path.is_file()), None)


def collect(
    workload: Workload, source: Path, kernel: str, metrics: Sequence[str], report: Path
) -> Path | NoCounters:
    """Write `report` (.ncu-rep) with `metrics` of the second launch of `kernel` in the first configuration."""
    ncu = find_ncu()
    if ncu is None:
        return NoCounters(
            "Nsight Compute (ncu) is not installed; without it the plan rests on compiler and timing."
        )
    command = [
        *(ncu, "--clock-control", "none", "--import-source", "no", "--force-overwrite"),
        *("--kernel-name", f"regex:^{re.escape(kernel)}(_K|$)", "--launch-skip", "1", "--launch-count", "1"),
        *("--metrics", ",".join(metrics), "--export", str(report)),
        *(sys.executable, "-m", "kdiag.executors.profile_target", str(workload.path), str(source)),
    ]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return NoCounters(f"ncu did not end within {TIMEOUT_S:g} s.")
    return (
        report if done.returncode == 0 and report.is_file() else NoCounters(_why(done.stdout + done.stderr))
    )


def _why(output: str) -> str:
    if "ERR_NVGPUCTRPERM" in output:
        return (
            "The driver lets only administrators read GPU counters (ERR_NVGPUCTRPERM); run as root, or set "
            "NVreg_RestrictProfilingToAdminUsers=0 for the nvidia kernel module."
        )
    if "No kernels were profiled" in output:
        return "ncu profiled no kernel: the workload did not launch the target kernel twice."
    errors = [line.strip() for line in output.splitlines() if "==ERROR==" in line]
    return f"ncu failed: {errors[0] if errors else (output.strip().splitlines() or ['no output'])[-1]}"
