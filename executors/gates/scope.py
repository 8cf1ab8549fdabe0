"""Gate 1, scope: nothing but the planned lines of the target file is different."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kdiag.records import GateRecord

GATE = "scope"
MOST_NAMED = 5  # lines named in a reason


@dataclass(frozen=True)
class Texts:
    """The target file before the edit, as the edit left it, and as it is. `planned` None: no edit says what is meant."""

    before: str
    planned: str | None
    now: str


@dataclass(frozen=True)
class Protected:
    """What must not change: `changed` are other files that differ from the last commit; `before` and `after` hash
    tests, benchmark and reference.
    """

    changed: Sequence[str] = ()
    before: Mapping[Path, str | None] | None = None
    after: Mapping[Path, str | None] | None = None


def scope(protected: Protected, texts: Texts | None = None) -> GateRecord:
    """Only the target may differ, and in it only lines that the edit changes as well."""
    before, after = protected.before or {}, protected.after or {}
    moved = {str(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    if touched := sorted({*protected.changed, *moved}):
        return GateRecord(GATE, "failed", f"it changed {', '.join(touched)}")
    if texts is None or texts.planned is None:
        return GateRecord(GATE, "passed", "only the target file changed")
    planned = changed_lines(texts.before, texts.planned)
    if unplanned := sorted(changed_lines(texts.before, texts.now) - planned):
        more = f" and {len(unplanned) - MOST_NAMED} more" if len(unplanned) > MOST_NAMED else ""
        lines = ", ".join(map(str, unplanned[:MOST_NAMED])) + more
        return GateRecord(GATE, "failed", f"it changed the target file at line {lines}, which the edit does not")
    return GateRecord(GATE, "passed", f"only planned lines of the target file changed ({len(planned)})")


def changed_lines(before: str, after: str) -> frozenset[int]:
    """The lines of `before` that `after` replaces, deletes, or puts something in front of; from 1."""
    old, new = before.split("\n"), after.split("\n")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    changes = (code for code in matcher.get_opcodes() if code[0] != "equal")
    return frozenset(line for _, first, end, _, _ in changes for line in range(first + 1, max(end, first + 1) + 1))
