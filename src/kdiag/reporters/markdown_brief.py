"""A brief as Markdown, for a person or an agent to work from."""

from collections.abc import Iterable, Iterator

from kdiag.records import (
    ArrayArgument,
    Brief,
    CompileEvidence,
    CompileFailure,
    Evidence,
    Idea,
    Iteration,
    Launch,
    Remark,
    Suggestion,
)

MOST_ROWS = 12


def render(brief: Brief) -> str:
    """The whole brief; every section is there, and says so where nothing is known."""
    parts = [
        [f"# {brief.kernel} on {brief.target}"],
        _section("Kernel", [f"`{brief.where.file}`, line {brief.where.line}", "", *_code(brief.source)]),
        _section("Launches", _launches(brief)),
        _section("What the compiler says", _compiled(brief)),
        _section("What limits it", _diagnosis(brief)),
        _section("What was tried", [_tried(row) for row in brief.tried] or ["Nothing yet."]),
        _section("What can be applied", _applicable(brief.suggestions)),
        _section("What cannot, and why", _refused(brief.suggestions)),
        _section("Beyond the rules", [line for idea in brief.ideas for line in _idea(idea)]),
        _section("What may not change", [f"* {line}" for line in brief.constraints]),
        _section("How to verify", _code("\n".join(brief.verify) + "\n", "sh")),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return ["", f"## {title}", "", *lines]


def _code(text: str, language: str = "python") -> list[str]:
    return [f"```{language}", *text.rstrip("\n").split("\n"), "```"]


def _launches(brief: Brief) -> list[str]:
    """Each launch once: its grid, arguments and hints."""
    if isinstance(brief.compilation, CompileFailure):
        return [f"Unknown: {brief.compilation.message}"]
    return list(dict.fromkeys(f"* {_launch(each.launch)}" for each in brief.compilation))


def _launch(launch: Launch) -> str:
    arguments = ", ".join(
        f"{argument.name}: {argument.dtype}{list(argument.shape)}"
        + ("" if _is_contiguous(argument) else f" strides {list(argument.strides)}")
        if isinstance(argument, ArrayArgument)
        else f"{argument.name} = {argument.value}{' (constant)' if argument.constant else ''}"
        for argument in launch.arguments
    )
    hints = ", ".join(f"{name}={value}" for name, value in launch.hints.items())
    return f"configuration {launch.configuration}: grid {list(launch.grid)}; {arguments}" + (
        f"; hints {hints}" if hints else ""
    )


def _is_contiguous(argument: ArrayArgument) -> bool:
    expected = 1
    for extent, stride in zip(reversed(argument.shape), reversed(argument.strides), strict=True):
        if extent > 1 and stride != expected:
            return False
        expected *= extent
    return True


def _compiled(brief: Brief) -> list[str]:
    if isinstance(brief.compilation, CompileFailure):
        return [f"Nothing: {brief.compilation.message}"]
    by_code = {each.code_hash: each for each in brief.compilation}
    remarks = dict.fromkeys(_remark(r) for each in by_code.values() for r in each.remarks if r.text or not r.passed)
    return [*map(_resources, by_code.values()), *list(remarks)[:MOST_ROWS], f"* {brief.order.text}"]


def _resources(each: CompileEvidence) -> str:
    figures = {
        "registers a thread": each.registers,
        "bytes of stack frame": each.stack_bytes,
        "bytes of shared memory": each.shared_bytes,
        "threads a block": each.threads,
        "blocks an SM": each.blocks_per_sm,
    }
    known = ", ".join(f"{value} {name}" for name, value in figures.items() if value is not None)
    return f"* {known}, {each.code_bytes} bytes of machine code"


def _remark(remark: Remark) -> str:
    outcome = "" if remark.passed else "not "
    return f"* line {remark.where.line}: {outcome}{remark.instruction or remark.name}. {remark.text}".rstrip()


def _diagnosis(brief: Brief) -> Iterator[str]:
    diagnosis = brief.diagnosis
    yield f"**{diagnosis.bottleneck}**, {diagnosis.confidence:.0%} sure."
    for cause in diagnosis.causes:
        yield f"* {cause.id} ({cause.score:.0%})"
        yield from (f"  * {_evidence(evidence)}" for evidence in cause.evidence)
    if brief.headroom is not None:
        yield f"* By the roofline of its own counters it can become {brief.headroom:.2f} times faster at most."
    else:
        yield "* How far it is from the roofline is unknown."
    yield from (f"* not evaluated: {text}" for text in diagnosis.not_evaluated[:MOST_ROWS])
    yield from (f"* {note}" for note in brief.notes)


def _evidence(evidence: Evidence) -> str:
    place = f"line {evidence.where.line}: " if evidence.where is not None else ""
    value = "unavailable" if evidence.value is None else f"{evidence.value} {evidence.unit}".strip()
    return f"{place}{evidence.text or f'{evidence.name} = {value}'}"


def _tried(row: Iteration) -> str:
    gain = "" if row.speedup is None else f", {row.speedup:.3f}x"
    return f"* {row.n}: {row.optimization} {row.variant}".rstrip() + f": {row.verdict}{gain}. {row.reason}".rstrip()


def _applicable(suggestions: tuple[Suggestion, ...]) -> list[str]:
    rows = [suggestion for suggestion in suggestions if suggestion.applicable]
    if not rows:
        return ["Nothing."]
    lines = [_suggestion(suggestion) for suggestion in rows[:MOST_ROWS]]
    diff = rows[0].proposal.diff if rows[0].proposal is not None else ""
    more = len(rows) - MOST_ROWS
    return (
        lines
        + ([f"* and {more} more"] if more > 0 else [])
        + (["", "The first:", "", *_code(diff, "diff")] if diff else [])
    )


def _suggestion(suggestion: Suggestion) -> str:
    speedup = suggestion.expected_speedup
    name = f"{suggestion.optimization} {suggestion.variant}".strip()
    expected = f"{speedup.mid:.2f} times faster ({speedup.low:.2f} to {speedup.high:.2f})"
    return f"* {name}, {suggestion.title}: {expected} expected, {suggestion.confidence:.0%} sure, {suggestion.safety}"


def _refused(suggestions: tuple[Suggestion, ...]) -> list[str]:
    """Each optimization of which nothing applies, once."""
    offered = {suggestion.optimization for suggestion in suggestions if suggestion.applicable}
    reasons = {s.optimization: s for s in reversed(suggestions) if s.optimization not in offered}
    return [
        f"* {s.optimization}, {s.title}: {s.why_not or 'not applicable'}"
        for s in sorted(reasons.values(), key=lambda s: s.optimization)
    ] or ["Everything applies."]


def _idea(idea: Idea) -> Iterator[str]:
    yield from (f"### {idea.title}", "", idea.why, "", idea.how, "")
    if idea.skeleton:
        yield from ("A beginning, to be adapted; it compiles as it stands:", "", *_code(idea.skeleton), "")
