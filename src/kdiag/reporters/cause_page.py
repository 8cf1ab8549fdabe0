"""The reference page of a cause, written from its rule: `python -m kdiag.reporters.cause_page references/causes`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from kdiag.rules.load_causes import CauseRule, Pattern, load_causes

CEILINGS = ((0.95, "can prove it"), (0.7, "is strong evidence"), (0.0, "is a suspicion"))


def render(rule: CauseRule) -> str:
    """The page as Markdown."""
    idle = (
        f" ({rule.when_idle} where neither SMs nor memory are busy)"
        if rule.when_idle != rule.bottleneck
        else ""
    )
    parts = [
        f"# {rule.title}",
        f"`{rule.id}`, a cause of the class **{rule.bottleneck}**{idle}.",
        "## What it is",
        rule.meaning,
        "## What to do",
        rule.what_to_do,
    ]
    if rule.patterns:
        parts += ["## What shows it", *(_pattern(pattern) for pattern in rule.patterns)]
    if rule.outranks:
        behind = ", ".join(f"`{name}`" for name in rule.outranks)
        parts += [
            "## What it explains",
            f"Where this cause is certain these are only its consequences: {behind}.",
        ]
    if rule.examples:
        parts += ["## Examples", *(_example(each.name, each.shown, each.metrics) for each in rule.examples)]
    return "\n\n".join(parts) + "\n"


def _pattern(pattern: Pattern) -> str:
    said = next(words for ceiling, words in CEILINGS if pattern.ceiling >= ceiling)
    rows = ["| observation | 0 at | 1 at | counts | why |", "|---|---|---|---|---|"]
    for test in pattern.tests:
        role = (
            "caps it"
            if test.role == "excludes"
            else "for it" + (f", x {test.weight:g}" if test.weight != 1 else "")
        )
        needed = "" if test.required else ", if known"
        rows.append(f"| `{test.metric}` | {test.none:g} | {test.full:g} | {role}{needed} | {test.reason} |")
    only = (
        f" Used without {', '.join(f'`{name}`' for name in pattern.only_without)}."
        if pattern.only_without
        else ""
    )
    head = f"### {pattern.name[0].upper()}{pattern.name[1:]}\n\nAt most {pattern.ceiling:g}: it {said}.{only}"
    return head + "\n\n" + "\n".join(rows)


def _example(name: str, shown: bool, metrics: Mapping[str, float]) -> str:
    figures = ", ".join(f"{metric} {value:g}" for metric, value in metrics.items())
    return f"* **{'this' if shown else 'not this'}**: {name} ({figures})"


def write(folder: Path) -> None:
    """Write the page of every cause into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rule in load_causes().items():
        (folder / f"{name}.md").write_text(render(rule))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
