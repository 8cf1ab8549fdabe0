"""`kdiag auto`: baseline, plan, one edit per iteration through the gates, keep or revert, until it is time to stop."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from kdiag.errors import AsksUser, KdiagError
from kdiag.executors import repo
from kdiag.executors.bench import Baseline, Counters, Trial
from kdiag.executors.decide import Progress, asks_user, gain_pct, round_status, speedup_so_far, stop_reason
from kdiag.executors.gates.no_op import machine_code
from kdiag.isolate import Died
from kdiag.journal import CandidateReady, IterationDone, Journal, Stop, Tree
from kdiag.loop import headroom
from kdiag.loop.attempt import Arena, Parent, attempt
from kdiag.loop.candidates import PlanRequest, Rounding, permitted, plan
from kdiag.loop.compiler import of_kernel
from kdiag.loop.experiments import write_log
from kdiag.loop.findings import Findings, gather
from kdiag.loop.target import NO_TARGET, Goal, Target, goal
from kdiag.planner.tree import PriorityTree, State, from_suggestions
from kdiag.records import CompileFailure, ConfigurationTiming, Evidence, Iteration, Suggestion
from kdiag.reporters.commit_message import commit_message
from kdiag.reporters.escalation import escalation
from kdiag.reporters.markdown import perf_results, write_atomically
from kdiag.reporters.terminal_auto import Terminal

# The least speed-up, by the optimistic end of its prior, for which an iteration is spent: the smallest gain that the
# TileGym policy goes on for.
WORTH_TRYING = 1.02
STATES: dict[str, State] = {
    "keep": "kept",
    "revert": "reverted",
    "crash": "crashed",
    "no-op": "no-op",
    "inconclusive": "inconclusive",
    "ready": "inconclusive",
}


@dataclass(frozen=True)
class Options:
    """What the user decided. `report` replaces a profile taken by the run; `rounding` as in `kdiag plan`."""

    rounding: Rounding
    report: Path | None = None
    target: Target = NO_TARGET


@dataclass
class Run:
    """A run in progress. The worktree holds the best verified source whenever no candidate is being tried."""

    arena: Arena
    journal: Journal
    terminal: Terminal
    options: Options
    original: str
    iterations: list[Iteration] = field(default_factory=list)
    baseline: Baseline | None = None
    now_ms: dict[str, float] = field(default_factory=dict)
    goal: Goal | None = None
    findings: Findings | None = None
    tree: PriorityTree | None = None
    final: tuple[ConfigurationTiming, ...] = ()
    earlier: set[tuple[str, ...]] = field(default_factory=set)
    started: float = field(default_factory=time.monotonic)

    def execute(self) -> str:
        """Run to the end and return the reason for it. The branch holds the best verified version at any moment."""
        if self.arena.bench is not None:
            self._take_baseline()
        parent = self._replan(repo.current_source(self.arena.worktree))
        while (reason := self._stop()) is None:
            suggestion = self._next()
            assert suggestion is not None
            assert suggestion.proposal is not None
            row = attempt(self._next_number(), suggestion.proposal, parent, self.arena)
            parent = self._settle(row, suggestion, parent)
            self._tell_round(self.iterations[-1])
        self._measure_final(parent.source)
        self.journal.append(Stop(reason, _now()))
        self._write_log(reason)
        return reason

    def interrupt(self) -> None:
        """Leave the best verified version and a truthful journal when the user stops the run."""
        repo.revert(self.arena.worktree)
        self.journal.append(Stop("interrupted by the user", _now()))
        self._write_log("interrupted by the user")

    def _take_baseline(self) -> None:
        """Measure the unedited kernel, as row 0 of a new run. Raises KdiagError if it fails or is wrong."""
        assert self.arena.bench is not None
        started = time.monotonic()
        answer = self.arena.bench.baseline(self.arena.compiler.path(self.original))
        if isinstance(answer, Died):
            raise KdiagError(
                f"The unedited kernel does not run: {answer.message}; repair it before tuning it."
            )
        if not answer.passed:
            wrong = next(check for check in answer.checks if not check.passed)
            raise KdiagError(
                f"The unedited kernel is wrong in {wrong.configuration} ({wrong.reason}); correct the kernel, the "
                "reference or the tolerance first."
            )
        self.baseline, self.now_ms = answer, headroom.times(answer)
        usual = self.arena.policy.target_pct_of_peak
        self.goal = goal(self.options.target, usual, answer, self.arena.bench.gpu())
        so_far = speedup_so_far(self.iterations)
        self.now_ms = {name: ms / so_far.get(name, 1.0) for name, ms in self.now_ms.items()}
        for line in headroom.describe(answer, self.now_ms):
            self.terminal.on_note(f"unedited: {line}")
        if not any(row.n == 0 for row in self.iterations):
            latency = sum(row.ms for row in answer.configurations) / len(answer.configurations)
            self._record(
                Iteration(
                    n=0,
                    optimization="baseline",
                    variant="",
                    title="baseline",
                    correctness="PASS",
                    latency_ms=latency,
                    speedup=None,
                    verdict="keep",
                    reason="",
                    checks=answer.checks,
                    seconds=time.monotonic() - started,
                )
            )

    def _replan(self, source: str) -> Parent:
        """Observe the source anew, diagnose it and rank what can be done to it."""
        arena = self.arena
        observed: dict[str, Evidence] = {}
        if self.baseline is not None:
            observed |= headroom.observations(self.baseline, self.now_ms)
        if arena.bench is not None and self.options.report is None:
            counters = arena.bench.counters(arena.compiler.path(source), arena.kernel)
            if isinstance(counters, Counters):
                observed |= counters.observations
            else:
                self.terminal.on_note(f"no profiler counters: {counters.message}")
        report = self.options.report if source == self.original else None
        self.findings = gather(source, arena.kernel, arena.compiler, report, observed)
        compilation = self.findings.compilation
        if isinstance(compilation, CompileFailure) and compilation.kind == "not-launched":
            raise KdiagError(f"{compilation.message}; name the workload of that kernel.")
        if arena.bench is None and isinstance(compilation, CompileFailure):
            raise KdiagError(
                f"Nothing can be verified here, without a GPU and without compiling: {compilation.message}"
            )
        diagnosis = self.findings.diagnosis
        causes = ", ".join(f"{cause.id} {cause.score:.0%}" for cause in diagnosis.causes[:3])
        self.terminal.on_note(f"bottleneck {diagnosis.bottleneck} ({causes or 'no cause shown'})")
        if question := asks_user(arena.policy, diagnosis.bottleneck):
            self.journal.append(Stop(question, _now()))
            self._write_log("stopped to ask")
            evidence = escalation(question, diagnosis, self.iterations, self.journal.path.parent)
            raise AsksUser(question, evidence)
        self.earlier.add(machine_code(self.findings.compilation))
        parent = Parent(source, self.findings.compilation, speedup_so_far(self.iterations))
        return self._rank(parent)

    def _rank(self, parent: Parent) -> Parent:
        """Merge the ranking, as it is after what was tried, into the tree; the parent with all code seen so far."""
        assert self.findings is not None
        tried = {(row.optimization, row.variant): row.verdict for row in self.iterations if row.n > 0}
        request = PlanRequest(
            parent.source,
            self.arena.kernel,
            self.findings,
            self.options.rounding,
            self._headroom(),
            tried,
            by_tier=self.arena.policy.by_tier,
        )
        suggestions = permitted(plan(request, self.arena.compiler), self.options.rounding)
        bottleneck = self.findings.diagnosis.bottleneck
        tree = self.tree or from_suggestions((), bottleneck)
        self.tree = replace(tree.merge(suggestions), bottleneck=bottleneck)
        self.journal.append(Tree(self.tree.as_dict()))
        return replace(parent, earlier=frozenset(self.earlier))

    def _next(self) -> Suggestion | None:
        """The next suggestion, unless at best it is expected to gain less than is worth an iteration."""
        assert self.tree is not None
        suggestion = self.tree.next_open()
        worth = suggestion is not None and suggestion.expected_speedup.high >= WORTH_TRYING
        return suggestion if worth else None

    def _stop(self) -> str | None:
        """Why the run ends before its next iteration, or None."""
        assert self.tree is not None
        reason = self._policy_stop(1 if self.tree.next_open() is not None else 0)
        if reason is None and self._next() is None and self.arena.bench is None:
            return "every candidate that is worth a measurement is ready for one"
        if reason is None and self._next() is None:
            return f"no candidate left is expected to gain {(WORTH_TRYING - 1) * 100:.0f} %"
        return reason

    def _policy_stop(self, open_candidates: int) -> str | None:
        return stop_reason(self.arena.policy, self.iterations, self._progress(open_candidates))

    def _tell_round(self, row: Iteration) -> None:
        """Where a run has a target: how the round ended, in the words of the optimization loop."""
        progress = self._progress(1)
        if progress.target is None or progress.metric is None or self.goal is None:
            return
        word = round_status(row, progress, last=self._stop() is not None)
        reached = f"{progress.metric:.4g} of {progress.target:.4g} {self.goal.unit}"
        self.terminal.on_note(f"round {row.n}: {word}, {reached}")

    def _progress(self, open_candidates: int) -> Progress:
        left = self._headroom()
        return Progress(
            open_candidates=open_candidates,
            elapsed_s=time.monotonic() - self.started,
            headroom_pct=None if left is None else (left - 1) * 100,
            metric=self.goal.rate(self.now_ms) if self.goal else None,
            target=self.goal.wanted if self.goal else None,
        )

    def _headroom(self) -> float | None:
        return None if self.baseline is None else headroom.headroom(self.baseline, self.now_ms)

    def _settle(self, row: Iteration, suggestion: Suggestion, parent: Parent) -> Parent:
        """Commit or revert, record the row, and plan anew if the source has changed."""
        assert self.tree is not None
        assert suggestion.proposal is not None
        assert suggestion.proposal.source is not None
        worktree = self.arena.worktree
        if row.verdict == "keep":
            repo.write(worktree, suggestion.proposal.source)  # a bench may have left another source there
            row = replace(row, commit=repo.commit(worktree, commit_message(row, suggestion.cause)))
        elif row.verdict == "ready":
            self._save_patch(row)
        repo.revert(worktree)
        self.tree = self.tree.record(row.optimization, row.variant, STATES[row.verdict], row.reason)
        self._record(row)
        compilation = self.arena.compiler.compile_one(suggestion.proposal.source)
        self.earlier.add(machine_code(of_kernel(compilation, self.arena.kernel)))
        if row.verdict != "keep":
            return self._rank(parent)
        if gain_pct(row.timings) < self.arena.policy.keep_pct:
            self.tree = self.tree.lower_priority(row.optimization)
        self.now_ms = headroom.after(row.timings, self.now_ms)
        if self._policy_stop(1) is not None:
            return replace(parent, source=suggestion.proposal.source)
        return self._replan(suggestion.proposal.source)

    def _measure_final(self, best: str) -> None:
        """The original against the best, interleaved in one process: the figure the summary gives."""
        arena = self.arena
        if arena.bench is None or best == self.original:
            return
        answer = arena.bench.trial(arena.compiler.path(self.original), arena.compiler.path(best))
        if isinstance(answer, Trial) and answer.passed:
            self.final = answer.timings
            assert self.baseline is not None
            now = {timing.configuration: timing.candidate_ms for timing in self.final}
            for line in headroom.describe(self.baseline, now):
                self.terminal.on_note(f"best version: {line}")
        else:
            self.terminal.on_note("the last comparison of the original with the best version did not succeed")

    def _record(self, row: Iteration) -> None:
        self.journal.append(IterationDone(row))
        self.iterations.append(row)
        self.terminal.on_iteration(row)
        write_atomically(self.results_file, perf_results(self.iterations))
        self._write_log("in progress")

    def _write_log(self, ending: str) -> None:
        if self.baseline is not None:
            write_log(self.arena, self.iterations, self.goal, headroom.times(self.baseline), ending)

    @property
    def results_file(self) -> Path:
        """`sandbox/perf_results.md` in the worktree, never part of a commit."""
        return repo.sandbox(self.arena.worktree) / "perf_results.md"

    @property
    def patches(self) -> Path:
        """The folder of candidates that wait for a GPU."""
        return self.journal.path.parent / "patches"

    def _save_patch(self, row: Iteration) -> None:
        self.patches.mkdir(exist_ok=True)
        path = self.patches / f"{row.n:02d}-{row.optimization}-{row.variant.replace(',', '-')}.patch"
        write_atomically(path, repo.patch(self.arena.worktree))
        self.journal.append(CandidateReady(row.optimization, row.variant, str(path), row.source_hash))

    def _next_number(self) -> int:
        return max((row.n for row in self.iterations), default=0) + 1


def _now() -> str:
    return datetime.now().astimezone().isoformat()
