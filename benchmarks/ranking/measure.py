"""Times every single step that any edit can make, on a GPU: what a planner's first suggestion is judged by.

    PYTHONPATH=src:benchmarks python benchmarks/ranking/measure.py STEPS.json.xz [--only NAME ...] [--budget SECONDS]

Each candidate is compiled, checked as `kdiag auto` checks the candidates of a race, and timed interleaved with the unedited kernel. About 20 s
a kernel on 16 cores. After the budget no further kernel is begun. `score.py` judges the rankings.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ranking.race_job import RaceRequest, race
from ranking.records import ROOT, KernelSteps, Measurements, Step, folders, write

from kdiag import isolate
from kdiag import workload as workloads
from kdiag.diagnose.report.read import read_launches
from kdiag.errors import KdiagError
from kdiag.executors.bench import Counters, Source, Trial
from kdiag.executors.device_bench import DeviceBench, compile_searches, probe_gpu
from kdiag.executors.device_jobs import TrialRequest, check
from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.registry import propose
from kdiag.executors.gates.no_op import machine_code
from kdiag.isolate import Died
from kdiag.loop import headroom
from kdiag.loop.compiler import Compiler, launches_of, of_kernel
from kdiag.loop.findings import choose_kernel
from kdiag.records import Compilation, CompileFailure, Gpu, Proposal, architecture
from kdiag.rules.load_metric_sets import counters, parse_capability
from kdiag.workload import Workload, source_hash

CHECKED_AT_ONCE, TIMED_AT_ONCE = 12, 10
SEARCH_S = 120.0  # for all configurations of all searches to compile
CHECK_S = 60.0  # an edit that tunes at its first call may take longer; it then counts as one that gave no answer
Outcome = tuple[str, tuple[float, ...], float]  # as in `Step`
UNTIMED = (), 0.0


def measure(folder: Path, gpu: Gpu, scratch: Path) -> KernelSteps:
    """Everything about one kernel. Raises KdiagError if the unedited kernel fails."""
    began = time.monotonic()
    found = workloads.read(folder)
    assert isinstance(found, Workload)
    target = architecture(gpu.compute_capability or "")
    compiler = Compiler(found, found.kernel_file.name, target, scratch)
    source = workloads.read_source(found.kernel_file)
    kernel = choose_kernel(source, folder.name, None)
    names = counters(parse_capability(gpu.compute_capability or ""))
    bench = DeviceBench(found, gpu, names, lambda report, name: read_launches(report, f"^{name}$")[0].observations)
    baseline = bench.baseline(compiler.path(source))
    if isinstance(baseline, Died) or not baseline.passed:
        raise KdiagError(f"{folder.name}: the unedited kernel fails: {baseline}")
    counted = bench.counters(compiler.path(source), kernel)
    observed = dict(headroom.observations(baseline, headroom.times(baseline)))
    observed |= counted.observations if isinstance(counted, Counters) else {}
    steps = steps_on(source, kernel, compiler)
    known = str(folder.relative_to(ROOT))
    timed = replace(baseline, checks=())  # all passed, or this were an error
    return KernelSteps(known, kernel, timed, observed, steps, time.monotonic() - began)


def offered(source: str, kernel: str, compiler: Compiler, before: Compilation = ()) -> list[tuple[Proposal, str]]:
    """What the edits make of a source, in the order offered; `before` as in `of_kernel`."""
    launches = launches_of(of_kernel(compiler.compile_one(source), kernel, before))
    subject = Subject(source, kernel, compiler.target, launches)
    return [(made, made.source) for made in propose(subject, compiler.file_name) if made.source is not None]


def steps_on(source: str, kernel: str, compiler: Compiler) -> tuple[Step, ...]:
    """Every step that an edit offers on a source, in the order offered."""
    everything = compiler.compile_one(source)
    parent, offers = of_kernel(everything, kernel), offered(source, kernel, compiler)
    compiled = compiler.compile([text for _, text in offers])
    seen, found = {machine_code(parent): "the parent"}, dict[str, Outcome]()
    for made, text in offers:
        reason = _stopped(of_kernel(compiled[source_hash(text)], kernel, everything), seen, made)
        if reason:
            found.setdefault(text, (reason, *UNTIMED))
    found |= timed([text for _, text in offers if text not in found], source, compiler)
    return tuple(Step(made.variant.optimization, made.variant.name, *found[text]) for made, text in offers)


def _stopped(candidate: Compilation, seen: dict[tuple[str, ...], str], made: Proposal) -> str | None:
    """Why a candidate need not run: it does not compile, or the same machine code has been seen."""
    if isinstance(candidate, CompileFailure):
        return f"crash: {candidate.message}"
    name = f"{made.variant.optimization} {made.variant.name}"
    same = seen.setdefault(machine_code(candidate), name)
    return None if same == name else f"no-op: the machine code of {same}"


def timed(texts: Sequence[str], source: str, compiler: Compiler) -> dict[str, Outcome]:
    """Check all, several at a time (which also fills the compiler's cache); time those that are right beside `source`."""
    workload, parent = compiler.workload, compiler.path(source)
    assert isinstance(workload, Workload)
    sources = [Source.of(compiler.path(text)) for text in texts]
    compile_searches(workload, sources, SEARCH_S)
    requests = [TrialRequest(workload, Source.of(parent), each) for each in sources]
    wrong = map(_wrong, isolate.run_all(check, requests, at_once=CHECKED_AT_ONCE, timeout_s=CHECK_S))
    found: dict[str, Outcome] = {text: (reason, *UNTIMED) for text, reason in zip(texts, wrong, strict=True) if reason}
    right = [text for text in texts if text not in found]
    for first in range(0, len(right), TIMED_AT_ONCE):
        found |= _race(workload, parent, right[first : first + TIMED_AT_ONCE], compiler.path)
    return found


def _wrong(answer: Trial | Died) -> str | None:
    if isinstance(answer, Died):
        return f"crash: {answer.message}"
    wrong = next((each for each in answer.checks if not each.passed), None)
    return f"wrong: {wrong.configuration}: {wrong.reason}" if wrong else None


def _race(workload: Workload, parent: Path, group: Sequence[str], path: Callable[[str], Path]) -> dict[str, Outcome]:
    request = RaceRequest(workload, Source.of(parent), tuple(Source.of(path(text)) for text in group))
    answer = isolate.run(race, request, timeout_s=120.0)
    if not isinstance(answer, Died):
        return {text: ("timed", *each) for text, each in zip(group, answer, strict=True)}
    if len(group) == 1:
        return {group[0]: (f"crash: {answer.message}", *UNTIMED)}
    alone = (_race(workload, parent, [text], path) for text in group)
    return {text: outcome for one in alone for text, outcome in one.items()}


def main() -> None:
    """Write after every kernel, so that a run that is cut short keeps what it has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--budget", type=float, default=560.0)
    options = parser.parse_args()
    gpu = probe_gpu() or sys.exit("There is no CUDA GPU here.")
    measured = Measurements(gpu.name, time.strftime("%Y-%m-%d"), ())
    ends = time.monotonic() + options.budget
    with tempfile.TemporaryDirectory(prefix="kdiag-ranking-") as scratch:
        for folder in folders():
            if (options.only and folder.name not in options.only) or time.monotonic() > ends:
                continue
            try:
                found = measure(folder, gpu, Path(scratch) / folder.name)
            except KdiagError as error:
                print(f"{folder.name}: left out: {error}", flush=True)
                continue
            measured = replace(measured, kernels=(*measured.kernels, found))
            write(options.out, measured)
            print(_line(found), flush=True)


def _line(found: KernelSteps) -> str:
    timed = sorted((s for s in found.steps if s.speedup is not None), key=lambda s: -(s.speedup or 0))
    best = ", ".join(f"{s.optimization} {s.variant} {s.speedup:.3f}" for s in timed[:3])
    return f"{Path(found.folder).name}: {len(found.steps)} steps, {len(timed)} timed, {found.gpu_s:.0f} s; {best}"


if __name__ == "__main__":
    main()
