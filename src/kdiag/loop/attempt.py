"""One candidate on its way: the gates that need no device, then the bench, then the verdict."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from kdiag import isolate
from kdiag.executors import repo, sanitizer
from kdiag.executors.bench import Bench, Trial
from kdiag.executors.decide import CandidateOutcome, confirmation, decide, needs_confirmation
from kdiag.executors.gates.correctness import correctness
from kdiag.executors.gates.emulation import GATE as EMULATION
from kdiag.executors.gates.scope import Protected, Texts, scope
from kdiag.executors.repo import Worktree
from kdiag.isolate import Died
from kdiag.records import Compilation, GateRecord, Iteration, Proposal, Verdict, failed
from kdiag.rules.load_policies import Policy
from kdiag.workload import source_hash

from .ahead import Ahead
from .compiler import Compiler
from .emulator import Emulator
from .inspection import Pair, inspect
from .spent import waiting


@dataclass(frozen=True)
class Arena:
    """What stays the same for all candidates of a run. `bench` is None where nothing can be measured.

    `on_gate` hears the name of what runs now, `on_keep` that there is something for the last check.
    """

    worktree: Worktree
    emulator: Emulator
    kernel: str
    bench: Bench | None
    policy: Policy
    protected: Mapping[Path, str | None] = field(default_factory=dict)
    memcheck: Callable[[Path], GateRecord] = sanitizer.unavailable
    on_gate: Callable[[str], None] = lambda _: None
    on_keep: Callable[[], None] = lambda: None
    ahead: Ahead = field(default_factory=Ahead)

    @property
    def compiler(self) -> Compiler:
        return self.emulator.compiler


@dataclass(frozen=True)
class Parent:
    """The best verified source so far, its speed-up over the baseline by configuration, the machine code of every
    candidate before it, its errors and the shortest times that the card allows, both by configuration.
    """

    source: str
    compilation: Compilation
    so_far: Mapping[str, float] = field(default_factory=dict)
    earlier: frozenset[tuple[str, ...]] = frozenset()
    errors: Mapping[str, float] = field(default_factory=dict)
    least_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Raced:
    """What a race has taken of an iteration, and what its checks said of a candidate that is `wrong`."""

    seconds: float = 0.0
    wrong: Trial | Died | None = None


def attempt(n: int, proposal: Proposal, parent: Parent, arena: Arena, raced: Raced) -> Iteration:
    """Write the candidate into the worktree, pass it through every gate, and say what became of it.

    The worktree holds the candidate afterwards; the caller commits or reverts. What takes longer than the policy gives
    an iteration, its race included, is ended, and is a crash.
    """
    with isolate.ending_within(arena.policy.iteration_s - raced.seconds):
        return _attempt(n, proposal, parent, arena, raced.wrong)


def _attempt(n: int, proposal: Proposal, parent: Parent, arena: Arena, wrong: Trial | Died | None) -> Iteration:
    assert proposal.source is not None
    if proposal.safety == "changes-rounding":
        parent = replace(parent, errors={})  # the tolerance alone decides
    repo.write(arena.worktree, proposal.source)
    cheap = (correctness(wrong),) if wrong is not None else _without_device(proposal, parent, arena)
    records, trial = cheap, wrong
    if wrong is None and failed(cheap) is None and arena.bench is not None:
        trial, measured_gates = _measure(arena.bench, proposal.source, parent, arena)
        records = (*cheap, *measured_gates)
    verdict = _verdict(records, trial, parent, arena)
    kept = trial if verdict.name == "keep" and isinstance(trial, Trial) else None
    if kept and arena.bench is not None and needs_confirmation(kept.timings, arena.policy):
        again, measured_gates = _measure(arena.bench, proposal.source, parent, arena)
        if isinstance(again, Died) and not isolate.time_left(math.inf):
            verdict = Verdict(
                "inconclusive", f"not confirmed: {again.message}, when the time of the iteration was over"
            )
        else:
            trial = again
            if isinstance(trial, Trial):
                trial = replace(trial, timings=confirmation(kept.timings, trial.timings))
            records = (*cheap, *measured_gates)
            verdict = _confirmed(verdict, _verdict(records, trial, parent, arena))
    measured = trial if isinstance(trial, Trial) else Trial((), ())
    return Iteration(
        n=n,
        optimization=proposal.variant.optimization,
        variant=proposal.variant.name,
        title=f"{proposal.title} ({proposal.variant.name})",
        correctness=_correctness(records, measured),
        latency_ms=_latency(measured),
        speedup=_speedup(measured),
        verdict=verdict.name,
        reason=verdict.reason,
        gates=records,
        timings=measured.timings,
        checks=measured.checks,
        source_hash=source_hash(proposal.source),
    )


def _correctness(records: Sequence[GateRecord], measured: Trial) -> Literal["PASS", "FAIL", "-"]:
    """What is known of the results: from the device, or that they are wrong already on the CPU."""
    if (refused := failed(records)) is not None and refused.gate == EMULATION:
        return "FAIL"
    return "-" if not measured.checks else "PASS" if measured.passed else "FAIL"


def _without_device(proposal: Proposal, parent: Parent, arena: Arena) -> tuple[GateRecord, ...]:
    """Gates 1 to 5."""
    assert proposal.source is not None
    exact = proposal.safety == "safe"
    pair = Pair(parent.source, proposal.source, proposal.promises, exact, parent.earlier, proposal.source)
    arena.on_gate("compile, effect, emulation")
    return inspect(pair, arena.kernel, arena.emulator, lambda: _scope(proposal.source, parent, arena))


def _scope(planned: str | None, parent: Parent, arena: Arena) -> GateRecord:
    protected = Protected(repo.changed_files(arena.worktree), arena.protected, repo.hash_files(arena.protected))
    return scope(protected, Texts(parent.source, planned, repo.current_source(arena.worktree)))


def _measure(bench: Bench, source: str, parent: Parent, arena: Arena) -> tuple[Trial | Died, tuple[GateRecord, ...]]:
    """One trial, and the gates after it: foreign code has run in the worktree, and it must not commit either."""
    head = repo.head(arena.worktree)
    arena.on_gate("correctness and time on the device")
    with waiting("trial"):
        trial = bench.trial(arena.compiler.path(parent.source), arena.compiler.path(source))
    after = replace(_scope(None, parent, arena), gate="scope after the run")
    if repo.head(arena.worktree) != head:
        after = replace(after, outcome="failed", reason="a command made a commit in the worktree")
    return trial, (after, correctness(trial))


def _verdict(records: tuple[GateRecord, ...], trial: Trial | Died | None, parent: Parent, arena: Arena) -> Verdict:
    outcome = CandidateOutcome(
        gates=records,
        died=trial.message if isinstance(trial, Died) else None,
        checks=trial.checks if isinstance(trial, Trial) else (),
        timings=trial.timings if isinstance(trial, Trial) else (),
        measured=arena.bench is not None,
        so_far=parent.so_far,
        parent_errors=parent.errors,
        least_ms=parent.least_ms,
    )
    return decide(outcome, arena.policy)


def _confirmed(first: Verdict, second: Verdict) -> Verdict:
    """The second measurement decides; a gain that it does not repeat is inconclusive."""
    if second.name == "inconclusive":
        return replace(second, reason=f"not confirmed: {second.reason}")
    return replace(second, reason=f"{second.reason} (confirmed)") if second.name == first.name else second


def _latency(trial: Trial) -> float | None:
    """The mean over configurations of the median device time, in ms."""
    return statistics.fmean(timing.candidate_ms for timing in trial.timings) if trial.timings else None


def _speedup(trial: Trial) -> float | None:
    """The geometric mean over configurations of the paired speed-up against the parent."""
    speedups = [timing.speedup for timing in trial.timings]
    return statistics.geometric_mean(speedups) if speedups else None
