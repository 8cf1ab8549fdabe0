"""Checks and times on a GPU what `predict.py` let pass, each beside the unedited kernel, as `kdiag auto` does it.

    python benchmarks/edit_effects/measure.py PREDICTED.json MEASURED.json [--budget SECONDS]

A row takes about 4 seconds. After the budget the rows that are left are not measured, and say so.
"""

import argparse
import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TypedDict

from kdiag import workload as workloads
from kdiag.executors.bench import Trial
from kdiag.executors.device_bench import DeviceBench, probe_gpu
from kdiag.isolate import Died
from kdiag.records import Gpu
from kdiag.workload import Workload

ROOT = Path(__file__).parents[2]


class Gate(TypedDict):
    """One `GateRecord`."""

    gate: str
    outcome: str
    reason: str


class Row(TypedDict, total=False):
    """A row of `predict.py`, and what was measured of it."""

    workload: str
    optimization: str
    variant: str
    safety: str
    promises: list[str]
    gates: list[Gate]
    source: str
    died: str
    correct: bool
    wrong: dict[str, object] | None
    timings: list[dict[str, object]]


def measure(row: Row, gpu: Gpu, scratch: Path) -> None:
    """Put into the row what one trial gave."""
    found = workloads.read(ROOT / row["workload"])
    assert isinstance(found, Workload)
    candidate = scratch / found.kernel_file.name
    candidate.write_text(row["source"])
    trial = DeviceBench(found, gpu, (), lambda _path, _kernel: {}).trial(found.kernel_file, candidate)
    if isinstance(trial, Died):
        row["died"] = trial.message
    else:
        _record(row, trial)


def _record(row: Row, trial: Trial) -> None:
    wrong = next((check for check in trial.checks if not check.passed), None)
    row["correct"] = trial.passed
    row["wrong"] = None if wrong is None else asdict(wrong)
    row["timings"] = [asdict(timing) for timing in trial.timings]


def main() -> None:
    """Write the card, the date and the rows without their sources; print a line for each as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("predicted", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--budget", type=float, default=540.0)
    options = parser.parse_args()
    gpu = probe_gpu()
    if gpu is None:
        raise SystemExit("There is no CUDA GPU here.")
    rows: list[Row] = json.loads(options.predicted.read_text())
    ends = time.monotonic() + options.budget
    with tempfile.TemporaryDirectory(prefix="kdiag-effects-") as scratch:
        for number, row in enumerate(rows):
            stopped = any(gate["outcome"] == "failed" for gate in row["gates"])
            if not stopped and time.monotonic() < ends:
                (folder := Path(scratch) / str(number)).mkdir()
                measure(row, gpu, folder)
            elif not stopped:
                row["died"] = "not measured: the time was over"
            print(_line(row), flush=True)
    kept = [{name: value for name, value in row.items() if name != "source"} for row in rows]
    head = {"gpu": gpu.name, "date": time.strftime("%Y-%m-%d")}
    options.out.write_text(json.dumps({**head, "rows": kept}, indent=1))


def _line(row: Row) -> str:
    stopped = next((f"stopped by {g['gate']}" for g in row["gates"] if g["outcome"] == "failed"), "")
    times = " ".join(f"{timing['speedup']:.3f}" for timing in row.get("timings", []))
    wrong = f"WRONG {row['wrong']}" if row.get("wrong") else ""
    name = f"{row['workload'].rpartition('/')[2]:20} {row['optimization']:12} {row['variant']:36}"
    return f"{name} {stopped or wrong or row.get('died') or times}"


if __name__ == "__main__":
    main()
