"""The last check of a run: what is kept in the end must also satisfy compute-sanitizer."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kdiag.executors import repo
from kdiag.records import GateRecord, Iteration

from .attempt import Arena


def last_check(
    arena: Arena, original: str, iterations: Sequence[Iteration], note: Callable[[str], None]
) -> tuple[str, list[Iteration]]:
    """Check the best version, and while one fails, the one before it.

    Returns the source that the run ends with, committed, and the iterations with what was found, in the order for the
    journal: until the last of them is there, a resumed run takes the commit that failed for its best, as git has it.
    """
    kept = [row for row in iterations if row.n > 0 and row.verdict == "keep"]
    if arena.bench is None or not kept:
        return original, []
    source, end, changed = original, iterations[0], list[Iteration]()
    for row in reversed(kept):
        text = repo.source_at(arena.worktree, row.commit or arena.worktree.base_commit)
        record = _memcheck(arena, text, original)
        note(f"{record.gate} of iteration {row.n}: {record.outcome.replace('-', ' ')}: {record.reason}")
        others = tuple(gate for gate in row.gates if gate.gate != record.gate)  # a resumed run checks again
        checked = replace(row, gates=(*others, record))
        if record.outcome != "failed":
            source, end = text, checked
            break
        reason = f"{record.gate}: {record.reason}"
        changed.append(replace(checked, verdict="revert", correctness="FAIL", reason=reason))
    if changed:
        note(f"the run ends with {end.title}, the last version that passes")
        repo.write(arena.worktree, source)
        # Under the name of the version that it goes back to, so that the run can be resumed.
        end = replace(end, commit=repo.commit(arena.worktree, f"Go back to {end.title}: {changed[0].reason}"))
    return source, [end, *reversed(changed)]


def _memcheck(arena: Arena, source: str, original: str) -> GateRecord:
    """What memcheck says of a source; what the unedited kernel does as well is not the edits' fault."""
    record = arena.memcheck(arena.compiler.path(source))
    if record.outcome == "failed" and arena.memcheck(arena.compiler.path(original)).outcome == "failed":
        reason = f"the unedited kernel does it as well: {record.reason}"
        return replace(record, outcome="could-not-run", reason=reason)
    return record
