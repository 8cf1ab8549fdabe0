"""What is known of the best source and what is to be tried next: findings, the priority tree, and what it has learnt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.errors import KdiagError
from kdiag.executors.bench import Counters, Heat, Races, Samples, Trial
from kdiag.executors.command_bench import RUNS
from kdiag.executors.decide import gain_pct
from kdiag.executors.gates.no_op import machine_code
from kdiag.isolate import Died
from kdiag.planner.compile_evidence import effect
from kdiag.planner.order import next_tiers
from kdiag.planner.predictions import check, predicted
from kdiag.planner.search import racers, searches
from kdiag.planner.tree import PriorityTree, State, from_suggestions, remembered
from kdiag.records import (
    Compilation,
    CompileFailure,
    Effect,
    Iteration,
    Observations,
    Prediction,
    Proposal,
    Suggestion,
    parts,
)
from kdiag.workload import CommandWorkload, Workload

from .ahead import AskedOnce
from .attempt import Arena, Parent
from .candidates import NOTHING, WAITS, PlanRequest, Rounding, permitted, plan, proposed
from .compiler import in_place, registers
from .experience import Memory
from .findings import Findings, gather
from .pairing import Known, with_pairs
from .racing import MOST, Closed, Name, Result, race
from .spent import waiting

SMALL_GAIN = 1.02  # the smallest speed-up that the TileGym policy goes on for
NEXT = 2  # candidates that are emulated while another is measured
STATES: dict[str, State] = {
    "keep": "kept",
    "revert": "reverted",
    "crash": "crashed",
    "no-op": "no-op",
    "inconclusive": "inconclusive",
    "ready": "ready",
}


@dataclass
class Strategy:
    """The plan as it lives through a run. `raced` is what races closed; `one_by_one` what was in a
    race that could not be held; `earlier` the machine code of everything tried; `memory` what earlier runs learnt.
    `on_note` hears what no row says.
    """

    arena: Arena
    rounding: Rounding
    memory: Memory | None = None
    findings: Findings | None = None
    tree: PriorityTree = field(default_factory=lambda: from_suggestions(()))
    raced: dict[Name, Closed] = field(default_factory=dict)
    one_by_one: set[Name] = field(default_factory=set)
    earlier: set[tuple[str, ...]] = field(default_factory=set)
    on_note: Callable[[str], None] = lambda _: None
    _samples: dict[str, Observations] = field(default_factory=dict)
    _sampling: bool = True
    _proposed: AskedOnce[str, tuple[Proposal, ...]] = field(default_factory=lambda: AskedOnce({}))

    def state(self) -> dict[str, object]:
        """For the journal: the tree, and what races closed."""
        return {**self.tree.as_dict(), "raced": [[*name, *astuple(closed)] for name, closed in self.raced.items()]}

    def remember(self, known: Mapping[str, object], *, kept: bool) -> None:
        """Take up what the journal's last tree had learnt: refuted causes, lowered optimizations, races. `kept` says that
        an edit was kept after that.
        """
        self.tree = remembered(known)
        raced = cast("list[tuple[str, str, Literal['outraced', 'no-gain'], str, float]]", known.get("raced", []))
        self.raced = {(o, v): Closed(state, reason, speedup) for o, v, state, reason, speedup in raced}
        if kept:
            self._reopen()

    def observe(self, source: str, measured: Observations, report: Path | None) -> Findings:
        """Observe a new best source and diagnose it. Raises KdiagError where nothing can be done with it."""
        found = gather(source, self.arena.kernel, self.arena.compiler, report, measured)
        failure = found.compilation
        whole = isinstance(self.arena.compiler.workload, Workload)  # a benchmark's launches may not have been heard
        if whole and isinstance(failure, CompileFailure) and failure.kind == "not-launched":
            raise KdiagError(f"{failure.message}; name the workload of that kernel.")
        if self.arena.bench is None and isinstance(failure, CompileFailure):
            raise KdiagError(f"Nothing can be verified here, without a GPU and without compiling: {failure.message}")
        self.findings = found
        self.earlier.add(machine_code(found.compilation))
        return found

    def foresee(self, source: str, rows: Sequence[Iteration]) -> None:
        """Begin what planning for `source` will ask for, while it is measured.

        Without its counters the plan is a guess, of which only what was compiled and emulated remains.
        """
        workload = self.arena.compiler.workload
        if isinstance(workload, CommandWorkload) and not workload.calls:
            return  # what is proposed without its launches would remain, too
        self.arena.ahead.begin(self._emulate, source)
        self.arena.ahead.begin(self._guess, source, tuple(rows))

    def foresee_next(self, suggestion: Suggestion) -> None:
        """Begin what comes after the suggestion if it is not kept."""
        later = [one for one in self.tree.open() if one is not suggestion and self._worth(one)]
        later.sort(key=lambda one: self.arena.policy.by_tier and one.tier == suggestion.tier)
        for each in later[:NEXT]:
            self.arena.ahead.begin(self._emulate, text_of(each))

    def _emulate(self, source: str) -> None:
        self.arena.emulator.emulate([source])

    def _guess(self, source: str, rows: Sequence[Iteration]) -> None:
        findings = gather(source, self.arena.kernel, self.arena.compiler)
        first = next(filter(self._worth, self._suggestions(source, findings, rows, None)), None)
        if first is not None and first.applicable:
            self._emulate(text_of(first))

    def rank(self, parent: Parent, rows: Sequence[Iteration], headroom: float | None) -> Parent:
        """Merge the ranking, as it is after what was tried, into the tree; the parent with all code seen so far."""
        assert self.findings is not None
        suggestions = permitted(self._suggestions(parent.source, self.findings, rows, headroom), self.rounding)
        self.tree = replace(self.tree.merge(suggestions), bottleneck=self.findings.diagnosis.bottleneck)
        for row in rows:  # also those before the run was resumed
            self.record(row)
        self._close(self.raced)
        return replace(parent, earlier=frozenset(self.earlier))

    def _suggestions(
        self, source: str, findings: Findings, rows: Sequence[Iteration], headroom: float | None
    ) -> tuple[Suggestion, ...]:
        """The ranking for a source after what was tried, with pairs."""
        arena = self.arena
        tried = {(row.optimization, row.variant): row.verdict for row in rows if row.n > 0}
        verdicts: dict[Name, str] = {**{name: closed.state for name, closed in self.raced.items()}, **tried}
        for kept in [pair for pair, verdict in tried.items() if verdict == "keep"]:
            verdicts |= dict.fromkeys(parts(*kept), "keep")
        made = self._proposed.answers([source], lambda _: [proposed(source, arena.kernel, findings, arena.compiler)])
        request = PlanRequest(source, arena.kernel, findings, self.rounding, headroom, verdicts, race=MOST)
        runs = RUNS if isinstance(arena.compiler.workload, CommandWorkload) else 1
        tiers = next_tiers(findings.diagnosis, rows, counted=findings.counted) if arena.policy.by_tier else None
        request = replace(request, proposals=made[source], tiers=tiers, runs=runs)
        if self.memory is not None:
            request = replace(request, trials=self.memory.known)
        measured = {name: closed.speedup for name, closed in self.raced.items() if closed.state == "no-gain"}
        known = Known(arena.compiler.target, SMALL_GAIN, {**measured, **_measured(rows)})
        return with_pairs(plan(request, arena.compiler), request, known, arena.compiler)

    def waiting(self) -> str:
        """What only waits for the user's word, "" if nothing does."""
        found = {leaf.suggestion.optimization for leaf in self.tree.leaves if leaf.suggestion.why_not == WAITS}
        return f"not tried: {', '.join(sorted(found))}: {WAITS}" if found else ""

    def next(self) -> Suggestion | None:
        """The next suggestion that at best is expected to gain what the policy asks for."""
        return next(filter(self._worth, self.tree.open()), None)

    def _worth(self, suggestion: Suggestion) -> bool:
        least = self.arena.policy.least_expected_pct
        return least is None or suggestion.expected_speedup.high >= 1 + least / 100

    def choose(self, suggestion: Suggestion, parent: Parent) -> Result:
        """The suggestion, or what wins a race against it; by tiers these are of the same tier.

        Racers are checked on the device before they are timed; only the winner's trial asks the emulator.
        """
        bench, path = self.arena.bench, self.arena.compiler.path
        tier = suggestion.tier if self.arena.policy.by_tier else None
        rivals = [each for each in self.tree.rivals(suggestion) if not self._alone(each) and tier in (None, each.tier)]
        # What alone promises nothing races beside its own kind, or the next forecast would be for one.
        kind = [each for each in rivals if each.optimization == suggestion.optimization and not self._worth(each)]
        entered = racers([*filter(self._worth, rivals), *kind])[:MOST]
        if len(entered) < 2 or self._alone(suggestion) or not isinstance(bench, Races):
            return Result(suggestion)

        @waiting("checks")
        def check(racers: Sequence[Suggestion]) -> Sequence[Trial | Died]:
            self.arena.on_gate(f"checks of {len(racers)}")
            for each in racers:
                self.arena.ahead.begin(self._emulate, text_of(each))
            return bench.checks(path(parent.source), [path(text_of(each)) for each in racers])

        @waiting("race")
        def time(racers: Sequence[Suggestion]) -> Heat | Died:
            self.arena.on_gate(f"race of {len(racers)}")
            return bench.race(path(parent.source), [path(text_of(each)) for each in racers], slower_pct)

        slower_pct = self.arena.policy.slower_pct
        least = NOTHING if self.arena.policy.least_expected_pct is not None else None
        result = race(
            entered, check, time, slower_pct, least, lambda one: registers(self._compiled(text_of(one), parent.source))
        )
        self.arena.ahead.drop()
        self._close(result.no_gain)
        lost = {each.pair for each in result.standings if each.fate == "lost"}
        # A search that gained something may add to the winner, after what it would try has raced for itself.
        self.tree = self.tree.reopen({name for name in lost - self.raced.keys() if name[0] in searches()})
        if result.died is not None:
            self.one_by_one.update(each.pair for each in entered)
        return result

    def _alone(self, suggestion: Suggestion) -> bool:
        return suggestion.pair in self.one_by_one

    def record(self, row: Iteration) -> None:
        self.tree = self.tree.record(row.optimization, row.variant, STATES[row.verdict], row.reason)

    def _close(self, raced: Mapping[Name, Closed]) -> None:
        self.raced = {**self.raced, **raced}
        for name, closed in raced.items():
            self.tree = self.tree.record(*name, closed.state, closed.reason)

    def _reopen(self) -> None:
        """What gained nothing beside one version may race beside the next, after what never raced."""
        again = {name for name, closed in self.raced.items() if closed.state == "no-gain"}
        self.raced = {name: closed for name, closed in self.raced.items() if name not in again}
        self.tree = self.tree.reopen(again)

    def settle(self, row: Iteration, suggestion: Suggestion, parent: str, beaten: Mapping[Name, Closed]) -> None:
        """Record what became of a suggestion for the source `parent`, and what that says of its cause, its optimization and
        those that it beat in a race.
        """
        compiled = self._compiled(text_of(suggestion), parent)
        self.earlier.add(machine_code(compiled))
        self.record(row)
        if row.timings:
            self._close(beaten)
        if row.verdict == "keep":
            self._reopen()
        if row.verdict == "keep" and gain_pct(row.timings) < self.arena.policy.keep_pct:
            self.tree = self.tree.lower_priority(row.optimization)
        if row.prediction is not None:
            self.tree = self.tree.learn(row.prediction)
        if self.memory is not None and self.findings is not None:
            self.memory.remember(row, self.findings, parent, self._effect(row, parent, compiled))

    def _effect(self, row: Iteration, parent: str, compiled: Compilation) -> Effect:
        """What a candidate did to the code of its parent; of a pair nothing is known that would be like another's."""
        variants = (each.variant for each in self._proposed.known.get(parent, ()))
        variant = next((v for v in variants if (v.optimization, v.name) == (row.optimization, row.variant)), None)
        return Effect() if variant is None else effect(variant, compiled, self._compiled(parent, parent))

    def _compiled(self, source: str, parent: str) -> Compilation:
        return in_place(self.arena.compiler, source, self.arena.kernel, parent)

    def predict(self, row: Iteration, suggestion: Suggestion, parent: Parent) -> Prediction:
        """What the rules said that the candidate would move, against what the compiler and the counters say."""
        moves = predicted(row.optimization, row.variant, suggestion.cause)
        count = bool(row.timings) and any(not move[1:].startswith("compile.") for move in moves)
        seen = self._seen(parent.source, parent, count), self._seen(text_of(suggestion), parent, count)
        return check(suggestion.cause, moves, seen, faster=_faster(row))

    def _seen(self, source: str, parent: Parent, count: bool) -> Observations:
        """What the compiler says of the kernel, with sampled counters if they are wanted and to be had."""
        compiled = self._compiled(source, parent.source)
        said = {} if isinstance(compiled, CompileFailure) else from_compilation(compiled)
        bench = self.arena.bench
        if count and self._sampling and source not in self._samples and isinstance(bench, Samples):
            self.arena.on_gate("counters")
            with waiting("counters"):
                answer = bench.samples(self.arena.compiler.path(source), self.arena.kernel)
            if isinstance(answer, Counters):
                self._samples[source] = answer.observations
            else:
                self.on_note(f"no sampled counters, so compile evidence alone checks predictions: {answer.message}")
            self._sampling = bool(self._samples)  # what was not to be had at first is not asked for again
        return {**said, **self._samples.get(source, {})} if count else said


def text_of(suggestion: Suggestion) -> str:
    assert suggestion.proposal is not None
    assert suggestion.proposal.source is not None
    return suggestion.proposal.source


def _faster(row: Iteration) -> bool | None:
    """Whether a candidate is faster somewhere; None where its time leaves room for a gain that would be worth having."""
    if any(each.low > 1 + each.noise_floor for each in row.timings):
        return True
    return False if row.timings and all(each.high < SMALL_GAIN for each in row.timings) else None


def _measured(rows: Sequence[Iteration]) -> dict[Name, float]:
    """The speed-ups of candidates that were right but not kept."""
    return {
        (row.optimization, row.variant): row.speedup
        for row in rows
        if row.n > 0 and row.verdict != "keep" and row.correctness == "PASS" and row.speedup is not None
    }
