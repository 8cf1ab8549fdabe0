"""The reference page of a cause, written from its rule whenever it is read."""

from collections.abc import Mapping

from . import load_playbook
from .load_causes import CauseRule, Pattern
from .load_metrics import load_metrics

LEGEND = (
    "Each observation is graded from 0 to 1 between the two figures. What counts *for it* is averaged by weight; what "
    "*caps it* can only take away; a pattern without a figure it needs is not evaluated."
)
CEILINGS = ((0.95, "can prove it"), (0.7, "is strong evidence"), (0.0, "is a suspicion"))


def render(rule: CauseRule) -> str:
    idle = f" ({rule.when_idle} where neither SMs nor memory are busy)" if rule.when_idle != rule.bottleneck else ""
    parts = [
        f"# {rule.title}",
        f"`{rule.id}`, a cause of the class **{rule.bottleneck}**{idle}.",
        "## What it is",
        rule.meaning,
        "## What to do",
        rule.what_to_do,
    ]
    if treated := _treated_by(rule.id):
        parts += ["## Optimizations that treat it", treated]
    if rule.patterns:
        parts += ["## What shows it", LEGEND, *(_pattern(pattern) for pattern in rule.patterns)]
        parts += [*_counters(rule)]
    if rule.outranks:
        behind = ", ".join(f"`{name}`" for name in rule.outranks)
        parts += ["## What it explains", f"Where this cause is certain these are only its consequences: {behind}."]
    if rule.examples:
        parts += ["## Examples", *(_example(each.name, each.shown, each.metrics) for each in rule.examples)]
    return "\n\n".join(parts) + "\n"


def _pattern(pattern: Pattern) -> str:
    said = next(words for ceiling, words in CEILINGS if pattern.ceiling >= ceiling)
    rows = ["| observation | 0 at | 1 at | counts | why |", "|---|---|---|---|---|"]
    for test in pattern.tests:
        role = "caps it" if test.role == "excludes" else "for it" + (f", x {test.weight:g}" if test.weight != 1 else "")
        needed = "" if test.required else ", if known"
        rows.append(f"| `{test.metric}` | {test.none:g} | {test.full:g} | {role}{needed} | {test.reason} |")
    only = f" Used without {', '.join(f'`{name}`' for name in pattern.only_without)}." if pattern.only_without else ""
    head = f"### {pattern.name[0].upper()}{pattern.name[1:]}\n\nAt most {pattern.ceiling:g}: it {said}.{only}"
    return head + "\n\n" + "\n".join(rows)


def _treated_by(cause: str) -> str:
    """The optimizations, with the best that was measured or guessed for this cause."""
    known = []
    for optimization in load_playbook.load().values():
        gains = [gain for each in optimization.treats if each.cause == cause for gain in each.gains.values()]
        if gains:
            best = max(gains, key=lambda gain: gain.mid)
            figure = f"{best.mid:g}x" if best.n else "not measured"
            known.append(f"`{optimization.id}` {optimization.title} ({figure})")
    return ", ".join(known) + "." if known else ""


def _counters(rule: CauseRule) -> list[str]:
    """What the names of counters stand for."""
    asked = {test.metric: None for pattern in rule.patterns for test in pattern.tests}
    known = load_metrics()
    lines = [f"* `{name}`: {known[name].meaning} (`{known[name].names[0]}`)" for name in asked if name in known]
    return ["\n".join(lines)] if lines else []


def _example(name: str, shown: bool, metrics: Mapping[str, float]) -> str:
    figures = ", ".join(f"{metric} {value:g}" for metric, value in metrics.items())
    return f"* **{'this' if shown else 'not this'}**: {name} ({figures})"
