"""The trials of earlier runs, in a SQLite database that several processes may use at once.

It lies in `$KDIAG_DATA_DIR`, else `$XDG_DATA_HOME/kdiag`, else `~/.local/share/kdiag`. Experience helps and is not
needed: that it cannot be read or written is told once, and the run goes on without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kdiag.codec import decode
from kdiag.disk_cache import user_folder
from kdiag.records import PastTrial

if TYPE_CHECKING:
    import sqlite3

Result = TypeVar("Result")
VERSION = 2
BUSY_S = 5.0  # how long a process waits for another that writes
COLUMNS = tuple(column.name for column in fields(PastTrial))
NESTED = ("features", "effect")  # as JSON
CREATE = f"CREATE TABLE IF NOT EXISTS trial (id INTEGER PRIMARY KEY, {', '.join(COLUMNS)})"
INSERT = f"INSERT INTO trial ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 - own names
SELECT = f"SELECT {', '.join(COLUMNS)} FROM trial ORDER BY id DESC LIMIT 20000"  # noqa: S608


def database() -> Path | None:
    """Where the trials are kept; None on a machine where the user has no home."""
    folder = user_folder("KDIAG_DATA_DIR", "XDG_DATA_HOME", ".local/share")
    return folder and folder / "experience.sqlite3"


@dataclass
class Experience:
    """The trials in one database; `warn` is told why they cannot be used. Without a path there are none."""

    path: Path | None
    warn: Callable[[str], None]
    _broken: bool = field(default=False, init=False)

    def record(self, trial: PastTrial) -> None:
        """Add a trial; it is on disk when this returns."""
        values = tuple({**asdict(trial), **{name: json.dumps(asdict(trial)[name]) for name in NESTED}}.values())
        self._attempt(lambda connection: connection.execute(INSERT, values), create=True)

    def all(self) -> tuple[PastTrial, ...]:
        """Every trial, latest first."""
        return self._attempt(_read, create=False) or ()

    def known(self) -> tuple[PastTrial, ...]:
        """The trials, latest first, and of the same two sources on the same architecture the latest alone."""
        found: dict[tuple[str, str, str], PastTrial] = {}
        for trial in self.all():
            found.setdefault((trial.architecture, trial.parent_hash, trial.candidate_hash), trial)
        return tuple(found.values())

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
            self.warn(f"The experience of earlier runs is not used: {why}; repair the file or move it away.")
            return None


def _read(connection: sqlite3.Connection) -> tuple[PastTrial, ...]:
    rows = (dict(zip(COLUMNS, row, strict=True)) for row in connection.execute(SELECT))
    return tuple(decode(PastTrial, {**row, **{name: json.loads(row[name]) for name in NESTED}}) for row in rows)


def _prepare(connection: sqlite3.Connection) -> None:
    import sqlite3

    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise ValueError("a newer kdiag has written it")
    if version < VERSION:
        with suppress(sqlite3.OperationalError):  # another process is at it, or the file system cannot: as safe
            connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(CREATE)
            if "effect" not in {name for _, name, *_ in connection.execute("PRAGMA table_info(trial)")}:
                connection.execute("ALTER TABLE trial ADD COLUMN effect DEFAULT '{}'")  # which version 1 did not have
            connection.execute(f"PRAGMA user_version = {VERSION}")
