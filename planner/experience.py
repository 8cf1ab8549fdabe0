"""The trials of earlier runs, in a SQLite database in the user's data folder that several processes may use at once.

The folder is `$KDIAG_DATA_DIR`, else `$XDG_DATA_HOME/kdiag`, else `~/.local/share/kdiag`. Experience is a help and no
need: a database that cannot be read or written is told once, and the run goes on without it.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kdiag.codec import decode, encode
from kdiag.records import PastTrial, TrialGroup

if TYPE_CHECKING:
    import sqlite3

Result = TypeVar("Result")
FOLDER, FILE = "KDIAG_DATA_DIR", "experience.sqlite3"
VERSION = 1
BUSY_S = 5.0  # how long a process waits for another that writes
MOST = 20_000  # trials that are read back, the latest ones

COLUMNS = tuple(column.name for column in fields(PastTrial))
CREATE = f"CREATE TABLE IF NOT EXISTS trial (id INTEGER PRIMARY KEY, {', '.join(COLUMNS)})"
INSERT = f"INSERT INTO trial ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 - names of fields
SELECT = f"SELECT {', '.join(COLUMNS)} FROM trial ORDER BY id DESC LIMIT {MOST}"  # noqa: S608


def database() -> Path | None:
    """Where the trials are kept; None on a machine where the user has no home."""
    if own := os.environ.get(FOLDER):
        return Path(own) / FILE
    shared = Path(os.environ.get("XDG_DATA_HOME", ""))
    try:
        base = shared if shared.is_absolute() else Path.home() / ".local" / "share"
    except RuntimeError:
        return None
    return base / "kdiag" / FILE


@dataclass
class Experience:
    """The trials in one database. `warn` is told why they cannot be used, once; without a path there are none."""

    path: Path | None
    warn: Callable[[str], None]
    _broken: bool = field(default=False, init=False)

    def record(self, trial: PastTrial) -> None:
        """Add a trial; it is on disk when this returns."""
        row = encode(trial)
        assert isinstance(row, dict)
        values = [json.dumps(row[name]) if name == "features" else row[name] for name in COLUMNS]
        self._attempt(lambda connection: connection.execute(INSERT, values), create=True)

    def known(self) -> tuple[PastTrial, ...]:
        """The trials, latest first, and of the same two sources on the same architecture the latest alone."""
        found: dict[tuple[str, str, str], PastTrial] = {}
        for trial in self.all():
            found.setdefault((trial.architecture, trial.parent_hash, trial.candidate_hash), trial)
        return tuple(found.values())

    def all(self) -> tuple[PastTrial, ...]:
        """Every trial, latest first."""
        return self._attempt(_read, create=False) or ()

    def _attempt(self, action: Callable[[sqlite3.Connection], Result], *, create: bool) -> Result | None:
        """One action on a connection of its own, so that nothing is held over a fork; None where that fails."""
        import sqlite3

        if self.path is None or self._broken or not (create or self.path.exists()):
            return None
        try:
            if create:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)) as connection:
                _prepare(connection)
                return action(connection)
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:  # a DecodeError is a ValueError
            self._broken = True
            why = f"{self.path}: {error}"
            self.warn(f"the experience of earlier runs is not used: {why}; repair the file or move it away")
            return None


def _read(connection: sqlite3.Connection) -> tuple[PastTrial, ...]:
    trials = []
    for row in connection.execute(SELECT):
        values = dict(zip(COLUMNS, row, strict=True))
        trials.append(decode(PastTrial, {**values, "features": json.loads(values["features"])}))
    return tuple(trials)


def groups(trials: Sequence[PastTrial]) -> tuple[TrialGroup, ...]:
    """The trials by optimization, leading cause and architecture, in this order."""
    found: dict[tuple[str, str, str], list[PastTrial]] = {}
    for trial in trials:
        found.setdefault((trial.optimization, trial.cause, trial.architecture), []).append(trial)
    return tuple(_group(key, found[key]) for key in sorted(found))


def _group(key: tuple[str, str, str], trials: Sequence[PastTrial]) -> TrialGroup:
    speedups = [trial.speedup for trial in trials if trial.speedup is not None]
    kept = sum(trial.verdict == "keep" for trial in trials)
    median = statistics.median(speedups) if speedups else None
    return TrialGroup(*key, len(trials), median, kept / len(trials))


def _prepare(connection: sqlite3.Connection) -> None:
    """Create the table where there is none. Raises ValueError for the database of a newer kdiag."""
    import sqlite3

    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise ValueError("a newer kdiag has written it")
    if version < VERSION:
        with suppress(
            sqlite3.OperationalError
        ):  # another process is at it, or the file system cannot: as safe
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(CREATE)
        connection.execute(f"PRAGMA user_version = {VERSION}")
