"""Where a run stands, added up from its journal."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .journal import Event, IterationDone, Resumed, Start, Stop, Tree
from .records import Iteration


@dataclass(frozen=True)
class RunState:
    """Where a run stands: what is needed to go on with it. `best_commit` is the last kept one, else the base;
    `kept` says that it came after the last `tree`; `ended` why the run had come to its end, if it had. `start` has the options that
    were last in force.
    """

    start: Start
    iterations: tuple[Iteration, ...]
    best_commit: str
    tree: Mapping[str, object] | None
    kept: bool = False
    ended: str = ""


def state(events: Iterable[Event]) -> RunState:
    """Add up the events of a journal, which begin with its Start."""
    events = tuple(events)
    start = next(event for event in events if isinstance(event, Start))
    # What is found out about an iteration later is a record of its own, and counts.
    last_of: dict[int, Iteration] = {}
    tree, fresh, ended, measures = None, False, "", False
    for event in events:
        if isinstance(event, Tree):
            tree, fresh = event.state, False
        elif isinstance(event, IterationDone):
            row = event.iteration
            if measures:  # what was ready is measured now, under new numbers
                last_of = {n: known for n, known in last_of.items() if known.verdict != "ready"}
            fresh |= row.verdict == "keep" and row.n > 0 and row.n not in last_of
            last_of[row.n] = row
        elif isinstance(event, Resumed):
            measures = event.gpu is not None
            options = {**start.options, **event.options}
            start = replace(start, options=options, policy=str(options.get("policy", start.policy)))
        elif isinstance(event, Stop):
            ended = event.reason
    rows = tuple(last_of.values())
    kept = [row.commit for row in rows if row.verdict == "keep" and row.commit is not None]
    return RunState(
        start=start,
        iterations=rows,
        best_commit=kept[-1] if kept else start.base_commit,
        tree=tree,
        kept=fresh,
        ended=ended,
    )
