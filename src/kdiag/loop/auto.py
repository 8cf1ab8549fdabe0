"""`kdiag auto`: baseline, plan, one edit per iteration through the gates, keep or revert, until it is time to stop."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from kdiag.errors import AsksUser, RepositoryError
from kdiag.executors import repo
from kdiag.executors.bench import Baseline, Counters, Trial
from kdiag.executors.decide import Progress, asks_user, errors, round_status, speedup_so_far, stop_reason
from kdiag.executors.gates.no_op import machine_code
from kdiag.journal import CandidateReady, IterationDone, Journal, Race, Stop, Tree
from kdiag.loop import baseline, headroom
from kdiag.loop.attempt import Arena, Parent, attempt
from kdiag.loop.candidates import Rounding
from kdiag.loop.compiler import of_kernel
from kdiag.loop.experience import Memory
from kdiag.loop.experiments import write_log
from kdiag.loop.last_check import last_check
from kdiag.loop.strategy import WORTH_TRYING, Strategy, text_of
from kdiag.loop.target import NO_TARGET, Goal, Target, goal
from kdiag.records import ConfigurationTiming, Evidence, Iteration, Observations, Suggestion
from kdiag.reporters.commit_message import commit_message
from kdiag.reporters.escalation import escalation
from kdiag.reporters.markdown import perf_results, write_atomically
from kdiag.reporters.terminal_auto import Terminal


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
    memory: Memory | None = None
    iterations: list[Iteration] = field(default_factory=list)
    baseline: Baseline | None = None
    now_ms: dict[str, float] = field(default_factory=dict)
    goal: Goal | None = None
    final: tuple[ConfigurationTiming, ...] = ()
    started: float = field(default_factory=time.monotonic)
    strategy: Strategy = field(init=False)

    def __post_init__(self) -> None:
        self.strategy = Strategy(self.arena, self.options.rounding, self.memory)

    def execute(self) -> str:
        """Run to the end and return the reason for it. The branch holds the best verified version at any moment."""
        if self.arena.bench is not None:
            self._take_baseline()
            repo.revert(self.arena.worktree)  # commands measured the original there
        parent = self._replan(repo.current_source(self.arena.worktree))
        while (reason := self._stop()) is None:
            parent = self._iterate(parent)
            self._tell_round(self.iterations[-1])
        best, checked = last_check(self.arena, self.original, self.iterations, self.terminal.on_note)
        for row in checked:
            self._amend(row)
        self._measure_final(best)
        repo.revert(self.arena.worktree)
        self.journal.append(Stop(reason, _now()))
        self._write_log(reason)
        return reason

    def leave_best(self) -> None:
        """Leave the best verified version in the worktree when a run fails, as far as git still answers."""
        with contextlib.suppress(RepositoryError):
            repo.revert(self.arena.worktree)

    def interrupt(self) -> None:
        """Leave the best verified version and a truthful journal when the user stops the run."""
        self.leave_best()
        self.journal.append(Stop("interrupted by the user", _now()))
        self._write_log("interrupted by the user")

    def _take_baseline(self) -> None:
        """Measure the unedited kernel, as row 0 of a new run. Raises KdiagError if it fails or is wrong."""
        started = time.monotonic()
        self.baseline = baseline.measure(self.arena, self.original)
        usual = self.arena.policy.target_pct_of_peak
        assert self.arena.bench is not None
        self.goal = goal(self.options.target, usual, self.baseline, self.arena.bench.gpu())
        so_far = speedup_so_far(self.iterations)
        self.now_ms = {name: ms / so_far.get(name, 1.0) for name, ms in headroom.times(self.baseline).items()}
        for line in headroom.describe(self.baseline, self.now_ms):
            self.terminal.on_note(f"unedited: {line}")
        if not any(row.n == 0 for row in self.iterations):
            self._record(baseline.row(self.baseline, time.monotonic() - started))

    def _replan(self, source: str) -> Parent:
        """Observe the source anew, diagnose it and rank what can be done to it."""
        report = self.options.report if source == self.original else None
        findings = self.strategy.observe(source, self._measured(source), report)
        diagnosis = findings.diagnosis
        causes = ", ".join(f"{cause.id} {cause.score:.0%}" for cause in diagnosis.causes[:3])
        self.terminal.on_note(f"bottleneck {diagnosis.bottleneck} ({causes or 'no cause shown'})")
        if question := asks_user(self.arena.policy, diagnosis.bottleneck):
            self.journal.append(Stop(question, _now()))
            self._write_log("stopped to ask")
            evidence = escalation(question, diagnosis, self.iterations, self.journal.path.parent)
            raise AsksUser(question, evidence)
        parent = Parent(
            source,
            findings.compilation,
            speedup_so_far(self.iterations),
            errors=errors(self.iterations),
            least_ms=headroom.least(self.baseline),
        )
        return self._rank(parent)

    def _measured(self, source: str) -> Observations:
        """What timing says of the best version, and a profiler if there is one."""
        arena, observed = self.arena, dict[str, Evidence]()
        if self.baseline is not None:
            observed |= headroom.observations(self.baseline, self.now_ms)
        if arena.bench is not None and self.options.report is None:
            arena.on_gate("profile")
            counters = arena.bench.counters(arena.compiler.path(source), arena.kernel)
            if isinstance(counters, Counters):
                observed |= counters.observations
            else:
                self.terminal.on_note(f"no profiler counters: {counters.message}")
        return observed

    def _rank(self, parent: Parent) -> Parent:
        """Rank anew after what was tried, and keep the tree in the journal."""
        parent = self.strategy.rank(parent, self.iterations, self._headroom())
        self.journal.append(Tree(self.strategy.tree.as_dict()))
        return parent

    def _iterate(self, parent: Parent) -> Parent:
        """One candidate: the next suggestion, or the best of its siblings; what was wrong in their race comes first."""
        suggestion = self.strategy.next()
        assert suggestion is not None
        self.terminal.on_try(self._next_number(), suggestion, self._headroom())
        result = self.strategy.choose(suggestion, parent)
        if result.died is not None:
            self.terminal.on_note(f"{suggestion.optimization}: one by one, {result.died.message}")
        if result.standings:
            self.journal.append(Race(suggestion.optimization, result.standings))
            for each in reversed(result.standings):
                self.terminal.on_note(f"{suggestion.optimization} {each.variant} {each.fate}: {each.reason}")
        for racer, trial in result.wrong:
            parent = self._try(racer, parent, {}, trial)
        return parent if result.winner is None else self._try(result.winner, parent, result.closed)

    def _try(
        self, suggestion: Suggestion, parent: Parent, closed: Mapping[str, str], wrong: Trial | None = None
    ) -> Parent:
        """One row: attempt the suggestion, unless a race showed that it is wrong, and settle what came of it."""
        assert suggestion.proposal is not None
        number = self._next_number()
        self.terminal.on_try(number, suggestion, self._headroom())
        row = attempt(number, suggestion.proposal, parent, self.arena, wrong)
        row = replace(row, prediction=self.strategy.predict(row, suggestion, parent))
        return self._settle(row, suggestion, parent, closed)

    def _stop(self) -> str | None:
        """Why the run ends before its next iteration, or None."""
        reason = self._policy_stop(1 if self.strategy.tree.next_open() is not None else 0)
        if reason is None and self.strategy.next() is None and self.arena.bench is None:
            return "every candidate that is worth a measurement is ready for one"
        if reason is None and self.strategy.next() is None:
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

    def _settle(
        self, row: Iteration, suggestion: Suggestion, parent: Parent, closed: Mapping[str, str]
    ) -> Parent:
        """Commit or revert, record the row, and plan anew if the source has changed."""
        worktree, source = self.arena.worktree, text_of(suggestion)
        if row.verdict == "keep":
            repo.write(worktree, source)  # a bench may have left another source there
            row = replace(row, commit=repo.commit(worktree, commit_message(row, suggestion)))
        elif row.verdict == "ready":
            self._save_patch(row)
        repo.revert(worktree)
        self._record(row)
        self.strategy.settle(row, closed, parent.source)
        compilation = self.arena.compiler.compile_one(source)
        self.strategy.earlier.add(machine_code(of_kernel(compilation, self.arena.kernel)))
        if row.verdict != "keep":
            return self._rank(parent)
        self.now_ms = headroom.after(row.timings, self.now_ms)
        if self._policy_stop(1) is not None:
            return replace(parent, source=source)
        return self._replan(source)

    def _measure_final(self, best: str) -> None:
        """The original against the best: the figure the summary gives."""
        if self.arena.bench is None or best == self.original:
            return
        self.final = baseline.beside_best(self.arena, self.original, best)
        if not self.final:
            self.terminal.on_note("the last comparison of the original with the best version did not succeed")
            return
        assert self.baseline is not None
        now = {timing.configuration: timing.candidate_ms for timing in self.final}
        for line in headroom.describe(self.baseline, now):
            self.terminal.on_note(f"best version: {line}")

    def _record(self, row: Iteration) -> None:
        self.journal.append(IterationDone(row))
        self.iterations.append(row)
        self.terminal.on_iteration(row)
        self.write_results()

    def write_results(self) -> None:
        """Write the table of all iterations; also when a run is resumed that was killed before it could."""
        write_atomically(self.results_file, perf_results(self.iterations))
        self._write_log("in progress")

    def _write_log(self, ending: str) -> None:
        if self.baseline is not None:
            write_log(self.arena, self.iterations, self.goal, headroom.times(self.baseline), ending)

    def _amend(self, row: Iteration) -> None:
        """What was found out later: the journal's last record of an iteration counts."""
        self.journal.append(IterationDone(row))
        self.iterations[:] = [row if known.n == row.n else known for known in self.iterations]
        self.write_results()

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
