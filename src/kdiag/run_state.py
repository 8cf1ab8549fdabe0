"""Where a run stands, added up from its journal."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .journal import Event, IterationDone, Resumed, Start, Tree
from .records import Iteration


@dataclass(frozen=True)
class RunState:
    """Where a run stands: what is needed to go on with it. `best_commit` is the last kept one, else the base;
    `kept` says that it came after the last `tree`.
    """

    start: Start
    iterations: tuple[Iteration, ...]
    best_commit: str
    tree: Mapping[str, object] | None
    kept: bool = False


def state(events: Iterable[Event]) -> RunState:
    """Add up the events of a journal, which begin with its Start."""
    events = tuple(events)
    start = next(event for event in events if isinstance(event, Start))
    # What is found out about an iteration later is a record of its own, and counts.
    last_of: dict[int, Iteration] = {}
    tree, fresh = None, False
    for event in events:
        if isinstance(event, Tree):
            tree, fresh = event.state, False
        elif isinstance(event, IterationDone):
            row = event.iteration
            fresh |= row.verdict == "keep" and row.n > 0 and row.n not in last_of
            last_of[row.n] = row
        elif isinstance(event, Resumed) and event.gpu is not None:  # what was ready is measured now, under new numbers
            last_of = {n: known for n, known in last_of.items() if known.verdict != "ready"}
    rows = tuple(last_of.values())
    kept = [row.commit for row in rows if row.verdict == "keep" and row.commit is not None]
    return RunState(
        start=start, iterations=rows, best_commit=kept[-1] if kept else start.base_commit, tree=tree, kept=fresh
    )
