"""Puts sampled counters beside Nsight Compute's for the same kernels, in one run on a GPU machine.

    python benchmarks/pm_sampling_vs_ncu.py examples/softmax examples/matmul_bf16 > docs/pm-sampling.md

Prints one Markdown table: for each workload and metric the value sampled while the kernel runs back to back, the
value that Nsight Compute replayed for one launch, and their ratio; then what was held and how long both took.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from kdiag import isolate
from kdiag.diagnose.report.read import read_launches
from kdiag.executors.ncu.collect import NoCounters, collect
from kdiag.executors.pm_sampling import sample as pm_sampling
from kdiag.executors.pm_sampling.sample import PmCounters
from kdiag.records import Evidence, Observations
from kdiag.rules.load_metrics import load_metrics
from kdiag.workload import Workload, read

GIVEN = ("grid_", "sm_count", "capability_")  # known without a counter, so the same on both sides
HEAD = "| kernel | metric | unit | sampled | Nsight Compute | ratio | CUPTI metric |\n|---|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Compared:
    """One workload: what was sampled, what was replayed or why nothing was, and the wall time of each."""

    sampled: PmCounters
    replayed: Observations | NoCounters
    sampled_s: float
    replayed_s: float


def compare(workload: Workload, passes: Sequence[str]) -> Compared | NoCounters:
    """Sample the first configuration's kernel, then profile its launch for the metrics of the same names."""
    started = time.perf_counter()
    sampled = pm_sampling.sample(pm_sampling.request(workload, workload.kernel_file, passes=tuple(passes)))
    if isinstance(sampled, NoCounters):
        return sampled
    between = time.perf_counter()
    replayed = _replayed(workload, sampled)
    return Compared(sampled, replayed, between - started, time.perf_counter() - between)


def _replayed(workload: Workload, sampled: PmCounters) -> Observations | NoCounters:
    names = [load_metrics()[name].names[0] for name in _compared(sampled)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "counters.ncu-rep"
        answer = collect(workload, workload.kernel_file, sampled.kernel, names, report)
        return answer if isinstance(answer, NoCounters) else read_launches(answer)[0].observations


def _compared(sampled: PmCounters) -> dict[str, Evidence]:
    return {name: one for name, one in sampled.observations.items() if not name.startswith(GIVEN)}


def rows(compared: Compared) -> list[str]:
    """The rows of the table for one workload."""
    sampled = compared.sampled
    replayed = {} if isinstance(compared.replayed, NoCounters) else compared.replayed
    found = [_row(sampled.kernel, name, one, replayed.get(name)) for name, one in _compared(sampled).items()]
    seconds = f"{compared.sampled_s:.2f} | {compared.replayed_s:.2f}"
    return [*found, f"| {sampled.kernel} | wall time | s | {seconds} | - | with the start of the process |"]


def _row(kernel: str, name: str, sampled: Evidence, replayed: Evidence | None) -> str:
    mine, other = sampled.value, replayed.value if replayed else None
    theirs, ratio = "unavailable", "-"
    if isinstance(mine, int | float) and isinstance(other, int | float):
        theirs, ratio = f"{other:.4g}", f"{mine / other:.2f}" if other else "-"
    return f"| {kernel} | {name} | {sampled.unit} | {mine:.4g} | {theirs} | {ratio} | `{sampled.name}` |"


def remarks(compared: Compared) -> str:
    """What the window of one workload held, and what qualifies its values."""
    sampled = compared.sampled
    clock = f"{sampled.sm_clock_hz / 1e9:.2f} GHz" if sampled.sm_clock_hz else "unknown"
    notes = [*sampled.notes, *([compared.replayed.reason] if isinstance(compared.replayed, NoCounters) else [])]
    return " ".join(
        [
            f"* `{sampled.kernel}`: {sampled.launches} launches, the card busy for {sampled.busy_pct:.1f} %, a sample",
            f"every {sampled.interval_ns / 1000:g} us, SM clock {clock}, {sampled.seconds:.2f} s of sampling.",
            *notes,
        ]
    )


@click.command()
@click.argument("workloads", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--pass", "passes", multiple=True, default=("default",), help="A pass of the metric set; repeatable.")
def main(workloads: tuple[Path, ...], passes: tuple[str, ...]) -> None:
    """Compare sampled with replayed counters for each of WORKLOADS (a folder or a workload .py)."""
    isolate.warm_up()
    click.echo(HEAD)
    below: list[str] = []
    for path in workloads:
        described = read(path)
        if not isinstance(described, Workload):
            raise click.UsageError(f"{path} is not a Python workload.")
        compared = compare(described, passes)
        if isinstance(compared, NoCounters):
            below.append(f"* {path.name}: not sampled. {compared.reason}")
            continue
        click.echo("\n".join(rows(compared)))
        below.append(remarks(compared))
    click.echo("\n" + "\n".join(below))


if __name__ == "__main__":
    main()
