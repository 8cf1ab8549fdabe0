"""Is the first suggestion right? Scores three orders of steps by what every step did on the GPU.

    PYTHONPATH=src:benchmarks python benchmarks/ranking/score.py STEPS.json.xz

kdiag's plan is made anew from what was counted before any edit, so that a change of rules can be judged without a GPU;
of the trials that kdiag brings along those of the kernel itself are hidden from it.
The other two orders are the published playbook's, A to J, and that of the optimization loop's tiers by class of
bottleneck; within an optimization both take the variant that its edit offers first. An order skips what turns out a
no-op, as every tool with a compiler can, kdiag's also what spills. The best single step is that of all steps measured, or to leave the kernel alone.
"""

import argparse
import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ranking.records import KernelSteps, Measurements, read

from kdiag.loop import headroom
from kdiag.loop.candidates import PlanRequest, plan
from kdiag.loop.compiler import registers
from kdiag.loop.racing import MOST, SEARCH, winner
from kdiag.loop.strategy import text_of
from kdiag.planner.order import tier_order
from kdiag.planner.search import racers, searches
from kdiag.records import Diagnosis, Suggestion
from kdiag.rules import load_policies, load_start_values

PLAYBOOK = "ABCDEFGHIJ"
INVERSES = ("gather-scatter", "one-item-per-block", "freeze")  # which the published playbook does not know
REPEATS = "no-op: the machine code of "  # and another step's name, or "the parent"
CLOSE = 0.95  # of the best step's speed-up
Order = Sequence[Suggestion]


@dataclass(frozen=True)
class Score:
    """How an order did on one kernel: its first step and what that gave, what the best gave, and NDCG@3 (1 is ideal)."""

    first: str
    speedup: float
    best: float
    ndcg: float

    @property
    def hit(self) -> bool:
        """Whether the first step is within 5 % of the best single one."""
        return self.speedup >= CLOSE * self.best

    @property
    def regret(self) -> float:
        """The share of the best speed-up that the first step leaves, 0 for the best itself."""
        return 1 - self.speedup / self.best


def scores(found: KernelSteps, scratch: Path) -> dict[str, Score]:
    """The score of each order on one kernel."""
    all_of, diagnosis = _plan(found, scratch)
    racing = _as_measured(_applicable(_plan(found, scratch, MOST)[0]), found)
    suggested = _as_measured(_applicable(all_of), found)
    # A step that is wrong or dies leaves the kernel as it was; one that found no memory beside others was not measured.
    done = [step for step in found.steps if "no-op" not in step.outcome and "OutOfMemory" not in step.outcome]
    measured = {(step.optimization, step.variant): step.speedup or 1.0 for step in done}
    offers = [(step.optimization, step.variant) for step in found.steps]
    tried = _as_measured([s for s in all_of if s.applicable or "spills" in (s.why_not or "")], found)
    listed = [s for s in tried if s.pair in offers and s.optimization in PLAYBOOK and s.variant not in INVERSES]
    listed.sort(key=lambda s: (s.optimization, offers.index(s.pair)))
    tiers = tier_order(diagnosis)
    orders = {"playbook": listed, "tiers": sorted(listed, key=lambda s: tiers.index(s.tier))}

    def taken(suggestion: Suggestion) -> float:
        return registers(found.findings(scratch)[1].compile_one(text_of(suggestion)))

    orders = {"kdiag": suggested, "kdiag, raced": _raced(racing, measured, taken), **orders}
    return {name: score(order, measured) for name, order in orders.items()}


def _as_measured(order: Order, found: KernelSteps) -> list[Suggestion]:
    """The order in which what has the machine code of another step bears that one's name, under which it was timed."""
    repeats = [step for step in found.steps if step.outcome.startswith(REPEATS)]
    names = {(s.optimization, s.variant): s.outcome.removeprefix(REPEATS).split(" ", 1) for s in repeats}
    named: dict[tuple[str, str], Suggestion] = {}
    for each in order:
        optimization, variant = names.get(each.pair, each.pair)
        named.setdefault((optimization, variant), replace(each, optimization=optimization, variant=variant))
    return list(named.values())


