"""One candidate on its way through the gates: scope, compile, no-op, effect, then the bench, then the verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.executors import gates, repo
from kdiag.executors.bench import Bench, Trial
from kdiag.executors.decide import CandidateOutcome, decide, needs_confirmation
from kdiag.executors.repo import Worktree
from kdiag.isolate import Died
from kdiag.loop.compiler import Compiler, of_kernel
from kdiag.records import Compilation, CompileFailure, GateRecord, Iteration, Observations, Proposal, Verdict
from kdiag.rules.load_policies import Policy
from kdiag.workload import source_hash


@dataclass(frozen=True)
class Arena:
    """What stays the same for all candidates of a run. `bench` is None where nothing can be measured."""

    worktree: Worktree
    compiler: Compiler
    kernel: str
    bench: Bench | None
    policy: Policy
    protected: Mapping[Path, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Parent:
    """The best verified source so far, its speed-up over the baseline by configuration, and the machine code of
    every candidate before it.
    """

    source: str
    compilation: Compilation
    so_far: Mapping[str, float] = field(default_factory=dict)
    earlier: frozenset[tuple[str, ...]] = frozenset()


def attempt(n: int, proposal: Proposal, parent: Parent, arena: Arena) -> Iteration:
    """Write the candidate into the worktree, pass it through every gate, and say what became of it.

    The worktree holds the candidate afterwards; the caller commits or reverts.
    """
    assert proposal.source is not None
    started = time.monotonic()
    repo.write(arena.worktree, proposal.source)
    compilation = of_kernel(arena.compiler.compile_one(proposal.source), arena.kernel)
    cheap = records = _without_gpu(proposal, compilation, parent, arena)
    refused = next((record for record in records if record.outcome == "failed"), None)
    trial: Trial | Died | None = None
    if refused is None and arena.bench is not None:
        trial, measured_gates = _measure(arena.bench, proposal.source, parent, arena)
        records = [*cheap, *measured_gates]
    verdict = _verdict(records, trial, parent, arena)
    unsure = isinstance(trial, Trial) and needs_confirmation(trial.timings, arena.policy)
    if verdict.name == "keep" and unsure and arena.bench is not None:
        trial, measured_gates = _measure(arena.bench, proposal.source, parent, arena)
        records = [*cheap, *measured_gates]
        verdict = _confirmed(verdict, _verdict(records, trial, parent, arena))
    measured = trial if isinstance(trial, Trial) else Trial((), ())
    return Iteration(
        n=n,
        optimization=proposal.variant.optimization,
        variant=proposal.variant.name,
        title=f"{proposal.title} ({proposal.variant.name})",
        correctness="-" if not measured.checks else "PASS" if measured.passed else "FAIL",
        latency_ms=_latency(measured),
        speedup=_speedup(measured),
        verdict=verdict.name,
        reason=verdict.reason,
        gates=tuple(records),
        timings=measured.timings,
        checks=measured.checks,
        source_hash=source_hash(proposal.source),
        seconds=time.monotonic() - started,
    )


def _scope(arena: Arena) -> GateRecord:
    return gates.scope(repo.changed_files(arena.worktree), arena.protected, repo.hash_files(arena.protected))


def _measure(
    bench: Bench, source: str, parent: Parent, arena: Arena
) -> tuple[Trial | Died, list[GateRecord]]:
    """One trial, and the gates after it: foreign code has run in the worktree, and it must not commit either."""
    head = repo.head(arena.worktree)
    trial = bench.trial(arena.compiler.path(parent.source), arena.compiler.path(source))
    scope = replace(_scope(arena), gate="scope after the run")
    if repo.head(arena.worktree) != head:
        scope = replace(scope, outcome="failed", reason="a command made a commit in the worktree")
    return trial, [scope, *_measured(trial)]


def _without_gpu(
    proposal: Proposal, compilation: Compilation, parent: Parent, arena: Arena
) -> list[GateRecord]:
    """The cheap gates in order, up to the first that fails."""
    checks: tuple[Callable[[], GateRecord], ...] = (
        lambda: _scope(arena),
        lambda: gates.compiles(compilation, parent.compilation),
        lambda: gates.not_a_no_op(compilation, parent.compilation, parent.earlier),
        lambda: gates.effect(proposal.promises, _observed(parent.compilation), _observed(compilation)),
    )
    records: list[GateRecord] = []
    for check in checks:
        records.append(check())
        if records[-1].outcome == "failed":
            break
    return records


def _measured(trial: Trial | Died) -> list[GateRecord]:
    """The correctness gate as the bench left it; whether it is faster is the verdict's business."""
    if isinstance(trial, Died):
        return [GateRecord("correctness", "could-not-run", trial.message)]
    wrong = next((check for check in trial.checks if not check.passed), None)
    if wrong is not None or not trial.checks:
        return []  # the verdict names the worst check; a record that failed here would hide its figures
    return [GateRecord("correctness", "passed", f"{len(trial.checks)} checks")]


def _observed(compilation: Compilation) -> Observations:
    return {} if isinstance(compilation, CompileFailure) else from_compilation(compilation)


def _verdict(records: list[GateRecord], trial: Trial | Died | None, parent: Parent, arena: Arena) -> Verdict:
    outcome = CandidateOutcome(
        gates=tuple(records),
        died=trial.message if isinstance(trial, Died) else None,
        checks=trial.checks if isinstance(trial, Trial) else (),
        timings=trial.timings if isinstance(trial, Trial) else (),
        measured=arena.bench is not None,
        so_far=parent.so_far,
    )
    return decide(outcome, arena.policy)


def _confirmed(first: Verdict, second: Verdict) -> Verdict:
    """The second measurement decides; a gain that it does not repeat is inconclusive."""
    if second.name == "inconclusive":
        return replace(second, reason=f"not confirmed: {second.reason}")
    return replace(second, reason=f"{second.reason} (confirmed)") if second.name == first.name else second


def _latency(trial: Trial) -> float | None:
    """The mean over configurations of the median device time, in ms."""
    if not trial.timings:
        return None
    return sum(timing.candidate_ms for timing in trial.timings) / len(trial.timings)


def _speedup(trial: Trial) -> float | None:
    """The geometric mean over configurations of the paired speed-up against the parent."""
    if not trial.timings:
        return None
    product = 1.0
    for timing in trial.timings:
        product *= timing.speedup
    return float(product ** (1 / len(trial.timings)))
