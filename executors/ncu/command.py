"""The command line of Nsight Compute (ncu), and what a run of it will cost.

`--clock-control none` always: the clocks of a shared card are not ours. `--log-file` keeps what ncu says apart from
what the command prints.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kdiag.errors import UsageError
from kdiag.rules.load_metric_sets import Capability, MetricSet, counters, metric_set, parse_capability

NVIDIA_SMI_S = 20.0


@dataclass(frozen=True)
class NcuOptions:
    """What to profile, and how much of it.

    `set_name` is a set of `metric_sets.toml`; `kernel` a regular expression on the Python name or the symbol;
    `launch_skip` and `launch_count` count launches of these kernels; `nvtx_include` are expressions of ncu's
    `--nvtx-include`; `timeout_s` bounds the whole run. With `kill` the command ends with its last profiled launch.
    """

    set_name: str = "minimal"
    kernel: str | None = None
    launch_skip: int = 0
    launch_count: int | None = None
    nvtx_include: tuple[str, ...] = ()
    timeout_s: float = 600.0
    kill: bool = False


@dataclass(frozen=True)
class Cost:
    """What profiling adds to a command; passes and seconds are the estimates of `metric_sets.toml`."""

    metrics: MetricSet
    launches: int | None

    def sentence(self) -> str:
        """One line for the user, before the run starts."""
        each = f"about {self.metrics.passes} passes and {self.metrics.seconds_per_launch:g} s a launch"
        total = (
            "for every launch of the command (--launch-count bounds them)"
            if self.launches is None
            else f"{self.launches * self.metrics.seconds_per_launch:.1f} s for {self.launches} of them"
        )
        return f"Set {self.metrics.name}: {each}, {total}; estimated from {self.metrics.source}."


def estimate(options: NcuOptions) -> Cost:
    """Return the cost of a run. ncu itself tells the number of passes only after the first launch.

    Raises UsageError for an unknown set.
    """
    return Cost(metric_set(options.set_name), options.launch_count)


def find_ncu() -> str | None:
    """The ncu on PATH, else the newest below /opt/nvidia/nsight-compute, else the CUDA toolkit's; None if there is none."""
    if found := shutil.which("ncu"):
        return found
    installed = sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True)
    places = [*installed, Path("/usr/local/cuda/bin/ncu")]
    return next((str(path) for path in places if path.is_file()), None)


def compute_capability() -> Capability | None:
    """The lowest compute capability of this machine's cards, by nvidia-smi; None when it cannot tell."""
    try:
        done = subprocess.run(
            ("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=NVIDIA_SMI_S,
            check=True,
        )
        return min(parse_capability(line) for line in done.stdout.splitlines() if line.strip())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def what_to_collect(chosen: MetricSet, capability: Capability | None) -> tuple[str, ...]:
    """Return ncu's arguments for a set, for a chip of this capability."""
    if chosen.ncu_set:
        return ("--set", chosen.ncu_set)
    if chosen.sections:
        return tuple(word for section in chosen.sections for word in ("--section", section))
    return ("--metrics", ",".join(counters(capability)))


def kernel_filter(kernel: str) -> str:
    """Return ncu's regular expression for a user's.

    ncu matches symbols, and a cuTile symbol is `<python name>_K<signature>`: an end that the user asks for is the end
    of the Python name as well. Raises UsageError when `kernel` is not a regular expression.
    """
    try:
        re.compile(kernel)
    except re.error as error:
        raise UsageError(f"--kernel {kernel!r} is not a regular expression: {error}.") from error
    return kernel[:-1] + "(_K|$)" if re.search(r"(?<!\\)(\\\\)*\$$", kernel) else kernel


def command_line(
    ncu: str, what: Sequence[str], options: NcuOptions, report: Path, log: Path, command: Sequence[str]
) -> list[str]:
    """Return the whole command line: ncu, its options, and the command to be profiled.

    ncu never gets `--force-overwrite`; a per cent sign in a path is doubled, or ncu takes it for a macro.
    """
    words = [ncu, "--clock-control", "none", "--import-source", "no", "--target-processes", "all", *what]
    if options.kernel is not None:
        words += ["--kernel-name", f"regex:{kernel_filter(options.kernel)}"]
    if options.launch_skip:
        words += ["--launch-skip", str(options.launch_skip)]
    if options.launch_count is not None:
        words += ["--launch-count", str(options.launch_count)]
    if options.kill:
        words += ["--kill", "yes"]
    if options.nvtx_include:
        words += ["--nvtx", *(word for each in options.nvtx_include for word in ("--nvtx-include", each))]
    words += ["--export", _literal(report), "--log-file", _literal(log)]
    return [*words, *command]


def _literal(path: Path) -> str:
    return str(path.absolute()).replace("%", "%%")
