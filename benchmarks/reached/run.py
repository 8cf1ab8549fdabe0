"""What `kdiag auto` makes of kernels with a naive start, beside an exhaustive sweep and the library; needs a GPU.

    PYTHONPATH=src:benchmarks python benchmarks/reached/run.py OUT.json [--only NAME ...] [--pairs NAME ...] [--budget S]

The sweep is the best single step of `ranking/steps.json.xz`; of kernels named after --pairs it is the best that one or
two edits in a row make, each of which is checked and timed here. The results are then timed in one process. The kernel's
own trials are hidden from the planner. Journals are kept beside OUT; what comes of each kernel is printed as Markdown.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ranking.measure import Outcome, offered, timed
from ranking.records import ROOT, KernelSteps, folders, read
from reached.beside_job import Beside, BesideRequest, beside
from reached.space import space

from kdiag import isolate
from kdiag import workload as workloads
from kdiag.codec import encode
from kdiag.errors import KdiagError
from kdiag.executors.bench import Source
from kdiag.executors.device_bench import probe_gpu
from kdiag.isolate import Died
from kdiag.loop.compiler import Compiler
from kdiag.workload import Workload

STEPS = ROOT / "benchmarks/ranking/steps.json.xz"
WORTH = 1.01


@dataclass(frozen=True)
class Version:
    """Where a search ended: the steps that it took, its seconds, and how many candidates it ran on the GPU."""

    steps: tuple[str, ...]
    seconds: float
    tried: int


@dataclass(frozen=True)
class Reached:
    """One kernel; `rows` time the unedited kernel, what auto left, and what the sweep found, in this order."""

    kernel: str
    auto: Version
    stop_reason: str
    sweep: Version
    pairs: bool
    rows: tuple[Beside, ...]


def reach(folder: Path, known: KernelSteps, pairs: bool, scratch: Path) -> Reached:
    """Run auto, and the sweep, and time them. Raises KdiagError if one of them fails."""
    described = workloads.read(folder)
    assert isinstance(described, Workload)
    compiler = Compiler(described, described.kernel_file.name, "sm_90", scratch / "candidates")
    original = workloads.read_source(described.kernel_file)
    auto, text, reason = _auto(folder, described, scratch / "run")
    swept, best = _sweep(original, known, pairs, compiler)
    sources = tuple(Source.of(compiler.path(each)) for each in (original, text, best))
    answer = isolate.run(beside, BesideRequest(described, folder.name, sources), timeout_s=120.0)
    if isinstance(answer, Died):
        raise KdiagError(f"{folder.name}: timing failed: {answer.message}")
    return Reached(folder.name, auto, reason, swept, pairs, answer)


def _auto(folder: Path, described: Workload, run_dir: Path) -> tuple[Version, str, str]:
    """A run of auto in a process of its own, start-up included; the source that it left, and why it ended."""
    script = str(Path(__file__).with_name("auto_unaided.py"))
    words = [sys.executable, script, folder.name, str(folder), "--yes", "--json", "--no-experience"]
    began = time.monotonic()
    done = subprocess.run([*words, "--run-dir", str(run_dir)], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    if done.returncode:
        raise KdiagError(f"{folder.name}: auto ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    summary = json.loads(done.stdout)
    rows = [row for row in summary["iterations"] if row["n"] > 0]
    kept = tuple(f"{row['optimization']} {row['variant']}" for row in rows if row["verdict"] == "keep")
    target = run_dir / "worktree" / described.kernel_file.resolve().relative_to(ROOT)
    events = map(json.loads, (run_dir / "journal.jsonl").read_text().splitlines())
    raced = (standing for event in events if event["event"] == "race" for standing in event["standings"])
    lost = sum(standing["fate"] == "lost" for standing in raced)  # what won, or was wrong, is a row
    return Version(kept, seconds, len(rows) + lost), workloads.read_source(target), summary["stop_reason"]


def _sweep(original: str, known: KernelSteps, pairs: bool, compiler: Compiler) -> tuple[Version, str]:
    """The best single step as it was measured before, or with `pairs` the best of all that two edits make, and its source."""
    found, began = dict[str, tuple[tuple[str, ...], Outcome]](), time.monotonic()
    if pairs:
        names = space(original, known.kernel, compiler)
        found = {text: (names[text], one) for text, one in timed(list(names), original, compiler).items()}
    else:
        steps = {(step.optimization, step.variant): (step.outcome, step.speedups, step.spread) for step in known.steps}
        for made, text in offered(original, known.kernel, compiler):
            pair = (made.variant.optimization, made.variant.name)
            if pair in steps:
                found[text] = ((" ".join(pair),), steps[pair])
    seconds = time.monotonic() - began + (0.0 if pairs else known.gpu_s)
    best = max(found, key=lambda text: _gain(found[text][1]), default=original)
    if best not in found or _gain(found[best][1]) < WORTH:
        return Version((), seconds, len(found)), original
    return Version(found[best][0], seconds, len(found)), best


def _gain(outcome: Outcome) -> float:
    """The mean speed-up of what was timed and makes no configuration slower; else 0."""
    speedups = outcome[1]
    return statistics.geometric_mean(speedups) if speedups and min(speedups) > 1 / 1.02 else 0.0


def main() -> None:
    """Write after every kernel, so that a run that is cut short keeps what it has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--pairs", nargs="*", default=[])
    parser.add_argument("--budget", type=float, default=560.0)
    options = parser.parse_args()
    gpu = probe_gpu() or sys.exit("There is no CUDA GPU here.")
    known = {Path(each.folder).name: each for each in read(STEPS).kernels}
    ends, reached = time.monotonic() + options.budget, list[Reached]()
    with tempfile.TemporaryDirectory(prefix="kdiag-reached-") as scratch:
        for folder in folders():
            if folder.name not in (options.only or known) or time.monotonic() > ends:
                continue
            try:
                pairs = folder.name in options.pairs
                found = reach(folder, known[folder.name], pairs, Path(scratch) / folder.name)
            except KdiagError as error:
                print(f"{folder.name}: left out: {error}", flush=True)
                continue
            reached.append(found)
            journal = options.out.with_name(f"{folder.name}.journal.jsonl")
            shutil.copy(Path(scratch) / folder.name / "run/journal.jsonl", journal)
            options.out.write_text(
                json.dumps({"gpu": gpu.name, "date": time.strftime("%Y-%m-%d"), "kernels": encode(reached)})
            )
            print("\n".join(_lines(found)), flush=True)