def score(order: Order, measured: Mapping[tuple[str, str], float]) -> Score:
    """Score one order by the speed-ups measured."""
    tried = [(s, measured[s.pair]) for s in order if s.pair in measured]
    best = max(1.0, *measured.values())
    gains = [max(0.0, math.log(speedup)) for _, speedup in tried[:3]]
    ideal = _dcg(sorted((max(0.0, math.log(each)) for each in measured.values()), reverse=True)[:3])
    first, speedup = (f"{tried[0][0].optimization} {tried[0][0].variant}", tried[0][1]) if tried else ("-", 1.0)
    return Score(first, speedup, best, _dcg(gains) / ideal if ideal > math.log(1.01) else 1.0)


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def _plan(found: KernelSteps, scratch: Path, race: int = 1) -> tuple[list[Suggestion], Diagnosis]:
    """The suggestions in kdiag's order, for a run that races so many variants, and the diagnosis."""
    source, compiler, findings = found.findings(scratch)
    left = headroom.headroom(found.baseline, headroom.times(found.baseline))
    others = tuple(trial for trial in load_start_values.load() if trial.kernel != Path(found.folder).name)
    request = PlanRequest(source, found.kernel, findings, "yes", left, start_values=others, race=race)
    return list(plan(request, compiler)), findings.diagnosis


def _applicable(order: Order) -> list[Suggestion]:
    return [s for s in order if s.applicable]


def _raced(
    order: Order, measured: Mapping[tuple[str, str], float], taken: Callable[[Suggestion], float]
) -> list[Suggestion]:
    """The order after `kdiag auto` has raced those that lead: the winner first."""
    tried = [s for s in order if s.pair in measured]
    least = load_policies.load("adaptive").least_expected_pct or 0.0
    worth = racers(s for s in tried if s.expected_speedup.high >= 1 + least / 100)
    field = worth[:MOST] or tried[:1]
    field.sort(key=lambda s: measured[s.pair] / (SEARCH if s.optimization in searches() else 1))
    first = winner([(0, (measured[s.pair],), s) for s in field], 2.0, taken) if field else None
    field.sort(key=lambda s: s is first)
    return field[::-1] + [s for s in order if s not in field]


def summary(rows: Sequence[Score]) -> str:
    """Share of hits, median regret and mean NDCG@3."""
    hits, regret = sum(row.hit for row in rows), statistics.median(row.regret for row in rows)
    worst = min(row.speedup for row in rows)
    ndcg = statistics.mean(row.ndcg for row in rows)
    return f"{hits} of {len(rows)} | {100 * regret:.1f} % | {ndcg:.2f} | {worst:.2f}x"


def report(measured: Measurements, known: Mapping[str, dict[str, Score]]) -> str:
    """Two Markdown tables: every kernel, then every order."""
    lines = [f"{measured.gpu}, {measured.date}", ""]
    lines += [
        "| kernel | steps | best single step | kdiag's first | the first raced | playbook's first | tiers' first |",
        "|---|---|---|---|---|---|---|",
    ]
    for found in measured.kernels:
        row = known[found.folder]
        timed = [s for s in found.steps if s.speedup is not None]
        best = max(timed, key=lambda s: s.speedup or 0.0, default=None)
        name = (
            "none"
            if best is None or (best.speedup or 0) < 1
            else f"{best.optimization} {best.variant} {best.speedup:.2f}x"
        )
        firsts = [each.first if order.startswith("kdiag") else each.first[:1] for order, each in row.items()]
        told = [f"{each.speedup:.2f}x{'' if each.hit else ' ✗'}" for each in row.values()]
        cells = [f"{first} {speedup}" for first, speedup in zip(firsts, told, strict=True)]
        held = " (held out)" if found.held_out else ""
        lines.append(f"| {Path(found.folder).name}{held} | {len(timed)} | {name} | {' | '.join(cells)} |")
    lines += [
        "",
        "| order | kernels | first within 5 % of the best | median regret | NDCG@3 | worst first step |",
        "|---|---|---|---|---|---|",
    ]
    for order in next(iter(known.values())):
        for part, apart in (("tuned", False), ("held out", True)):
            rows = [known[k.folder][order] for k in measured.kernels if k.held_out == apart]
            if rows:
                lines.append(f"| {order} | {part} | {summary(rows)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", type=Path)
    options = parser.parse_args()
    measured, known = read(options.steps), {}
    with tempfile.TemporaryDirectory(prefix="kdiag-ranking-") as scratch:
        for each in measured.kernels:
            name = Path(each.folder).name
            known[each.folder] = scores(each, Path(scratch) / name)
    print(report(measured, known))


if __name__ == "__main__":
    main()
