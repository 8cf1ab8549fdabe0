"""A plan of which what leads has raced on this machine's GPU."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kdiag.errors import KdiagError, ToolMissing, UsageError
from kdiag.executors.bench import Races
from kdiag.executors.device_bench import DeviceBench, probe_gpu
from kdiag.planner.search import racers
from kdiag.records import ExpectedSpeedup, Standing, Suggestion, architecture
from kdiag.rules import load_policies
from kdiag.workload import CommandWorkload, Workload

from .compiler import Compiler, registers
from .racing import MOST, race
from .strategy import text_of


def bench_for(described: Workload | CommandWorkload | None, target: str) -> Races:
    """What races are held on. Raises KdiagError where none can be."""
    if not isinstance(described, Workload):
        no = "commands do not race" if described else "none is beside the kernel"
        raise UsageError(f"--race needs a Python workload to run, and {no}; name one with --workload.")
    card = probe_gpu()
    if card is None:
        raise ToolMissing("--race needs a GPU that torch can see; leave it out to plan without one.")
    if architecture(card.compute_capability or "") != target:
        raise UsageError(
            f"--race needs a GPU of {target}, and this is {card.name}; give its --target, or leave --race out."
        )
    return DeviceBench(described, card, (), lambda _report, _kernel: {})


def raced(suggestions: Sequence[Suggestion], source: str, compiler: Compiler, bench: Races) -> tuple[Suggestion, ...]:
    """The suggestions, ranked anew: what gained in a race, who left it last first, then what did not race, then what
    gained nothing or makes a configuration slower; what was wrong is not applicable.

    Raises KdiagError if no race could be held.
    """
    policy, parent = load_policies.load("adaptive"), compiler.path(source)
    open_ones = [each for each in suggestions if each.applicable]
    field = racers(open_ones)[:MOST]

    def paths(of: Sequence[Suggestion]) -> list[Path]:
        return [compiler.path(text_of(each)) for each in of]

    if len(field) < 2:
        raise KdiagError("Fewer than two candidates can be applied, which are no race; leave --race out.")
    result = race(
        field,
        lambda of: bench.checks(parent, paths(of)),
        lambda of: bench.race(parent, paths(of), policy.slower_pct),
        policy.slower_pct,
        least=1.0,
        registers=lambda one: registers(compiler.compile_one(text_of(one))),
    )
    if result.died is not None:
        raise KdiagError(f"The race could not be held: {result.died.message}; leave --race out to plan without it.")
    if not any(each.speedup for each in result.standings):
        raise KdiagError("Fewer than two candidates pass their checks, which are no race; leave --race out.")
    known = {each.pair: each for each in result.standings}
    places = {name: place for place, name in enumerate(reversed(known))}  # who leaves last has won

    def place(suggestion: Suggestion) -> tuple[bool, int, int]:
        name = suggestion.pair
        if not suggestion.applicable or name not in known:
            return not suggestion.applicable, 1, suggestion.rank
        return False, 2 if name in result.no_gain else 0, places[name]

    told = [_told(each, known.get(each.pair)) for each in suggestions]
    return tuple(replace(each, rank=number) for number, each in enumerate(sorted(told, key=place), start=1))


def _told(suggestion: Suggestion, standing: Standing | None) -> Suggestion:
    """The suggestion with what the race says of it in the place of what was expected."""
    if standing is None:
        return suggestion
    if standing.speedup is None:
        return replace(suggestion, applicable=False, why_not=standing.reason)
    measured = ExpectedSpeedup(standing.speedup, standing.speedup, standing.speedup)
    explanation = f"Raced on this machine's GPU: {standing.reason}. {suggestion.explanation}"
    return replace(suggestion, expected_speedup=measured, confidence=1.0, explanation=explanation)
