"""Where a run stands, added up from its journal."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kdiag.journal import CandidateReady, Event, IterationDone, Resumed, Start, Stop, Tree
from kdiag.records import Iteration


@dataclass(frozen=True)
class RunState:
    """Where a run stands: what is needed to go on with it.

    `best_commit` is the last kept one, else the base; `tried` holds (optimization, variant) of all candidates
    that were judged; `ready` those that wait for a GPU; `stop` is None in a run that was killed or goes on.
    """

    start: Start
    iterations: tuple[Iteration, ...]
    tried: frozenset[tuple[str, str]]
    best_commit: str
    ready: tuple[CandidateReady, ...]
    tree: Mapping[str, object] | None
    stop: Stop | None


def state(events: Iterable[Event]) -> RunState:
    """Add up the events of a journal, which begin with its Start."""
    events = tuple(events)
    start = next(event for event in events if isinstance(event, Start))
    # What is found out about an iteration later is a record of its own, and counts.
    last_of = {event.iteration.n: event.iteration for event in events if isinstance(event, IterationDone)}
    rows = tuple(last_of.values())
    tried = frozenset((row.optimization, row.variant) for row in rows if row.n > 0 and row.verdict != "ready")
    kept = [row.commit for row in rows if row.verdict == "keep" and row.commit is not None]
    ready = {(e.optimization, e.variant): e for e in events if isinstance(e, CandidateReady)}
    trees = [event.state for event in events if isinstance(event, Tree)]
    last = [event for event in events if isinstance(event, Stop | Resumed)][-1:]
    return RunState(
        start=start,
        iterations=rows,
        tried=tried,
        best_commit=kept[-1] if kept else start.base_commit,
        ready=tuple(event for key, event in ready.items() if key not in tried),
        tree=trees[-1] if trees else None,
        stop=last[0] if last and isinstance(last[0], Stop) else None,
    )
