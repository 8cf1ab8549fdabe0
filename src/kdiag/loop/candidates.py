"""From findings to a ranked plan: every edit's proposals, what the compiler says of each, and their order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.registry import propose
from kdiag.planner.forecast import at_best, loops_decide
from kdiag.planner.order import Tiers
from kdiag.planner.rank import PlanInputs, rank
from kdiag.planner.search import racers, searched
from kdiag.records import Compilation, CompileFailure, PastTrial, Proposal, Suggestion
from kdiag.rules import load_start_values
from kdiag.workload import source_hash

from .compiler import Compiler, launches_of, of_kernel
from .experience import features
from .findings import Findings

Rounding = Literal["yes", "ask", "no"]
AT_ONCE = 6  # candidates compiled in one go
NOTHING = 1.01  # nobody waits for a compiler for less
# Of those that might come first, racers apart; half a second each where they do not spill. More where loops decide.
MOST_COMPILED = 12
WAITS = "it changes rounding: it waits for --allow-rounding or for a workload that declares a tolerance"
TIE = 0.97  # priors are not known to better than a few percent


@dataclass(frozen=True)
class PlanRequest:
    """One source to plan for. `headroom` is how many times faster the card's limits allow at most.

    `proposals` are those of `proposed`, where the source has been planned for before: making them takes seconds.
    `trials` are those of earlier runs, `start_values` those that kdiag brings along, None for all of these. With
    `thorough` the most promising variant of every optimization is compiled, not only what may come first; `race` is how
    many of those that lead are, so that those which spill or repeat another are known before they are timed.
    `tiers` and `runs` as in `PlanInputs`.
    """

    source: str
    kernel: str
    findings: Findings
    allow_rounding: Rounding
    headroom: float | None = None
    tried: Mapping[tuple[str, str], str] | None = None
    thorough: bool = False
    trials: tuple[PastTrial, ...] = ()
    start_values: tuple[PastTrial, ...] | None = None
    race: int = 1
    tiers: Tiers | None = None
    runs: int = 1
    proposals: tuple[Proposal, ...] | None = None


def proposed(source: str, kernel: str, findings: Findings, compiler: Compiler) -> tuple[Proposal, ...]:
    """What every edit makes of the source, whose findings these are."""
    subject = Subject(source, kernel, compiler.target, launches_of(findings.compilation))
    return propose(subject, compiler.file_name)


def plan(request: PlanRequest, compiler: Compiler) -> tuple[Suggestion, ...]:
    """Rank every proposal for the source.

    Candidates are compiled from the top of the ranking down, until the first is one of which the compiler has spoken.
    The others keep their prior, since compiling a tile that spills can take half a minute.
    """
    inputs = inputs_of(request, compiler)
    suggestions = rank(inputs)
    if isinstance(request.findings.compilation, CompileFailure):
        return suggestions  # what its parent cannot be compiled with, no candidate can
    while unknown := _undecided(suggestions, inputs, request):
        answers, before = compiler.compile(unknown), compiler.compile_one(request.source)
        known = {key: of_kernel(value, request.kernel, before) for key, value in answers.items()}
        inputs = compiled(inputs, known)
        suggestions = rank(inputs)
    return suggestions


def compiled(inputs: PlanInputs, known: Mapping[str, Compilation]) -> PlanInputs:
    """The same, with what the compiler says of more candidates, by the hash of their source."""
    said = {key: from_compilation(each) for key, each in known.items() if not isinstance(each, CompileFailure)}
    return replace(inputs, compiled={**inputs.compiled, **known}, said={**inputs.said, **said})


def inputs_of(request: PlanRequest, compiler: Compiler) -> PlanInputs:
    """What the planner looks at before any candidate is compiled."""
    proposals, start_values = request.proposals, request.start_values
    if proposals is None:
        proposals = proposed(request.source, request.kernel, request.findings, compiler)
    if start_values is None:
        start_values = load_start_values.load()
    return PlanInputs(
        target=compiler.target,
        diagnosis=request.findings.diagnosis,
        headroom=request.headroom or request.findings.headroom,
        proposals=proposals,
        compiled={},
        parent=request.findings.compilation,
        allow_rounding=request.allow_rounding,
        tried=request.tried or {},
        trials=request.trials + start_values,
        features=features(request.findings),
        tiers=request.tiers,
        race=request.race > 1,
        runs=request.runs,
        observations=request.findings.observations,
    )


def _undecided(suggestions: tuple[Suggestion, ...], inputs: PlanInputs, request: PlanRequest) -> list[str]:
    """The sources to compile next, unless known: the first suggestion, those that it races or searches, and those that
    may yet come before it, most promising first.
    """
    open_ones = [s for s in suggestions if s.applicable and s.proposal is not None]
    if not open_ones:
        return []
    most = MOST_COMPILED * (2 if loops_decide(inputs.observations) else 1)
    room = len(inputs.compiled) < most + request.race - 1
    wanted = [open_ones[0], *(_rivals(open_ones, inputs)[:AT_ONCE] if room else ())]
    wanted += racers(s for s in open_ones if s.expected_speedup.high >= NOTHING)[: request.race]
    if request.thorough and not inputs.compiled:
        wanted += {s.optimization: s for s in reversed(open_ones)}.values()
    sources = [s.proposal.source for s in wanted if s.proposal is not None and s.proposal.source is not None]
    return [source for source in dict.fromkeys(sources) if source_hash(source) not in inputs.compiled]


def _rivals(open_ones: list[Suggestion], inputs: PlanInputs) -> list[Suggestion]:
    """What was not compiled yet and may, once it is, come before the first one, or belongs to its search."""
    found: list[tuple[float, Suggestion]] = []
    for each in open_ones[1:]:
        if each.proposal is None or source_hash(each.proposal.source or "") in inputs.compiled:
            continue
        best = at_best(inputs.observations, inputs.headroom, inputs.target, each.proposal.variant) or 1.0
        most = max(best, each.expected_speedup.high)
        if most >= max(TIE * open_ones[0].expected_speedup.mid, NOTHING):
            found.append((most, each))
    ranked = [each for _, each in sorted(found, key=lambda pair: -pair[0])]
    return ranked + [s for s in searched(open_ones[0], open_ones) if s not in ranked]


def permitted(suggestions: tuple[Suggestion, ...], rounding: Rounding) -> tuple[Suggestion, ...]:
    """The suggestions, those closed that change rounding where nobody has allowed that."""
    if rounding != "ask":
        return suggestions
    return tuple(
        replace(s, applicable=False, why_not=s.why_not or WAITS) if s.safety == "changes-rounding" else s
        for s in suggestions
    )