def _lines(found: Reached) -> list[str]:
    """A line for each configuration; what concerns the whole kernel stands in the first."""
    sweep = f"{found.sweep.seconds:.0f} s, {found.sweep.tried} {'of one or two edits' if found.pairs else 'steps'}"
    whole, rows = [found.kernel, ", ".join(found.auto.steps) or "-", f"{found.auto.seconds:.0f} s", sweep], list[str]()
    for row in found.rows:
        name, kept, auto, swept = whole if not rows else [""] * 4
        before, ours, best = row.ms
        library = f"{row.library_ms / ours:.2f}" if row.library_ms else "-"
        after = f"{ours:.4f} ms ± {100 * row.spread[1]:.1f} %"
        cells = [name, f"{before:.4f} ms", after, f"{before / ours:.2f}x", kept, _share(row), f"{best / ours:.2f}"]
        rows.append(f"| {' | '.join([*cells, library, auto, swept])} |")
    return rows


def _share(row: Beside) -> str:
    """The share of what was measured in the same process, by whichever of the two takes longer; of a copy also of one that
    moves no more bytes.
    """
    copy = row.moved / row.copy_gbs / 1e6
    matrix = row.operations / row.matrix_tflops / 1e9 if row.matrix_tflops else 0.0
    same = f", {100 * row.copy_ms / row.ms[1]:.0f} % of one of its size" if copy >= matrix else ""
    return f"{100 * max(copy, matrix) / row.ms[1]:.0f} % of {'copy' if copy >= matrix else 'matrix'}{same}"


if __name__ == "__main__":
    main()
