"""`kdiag auto` in the terminal: two lines an iteration, or a live table (stderr), and a table at the end (stdout)."""

from __future__ import annotations

import re
import shlex
import time
from statistics import median

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kdiag.records import Iteration, Suggestion

from .run_summary import RunHeader, RunSummary, achieved, clocks, loop_s, totals

_STYLES = {
    "keep": "bold green",
    "revert": "yellow",
    "crash": "bold red",
    "no-op": "dim",
    "inconclusive": "yellow",
    "ready": "cyan",
}
MOVED = 0.02  # of the SM clock: what counts as a regression
SHOWN = 12  # rows of the live table, so that it stays on the screen; the summary has them all


class Terminal:
    """Reports a run as it goes. Inside a `with`, a terminal shows a live table; a log file gets lines, never wrapped."""

    def __init__(self, progress: Console | None = None, results: Console | None = None) -> None:
        """`progress` is where the run is told (default: stderr), `results` where the summary goes (stdout)."""
        self._progress = progress or Console(stderr=True)
        self._results = results or Console()
        self._iterations: tuple[Iteration, ...] = ()
        self._now, self._gate, self._left, self._since = ("", ""), "", "", time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Terminal:
        """Begin to draw the table, on a terminal."""
        if self._progress.is_terminal:
            self._live = Live(
                get_renderable=self._running, console=self._progress, refresh_per_second=4, transient=True
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the screen back, however the run ended."""
        if self._live is not None:
            self._live.stop()
        self._live = None

    def on_start(self, header: RunHeader, earlier: tuple[Iteration, ...] = ()) -> None:
        """Say what runs and where; `earlier` are the iterations of a run that is resumed."""
        self._iterations = earlier
        gpu = header.gpu or "no GPU"
        self._line("kdiag auto ", (header.kernel, "bold cyan"), f" on {gpu}, policy {header.policy}")
        self._line((f"branch {header.branch} in {header.worktree}; your checkout is not touched", "dim"))

    def on_iteration(self, row: Iteration, headroom: float | None = None) -> None:
        """One iteration that has ended: what was tried and what came of it, then why. `headroom` as in `on_try`."""
        self._iterations, self._left = (*self._iterations, row), _left(headroom)
        if self._live is None:
            self._lines(row)
        if row.paired:
            self.on_note(f"{_name(row)} was tried as one: {row.paired}")
        if row.prediction is not None and row.prediction.conclusion == "refuted":
            self.on_note(f"{row.prediction.cause} is refuted: what else is for it waits until nothing else is open")

    def _lines(self, row: Iteration) -> None:
        figures = f"{_ms(row.latency_ms):>14}  {_ratio(row.speedup):>7}  "
        verdict = (f"{row.verdict:<12}", _STYLES[row.verdict])
        self._line(f"{row.n:>3}  ", verdict, figures, (_name(row), "bold"), _title(row))
        foretold = row.prediction.text if row.prediction and row.prediction.outcome != "not-evaluated" else ""
        facts = [_gates(row), row.reason, foretold, f"{row.seconds:.1f} s", self._best(), self._left]
        self._line(("     " + "; ".join(filter(None, facts)), "dim"))

    def on_try(self, n: int, suggestion: Suggestion, headroom: float | None) -> None:
        """A candidate begins; `headroom` is how many times faster the best version could still become."""
        self._now = str(n), f"{suggestion.optimization} {suggestion.variant}".strip()
        self._left = _left(headroom)

    def on_gate(self, name: str) -> None:
        """What is done with the candidate now."""
        self._gate, self._since = name, time.monotonic()

    def _running(self) -> Table:
        """The last rows, and below them what runs now, since when, and what may come of it."""
        table = _table(self._iterations[-SHOWN:])
        waited = f"{time.monotonic() - self._since:.0f}"
        table.add_row(self._now[0], Text(self._now[1]), "running", "", "", waited, self._gate)
        table.caption = Text("; ".join(filter(None, (self._best(), self._left))))
        return table

    def _best(self) -> str:
        achieved = totals(self._iterations)
        if achieved.best_ms is None:
            return ""
        ratio = f", {achieved.speedup:.2f}x of the baseline" if achieved.speedup is not None else ""
        return f"best so far {_ms(achieved.best_ms)}{ratio}"

    def on_note(self, text: str) -> None:
        """A remark about the run, such as what cannot be done on this machine."""
        self._line(f"  -  {text}")

    def summary(self, summary: RunSummary) -> None:
        """What was tried, what is left of it, and how to take it over."""
        self._results.print(_table(summary.iterations))
        total = achieved(summary)
        if total.speedup is not None:
            measured = f"{_ms(total.baseline_ms)} -> {_ms(total.best_ms)}, {total.speedup:.2f}x"
            self._result((summary.header.kernel, "bold cyan"), f": {measured}")
        for timing in summary.final:
            self._result(
                f"  {timing.configuration}: {_ms(timing.parent_ms)} -> {_ms(timing.candidate_ms)}, "
                f"{timing.speedup:.3f}x [{timing.low:.3f}, {timing.high:.3f}], "
                f"{timing.samples} pairs, A/A floor {timing.noise_floor:.2%}"
            )
        if total.baseline_ms is not None:
            self._result(f"clocks: {_clocks(summary)}")
        if (own := loop_s(summary)) is not None:
            self._result(f"The loop itself took {own:.2f} s a candidate (median).")
        self._result(f"Stopped: {summary.stop_reason}.")
        if summary.tree:
            self._result(f"Priority tree: {summary.tree}")
        for name, path in summary.files.items():
            self._result(f"{name}: {path}")
        for line in _take_over(summary):
            self._result(line)

    def _line(self, *parts: str | tuple[str, str]) -> None:
        self._progress.print(Text.assemble(*parts), soft_wrap=True)

    def _result(self, *parts: str | tuple[str, str]) -> None:
        self._results.print(Text.assemble(*parts), soft_wrap=True)


def _table(iterations: tuple[Iteration, ...]) -> Table:
    table = Table(header_style="bold")
    for name in ("#", "tried", "verdict", "ms", "over parent", "s"):
        table.add_column(name, justify="left" if name in ("tried", "verdict") else "right", no_wrap=name != "tried")
    table.add_column("why", overflow="fold")
    for row in iterations:
        table.add_row(
            str(row.n),
            Text(_name(row)),
            Text(row.verdict, _STYLES[row.verdict]),
            "-" if row.latency_ms is None else f"{row.latency_ms:.6f}",
            _ratio(row.speedup),
            f"{row.seconds:.1f}",
            Text(_short(row.reason)),
        )
    return table


def _clocks(summary: RunSummary) -> str:
    if not (read := clocks(summary)):
        return "not known"
    sm, count = [each.sm_mhz for each in read], len(summary.iterations[0].clocks)
    ends = "-".join(f"{mhz:,}" for mhz in sorted({min(sm), max(sm)}))
    memory = max(each.memory_mhz or 0 for each in read)
    told = f"SM {ends} MHz{f', memory {memory:,} MHz' if memory else ''} while timing"
    moved = median(sm[-count:]) / median(sm[:count] or sm) - 1
    return f"{told}; SM {moved:+.1%} since the baseline: compare ratios, not times" if abs(moved) > MOVED else told


def _short(reason: str) -> str:
    """The reason without its figures, which the other columns and the journal hold."""
    return re.split(r"[:;,]", reason, maxsplit=1)[0]


def _take_over(summary: RunSummary) -> list[str]:
    repository, branch = shlex.quote(summary.header.repository), summary.header.branch
    kept = any(row.verdict == "keep" and row.n > 0 for row in summary.iterations)
    lines = [summary.hint] if summary.hint else []
    if ready := sum(row.verdict == "ready" for row in summary.iterations):
        waits = "s compiled and wait as patches" if ready > 1 else " compiled and waits as a patch"
        measured = any(row.latency_ms is not None for row in summary.iterations)
        lines.append(f"Nothing {'more ' if measured else ''}was measured. {ready} candidate{waits}.")
    if kept:
        lines.append(f"To take it over: git -C {repository} merge {branch}")
    elif not ready:
        tried = any(row.n > 0 for row in summary.iterations)
        lines.append(f"No edit was {'kept; your kernel is the best version' if tried else 'tried'}.")
    return [*lines, f"To remove the worktree: {removal(summary.header)}"]


def removal(header: RunHeader) -> str:
    """The command that removes a run's worktree; its branch stays."""
    repository, worktree = shlex.quote(header.repository), shlex.quote(header.worktree)
    return f"git -C {repository} worktree remove --force {worktree}"


def _name(row: Iteration) -> str:
    return f"{row.optimization} {row.variant}".strip()


def _title(row: Iteration) -> str:
    return f"  {row.title}" if row.title and row.title != _name(row) else ""


def _gates(row: Iteration) -> str:
    """The gates by outcome; the reason of a failed one is the iteration's own."""
    parts = []
    for outcome, words in (("passed", "passed"), ("failed", "failed"), ("could-not-run", "could not run:")):
        gates = [gate for gate in row.gates if gate.outcome == outcome]
        reasons = [
            f"{gate.gate} ({gate.reason})" if outcome == "could-not-run" and gate.reason else gate.gate
            for gate in gates
        ]
        if reasons:
            parts.append(f"{words} {', '.join(reasons)}")
    return "; ".join(parts)


def _left(headroom: float | None) -> str:
    return "" if headroom is None else f"at most {max(headroom - 1, 0):.1%} left to gain"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.6f} ms"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}x"
