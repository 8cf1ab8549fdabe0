"""Records kept on disk between runs of kdiag, one JSON file for each key.

The folder is `$KDIAG_CACHE_DIR`, else `$XDG_CACHE_HOME/kdiag`, else `~/.cache/kdiag`, with a folder below it for each
kind of record. Entries are written beside and moved into place, so several processes can share it; one that cannot be
read is not there. Without a writable folder nothing is remembered, which costs time only.
"""

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import TypeVar

from .codec import decode, encode

Record = TypeVar("Record")

FOLDER = "KDIAG_CACHE_DIR"
PART = ".part"


def folder_of(kind: str) -> Path | None:
    """Where the entries of one kind are kept; None on a machine where the user has no home."""
    folder = user_folder(FOLDER, "XDG_CACHE_HOME", ".cache")
    return folder and folder / kind


def user_folder(own: str, shared: str, default: str) -> Path | None:
    """The folder that the variable `own` names, else "kdiag" in the one that `shared` names or in `default` at home."""
    if named := os.environ.get(own):
        return Path(named)
    base = Path(os.environ.get(shared, ""))
    try:
        return (base if base.is_absolute() else Path.home() / default) / "kdiag"
    except RuntimeError:
        return None


def load(folder: Path | None, key: str, record: type[Record]) -> Record | None:
    """The record kept under `key`, or None."""
    if folder is None:
        return None
    path = folder / f"{key}.json"
    try:
        found = decode(record, json.loads(path.read_text(encoding="utf-8")))
        path.touch()  # the entries that are used stay
    except (OSError, ValueError, RecursionError):  # a DecodeError is a ValueError
        return None
    return found


def store(folder: Path | None, key: str, record: object, most: int) -> None:
    """Keep the record under `key`, and drop the entries unused for longest when there are more than `most`."""
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, suffix=PART)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(encode(record), file)
            Path(name).replace(folder / f"{key}.json")
        finally:
            Path(name).unlink(missing_ok=True)
        _prune(folder, most)


def _prune(folder: Path, most: int) -> None:
    """Parts that a killed process left count as entries: they get old and go."""
    entries = list(os.scandir(folder))
    if len(entries) <= most:
        return
    ages = {}
    for entry in entries:
        with contextlib.suppress(FileNotFoundError):  # another process pruned it
            ages[entry.path] = entry.stat().st_mtime_ns
    oldest = sorted(ages, key=lambda path: ages[path])[: len(ages) - most * 9 // 10]
    for path in oldest:
        Path(path).unlink(missing_ok=True)
