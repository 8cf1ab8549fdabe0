"""A plan for the terminal: one table of what can be done, one of what cannot and why, then the first suggestion."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kdiag.records import Diagnosis, Evidence, Suggestion

DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def render_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Write the bottleneck, its causes and what shows the first of them."""
    shown = [cause for cause in diagnosis.causes if cause.id != "unknown"]
    causes = ", ".join(f"{cause.id} ({cause.score:.0%})" for cause in shown) or "no cause is shown"
    console.print(Text.assemble(("Bottleneck ", "bold"), (diagnosis.bottleneck, "bold red"), f": {causes}"))
    for evidence in diagnosis.causes[0].evidence if diagnosis.causes else ():
        place = f"{evidence.where.file}:{evidence.where.line}: " if evidence.where else ""
        console.print(Text(f"  {place}{evidence.text or evidence.name}", "dim"))


def render(
    suggestions: tuple[Suggestion, ...], kernel: str, target: str, console: Console, verbose: bool = False
) -> None:
    """Write the plan to `console`. Without `verbose` only the best variant of an optimization is a row."""
    applicable = [suggestion for suggestion in suggestions if suggestion.applicable]
    others = [suggestion for suggestion in suggestions if not suggestion.applicable]
    console.print(Text.assemble(("Plan for ", "bold"), (kernel, "bold cyan"), f" on {target}"))
    if applicable:
        console.print(_table(applicable, verbose))
    else:
        console.print("Nothing can be applied: the reasons are below.")
    if others:
        offered = {suggestion.optimization for suggestion in applicable}
        shown = others if verbose else [s for s in others if s.optimization not in offered]
        if shown:
            console.print(_why_not_table(shown, verbose))
        if len(shown) < len(others):
            hidden = len(others) - len(shown)
            console.print(Text(f"{hidden} more variants of these are not applicable; --verbose lists them.", "dim"))
    if applicable:
        _first(applicable[0], console)


def _table(suggestions: list[Suggestion], verbose: bool) -> Table:
    table = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("optimization", overflow="fold")
    table.add_column("expected speed-up", no_wrap=True)
    table.add_column("sure", justify="right", no_wrap=True)
    table.add_column("safety", overflow="fold")
    for suggestion, more in _rows(suggestions, verbose):
        table.add_row(
            str(suggestion.rank),
            _what(suggestion, more),
            _speedup(suggestion),
            f"{suggestion.confidence:.0%}",
            suggestion.safety.replace("-", " "),
        )
    return table


def _why_not_table(suggestions: list[Suggestion], verbose: bool) -> Table:
    table = Table(title="Not applicable", title_justify="left", header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("optimization", overflow="fold", ratio=1)
    table.add_column("why not", overflow="fold", ratio=1)
    for suggestion, more in _rows(suggestions, verbose):
        table.add_row(str(suggestion.rank), _what(suggestion, more), suggestion.why_not or "")
    return table


def _what(suggestion: Suggestion, more: int) -> Text:
    """The variant in bold, and its title below it."""
    name = f"{suggestion.optimization} {suggestion.variant}".strip()
    cause = f" (for {suggestion.cause})" if suggestion.applicable and suggestion.confidence else ""
    return Text.assemble((name, "bold"), (_plus(more), "dim"), "\n", (suggestion.title + cause, "dim"))


def _rows(suggestions: list[Suggestion], verbose: bool) -> list[tuple[Suggestion, int]]:
    """Each suggestion with 0, or the best of each optimization with the number of its other variants."""
    if verbose:
        return [(suggestion, 0) for suggestion in suggestions]
    groups: dict[str, list[Suggestion]] = {}
    for suggestion in suggestions:
        groups.setdefault(suggestion.optimization, []).append(suggestion)
    return [(group[0], len(group) - 1) for group in groups.values()]


def _first(suggestion: Suggestion, console: Console) -> None:
    name = f"{suggestion.optimization} {suggestion.variant}".strip()
    console.print(Text.assemble(("\nFirst: ", "bold"), (f"{name}, {suggestion.title}", "bold cyan")))
    console.print(Padding(Text(suggestion.explanation), (0, 0, 0, 2)))
    for evidence in suggestion.evidence:
        console.print(Padding(Text(evidence_line(evidence)), (0, 0, 0, 2)))
    if suggestion.where is not None:
        place = f"{suggestion.where.file}:{suggestion.where.line}"
        console.print(Padding(Text(f"The edit begins at {place}:"), (0, 0, 0, 2)))
    if suggestion.proposal is not None and suggestion.proposal.diff:
        for line in suggestion.proposal.diff.splitlines():  # never wrapped, so that it can be copied
            console.print(Text(line, DIFF_STYLES.get(line[:1], "")), soft_wrap=True)


def evidence_line(evidence: Evidence) -> str:
    """One observation as a line: kind, place as file:line, name, value with its unit, text."""
    value = "unavailable" if evidence.value is None and not evidence.text else _value(evidence)
    place = f" {evidence.where.file}:{evidence.where.line}" if evidence.where else ""
    text = f": {evidence.text}" if evidence.text else ""
    return f"{evidence.kind}{place} {evidence.name}{' = ' + value if value else ''}{text}"


def _value(evidence: Evidence) -> str:
    if evidence.value is None:
        return ""
    number = f"{evidence.value:.4g}" if isinstance(evidence.value, float) else str(evidence.value)
    return f"{number} {evidence.unit}".strip()


def _speedup(suggestion: Suggestion) -> str:
    speedup = suggestion.expected_speedup
    return f"{speedup.mid:.2f}x ({speedup.low:.2f} to {speedup.high:.2f})"


def _plus(more: int) -> str:
    return "" if more == 0 else f"  and {more} more"
