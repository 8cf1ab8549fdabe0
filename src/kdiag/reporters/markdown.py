"""The two logs that are Markdown: the results table of a run, and the log of the optimization loop.

Both are functions from the whole history to the whole text, so that a resumed run writes what one in a single
piece would have written.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kdiag.records import Iteration, VerdictName

# name, least width as in the documented sample, alignment of the cells, rule under the heading
_COLUMNS = (
    ("iteration", 9, "<", "{}:"),
    ("optimization", 18, "<", ":{}"),
    ("latency_ms", 10, ">", "{}:"),
    ("correctness", 11, "<", ":{}"),
    ("status", 6, "<", "{}:"),
)
_STATUS: dict[VerdictName, str] = {
    "keep": "keep",
    "revert": "revert",
    "crash": "crash",
    "no-op": "revert",
    "inconclusive": "revert",
}
_LOOP_STATUS: dict[VerdictName, str] = {"keep": "improved", "revert": "reverted", "crash": "crashed"}


def perf_results(iterations: Sequence[Iteration]) -> str:
    """`sandbox/perf_results.md`: one table of five columns and nothing else.

    The status knows three words, so a no-op and an inconclusive candidate are `revert`, with their own word in the
    optimization column. A time that was not measured is `-`. Candidates that wait for a GPU (`ready`) have no row:
    the table holds results, and they have none yet.
    """
    rows = [_cells(row) for row in iterations if row.verdict in _STATUS]
    widths = [max(least, *(len(row[n]) for row in rows), 0) for n, (_, least, _, _) in enumerate(_COLUMNS)]
    heading = " | ".join(name.ljust(width) for (name, *_), width in zip(_COLUMNS, widths, strict=True))
    rules = "|".join(rule.format("-" * (width + 1)) for (*_, rule), width in zip(_COLUMNS, widths, strict=True))
    lines = [f"| {heading} |", f"|{rules}|"]
    for cells in rows:
        aligned = (
            f"{cell:{align}{width}}" for cell, (_, _, align, _), width in zip(cells, _COLUMNS, widths, strict=True)
        )
        lines.append(f"| {' | '.join(aligned)} |")
    return "\n".join(lines) + "\n"


def _cells(row: Iteration) -> tuple[str, ...]:
    word = f" ({row.verdict})" if row.verdict in ("no-op", "inconclusive") else ""
    latency = "-" if row.latency_ms is None or not math.isfinite(row.latency_ms) else f"{row.latency_ms:.6f}"
    # A no-op is its parent's machine code, and that has passed. Whatever else was not shown to pass did not.
    passed = row.correctness == "PASS" or (row.correctness == "-" and row.verdict == "no-op")
    return (
        str(row.n),
        _plain(row.title or row.optimization) + word,
        latency,
        "PASS" if passed else "FAIL",
        _STATUS[row.verdict],
    )


@dataclass(frozen=True)
class Round:
    """A row of the loop's log. `metric` is in the log's unit, None if not measured; `tier` None for the baseline."""

    iteration: Iteration
    tier: int | None
    metric: float | None
    target_met: bool = False


def experiments_log(kernel: str, gpu: str, unit: str, rounds: Sequence[Round], final: str) -> str:
    """One section of `experiments/README.md`: `unit` is GBps or TFLOPS, `final` the last line (see `final_line`).

    The delta of a round is over the last kept round, which is what it was compared with.
    Below the table, why pairs were tried as one.
    """
    lines = [
        f"## Optimization: {kernel} on {gpu}",
        "",
        "| Iter | Action | Tier | Correctness | Metric | Delta | Status |",
        "|------|--------|------|-------------|--------|-------|--------|",
    ]
    best: float | None = None
    for round_ in rounds:
        row, metric = round_.iteration, round_.metric
        status = "TARGET_MET" if round_.target_met else _LOOP_STATUS.get(row.verdict, row.verdict)
        cells = (
            str(row.n),
            _plain(row.title or row.optimization),
            "-" if round_.tier is None else f"T{round_.tier}",
            row.correctness,
            "-" if metric is None else f"{metric:.4g} {unit}",
            "-" if metric is None or not best else f"{(metric / best - 1) * 100:+.1f}%",
            "-" if row.n == 0 else status,
        )
        lines.append(f"| {' | '.join(cells)} |")
        best = metric if row.verdict == "keep" and metric is not None else best
    pairs = [f"\n{row.n} is a pair: {_plain(row.paired)}" for row in (each.iteration for each in rounds) if row.paired]
    return "\n".join([*lines, *pairs, "", final, ""])


def final_line(metric: float | None, unit: str, pct_of_peak: float | None, rounds: int, ending: str) -> str:
    """The last line of a section; `ending` is e.g. "target met"."""
    reached = "not measured" if metric is None else f"{metric:.4g} {unit}"
    peak = "" if pct_of_peak is None else f" ({pct_of_peak:.1f}% of peak)"
    return f"Final: {reached}{peak}, {rounds} iterations, {ending}."


def with_section(text: str, section: str, run: str) -> str:
    """`text` with the section of `run` (its branch) replaced, or appended if there is none yet."""
    begin, end = f"<!-- {run} -->\n", f"<!-- end of {run} -->\n"
    before, found, rest = text.partition(begin)
    after = rest.partition(end)[2] if found else ""
    if not found and before:
        before = before.rstrip("\n") + "\n\n"
    return f"{before}{begin}{section}{end}{after}"


def write_atomically(path: Path, text: str) -> None:
    """Replace `path` by `text`; a reader, or a crash, sees the old file or the new one and nothing between.

    One process at a time may write a path: what a killed one left beside it is written over by the next. A symbolic
    link stays one.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
