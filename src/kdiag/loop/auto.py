"""`kdiag auto`: baseline, plan, one edit per iteration through the gates, keep or revert, until it is time to stop."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from kdiag import isolate
from kdiag.errors import AsksUser, RepositoryError
from kdiag.executors import repo
from kdiag.executors.decide import errors, speedup_so_far
from kdiag.executors.stopping import asks_user
from kdiag.journal import IterationDone, Journal, Note, Race, Stop, Tree
from kdiag.records import ConfigurationTiming, Iteration, Observations, Suggestion
from kdiag.reporters.commit_message import commit_message
from kdiag.reporters.escalation import escalation
from kdiag.reporters.terminal_auto import Terminal
from kdiag.workload import CommandWorkload

from . import baseline, headroom
from .attempt import Arena, Parent, Raced, attempt
from .candidates import Rounding
from .compiler import launched_kernel
from .experience import Memory
from .last_check import last_check
from .racing import Closed, Name
from .reached import Reached
from .request import Request
from .run_files import RunFiles
from .spent import Laps, laps
from .strategy import SMALL_GAIN, Strategy, text_of
from .target import described, goal


@dataclass
class Run:
    """A run in progress. The worktree holds the best verified source whenever no candidate is being tried.

    `limit` says why nothing that is left is worth the minutes that a candidate takes by commands, `over`
    why it had ended before, where nothing is measured now.
    """

    arena: Arena
    journal: Journal
    terminal: Terminal
    request: Request
    rounding: Rounding
    original: str
    memory: Memory | None = None
    iterations: list[Iteration] = field(default_factory=list)
    final: tuple[ConfigurationTiming, ...] = ()
    limit: str | None = None
    over: str = ""
    reached: Reached = field(init=False)
    files: RunFiles = field(init=False)
    strategy: Strategy = field(init=False)
    laps: Laps = field(init=False, default_factory=laps)

    def __post_init__(self) -> None:
        self.reached = Reached(self.arena.policy)
        self.files = RunFiles(self.arena, self.journal.path.parent / "patches")
        self.strategy = Strategy(self.arena, self.rounding, self.memory, on_note=self._note)

    def execute(self) -> str:
        """Run to the end and return the reason for it. The branch holds the best verified version at any moment."""
        next(self.laps)
        with self.arena.ahead:
            source, first = repo.current_source(self.arena.worktree), self._next_number()
            self.strategy.foresee(source, self.iterations)
            if self.arena.bench is not None:
                self._take_baseline()
                repo.revert(self.arena.worktree)  # commands measured the original there
            elif not self.over:
                baseline.emulate(self.arena, self.original)
            ended = None if self.request.resume is None else self.reached.stop(self.iterations, 1)
            reason = self.over or ended or self._search(self._replan(source))
            if waiting := self.strategy.waiting():
                self.terminal.on_note(waiting)
            best, checked = last_check(self.arena, self.original, self.iterations, self.terminal.on_note)
            for row in checked:
                self._amend(row)
            self._measure_final(best, first)
            repo.revert(self.arena.worktree)
            self._end(reason)
            return reason

    def _search(self, parent: Parent) -> str:
        """Try one candidate after the other; why it ends."""
        while (reason := self._stop()) is None:
            rows = len(self.iterations)
            parent = self._iterate(parent)
            if len(self.iterations) == rows:
                continue  # a race that nobody won
            if told := self.reached.round(self.iterations[-1], last=self._stop() is not None):
                self.terminal.on_note(told)
        return reason

    def leave_best(self) -> None:
        """Leave the best verified version in the worktree when a run fails, as far as git still answers."""
        with contextlib.suppress(RepositoryError):
            repo.revert(self.arena.worktree)

    def interrupt(self) -> None:
        """Leave the best verified version and a truthful journal when the user stops the run."""
        self.leave_best()
        self._end("interrupted by the user")

    def _take_baseline(self) -> None:
        """Measure the unedited kernel, as row 0 of a new run. Raises KdiagError if it fails or is wrong."""
        measured = baseline.measure(self.arena, self.original)
        if isinstance(self.arena.compiler.workload, CommandWorkload):
            self.terminal.on_note(self.arena.compiler.hear(measured.calls, self.original))
        usual = self.arena.policy.target_pct_of_peak
        assert self.arena.bench is not None
        wanted = goal(self.request.goal, usual, measured, self.arena.bench.gpu())
        if usual is not None or (wanted is not None and wanted.wanted is not None):
            self.terminal.on_note(described(wanted))
        self.reached.begin(measured, wanted, self.iterations)
        for line in headroom.describe(measured, headroom.times(measured)):
            self.terminal.on_note(f"unedited: {line}")
        if not any(row.n == 0 for row in self.iterations):
            self._record(baseline.row(measured))

    def _replan(self, source: str) -> Parent:
        """Observe the source anew, diagnose it and rank what can be done to it, or to what it launches in the kernel's place."""
        kernel = launched_kernel(self.arena.compiler, source, self.arena.kernel, self.original)
        if kernel != self.arena.kernel:
            self.terminal.on_note(f"{kernel} is launched in place of {self.arena.kernel}: the run goes on with it")
            self.arena = self.strategy.arena = replace(self.arena, kernel=kernel)
        report = self.request.report if source == self.original else None
        findings = self.strategy.observe(source, self._measured(source), report)
        diagnosis, known = findings.diagnosis, self.reached.baseline
        causes = ", ".join(f"{cause.id} {cause.score:.0%}" for cause in diagnosis.causes[:3])
        self.terminal.on_note(f"bottleneck {diagnosis.bottleneck} ({causes or 'no cause shown'})")
        if isinstance(self.arena.compiler.workload, CommandWorkload) and known is not None:
            told, at_limit = headroom.counted(findings, known, self.arena.policy.at_copy_pct)
            self.terminal.on_note(told)
            self.limit = f"at its limit: {told}" if at_limit else None
        if question := asks_user(self.arena.policy, diagnosis.bottleneck):
            self._end(question, "stopped to ask")
            evidence = escalation(question, diagnosis, self.iterations, self.journal.path.parent)
            raise AsksUser(question, evidence)
        parent = Parent(
            source,
            findings.compilation,
            speedup_so_far(self.iterations),
            errors=errors(self.iterations),
            least_ms=headroom.least(known),
        )
        return self._rank(parent)

    def _measured(self, source: str) -> Observations:
        """What timing says of the best version, and a profiler if there is one."""
        known = self.reached.baseline
        observed = {} if known is None else headroom.observations(known, self.reached.now_ms)
        if self.request.report is not None:
            return observed
        return {**observed, **baseline.counters(self.arena, source, self.terminal.on_note)}

    def _rank(self, parent: Parent) -> Parent:
        """Rank anew after what was tried, and keep the tree in the journal."""
        parent = self.strategy.rank(parent, self.iterations, self.reached.headroom())
        self.journal.append(Tree(self.strategy.state()))
        return parent

    def _iterate(self, parent: Parent) -> Parent:
        """One candidate: the next suggestion, or what wins a race against it; what was wrong in the race comes first."""
        suggestion = self.strategy.next()
        assert suggestion is not None
        self.terminal.on_try(self._next_number(), suggestion, self.reached.headroom())
        if suggestion.cause in self.strategy.tree.refuted:
            self.terminal.on_note(f"nothing is open but what is for {suggestion.cause}, which was refuted")
        started = time.monotonic()
        with isolate.ending_within(self.arena.policy.iteration_s):
            result = self.strategy.choose(suggestion, parent)
        spent = time.monotonic() - started
        if result.died is not None:
            self.terminal.on_note(f"no race: one by one, {result.died.message}")
        if result.standings:
            self.journal.append(Race(result.standings))
            self.journal.append(Tree(self.strategy.state()))
            for each in reversed(result.standings):
                self.terminal.on_note(f"{each.optimization} {each.variant} {each.fate}: {each.reason}")
        for racer, trial in result.wrong:
            if self._stop() is not None:
                return parent
            parent = self._try(racer, parent, {}, Raced(wrong=trial))
        if result.winner is None:
            return self._rank(parent)
        if (result.gain or 0) >= SMALL_GAIN:  # it will probably be kept
            self.strategy.foresee(text_of(result.winner), self.iterations)
        return self._try(result.winner, parent, result.beaten, Raced(0.0 if result.died else spent))

    def _try(self, suggestion: Suggestion, parent: Parent, beaten: Mapping[Name, Closed], raced: Raced) -> Parent:
        """One row: attempt the suggestion, unless a race showed that it is wrong, and settle what came of it."""
        assert suggestion.proposal is not None
        number = self._next_number()
        self.terminal.on_try(number, suggestion, self.reached.headroom())
        self.strategy.foresee_next(suggestion)
        row = attempt(number, suggestion.proposal, parent, self.arena, raced)
        paired = suggestion.explanation if "+" in row.optimization else ""
        row = replace(row, paired=paired, prediction=self.strategy.predict(row, suggestion, parent))
        return self._settle(row, suggestion, parent, beaten)

    def _stop(self) -> str | None:
        """Why the run ends before its next iteration, or None."""
        ended = self.strategy.next() is None
        if ended and self.arena.bench is None:
            return "every candidate that is worth a measurement is ready for one"
        reason = self.reached.stop(self.iterations, len(self.strategy.tree.open())) or self.limit
        least = self.arena.policy.least_expected_pct
        return reason or (f"no candidate left is expected to gain {least:g} %" if ended else None)

    def _settle(self, row: Iteration, suggestion: Suggestion, parent: Parent, beaten: Mapping[Name, Closed]) -> Parent:
        """Commit or revert, record the row, and plan anew if the source has changed."""
        worktree, source = self.arena.worktree, text_of(suggestion)
        if row.verdict == "keep":
            repo.write(worktree, source)  # a bench may have left another source there
            row = replace(row, commit=repo.commit(worktree, commit_message(row, suggestion)))
            self.reached.keep(row.timings)
        elif row.verdict == "ready":
            self.journal.append(self.files.save_patch(row))
        repo.revert(worktree)
        self._record(row)
        self.strategy.settle(row, suggestion, parent.source, beaten)
        self.journal.append(Tree(self.strategy.state()))
        if row.verdict != "keep":
            return self._rank(parent)
        self.arena.on_keep()
        if self.reached.stop(self.iterations, 1) is not None:
            return replace(parent, source=source)
        self.strategy.foresee(source, self.iterations)
        return self._replan(source)

    def _measure_final(self, best: str, first: int) -> None:
        """The original against the best: the figure the summary gives. `first`: the iteration that this process began with."""
        if self.reached.baseline is None or best == self.original:
            return
        self.final = baseline.trial_of_best(self.iterations, first)
        if self.final:
            self.terminal.on_note(
                "the trial of the one edit that is kept timed the original beside it: that is the comparison"
            )
        else:
            self.final = baseline.beside_best(self.arena, self.original, best)
        if not self.final:
            self.terminal.on_note("the last comparison of the original with the best version did not succeed")
        now = {timing.configuration: timing.candidate_ms for timing in self.final}
        for line in headroom.describe(self.reached.baseline, now):
            self.terminal.on_note(f"best version: {line}")

    def _note(self, text: str) -> None:
        self.journal.append(Note(text))
        self.terminal.on_note(text)

    def _record(self, row: Iteration) -> None:
        seconds, waited = next(self.laps)
        row = replace(row, seconds=seconds, waited=waited)
        self.journal.append(IterationDone(row))
        self.iterations.append(row)
        self.terminal.on_iteration(row, self.reached.headroom())
        self.files.write(self.iterations, self.reached)

    def _end(self, reason: str, told: str = "") -> None:
        self.journal.append(Stop(reason, datetime.now().astimezone().isoformat()))
        self.files.write_log(self.iterations, self.reached, told or reason)

    def _amend(self, row: Iteration) -> None:
        """What was found out later: the journal's last record of an iteration counts."""
        self.journal.append(IterationDone(row))
        self.iterations[:] = [row if known.n == row.n else known for known in self.iterations]
        self.strategy.record(row)
        self.files.write(self.iterations, self.reached)

    def _next_number(self) -> int:
        return max((row.n for row in self.iterations), default=0) + 1
