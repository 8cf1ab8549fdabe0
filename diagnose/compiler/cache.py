"""Remembers on disk what the tile compiler said, so that the same kernel is compiled once on a machine.

An entry is one JSON file named by the hash of everything that decides the answer: the bytecode (which holds constants,
shapes and hints), target, optimization level, the compiler's files, and the form of the evidence. The folder is
`$KDIAG_CACHE_DIR`, else `$XDG_CACHE_HOME/kdiag`, else `~/.cache/kdiag`. Entries are written beside and moved into
place, so several processes can share it; one that cannot be read is not there. Without a writable folder nothing is
remembered, which costs time only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from kdiag.codec import decode, encode
from kdiag.records import CompileEvidence

FORM = 1  # of the evidence: raise it when the same cubin or remarks would be read differently
MAX_ENTRIES = 4000  # at 2 to 20 kB each
FOLDER = "KDIAG_CACHE_DIR"
PART = ".part"


def cache_folder() -> Path | None:
    """Where entries are kept; None on a machine where the user has no home."""
    if own := os.environ.get(FOLDER):
        return Path(own) / "compilations"
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        base = shared if shared.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return base / "kdiag" / "compilations"


def cache_key(bytecode: bytes, target: str, opt_level: int, compiler: Path) -> str:
    """The name of the entry for one run of `compiler`, which calls the ptxas beside it or on PATH."""
    beside = shutil.which("ptxas", path=str(compiler.parent)) or shutil.which("ptxas")
    files = [compiler, *([Path(beside)] if beside else [])]
    identity = [
        (str(file.resolve()), (stat := file.stat()).st_size, stat.st_mtime_ns)
        for file in files
        if file.exists()
    ]
    words = json.dumps([FORM, target, opt_level, identity]).encode()
    return hashlib.sha256(words + b"\0" + bytecode).hexdigest()


def load(folder: Path | None, key: str) -> CompileEvidence | None:
    """The evidence kept under `key`, or None. The launch in it is the one that was compiled first."""
    if folder is None:
        return None
    path = folder / f"{key}.json"
    try:
        found = decode(CompileEvidence, json.loads(path.read_text(encoding="utf-8")))
        path.touch()  # the entries that are used stay
    except (OSError, ValueError, RecursionError):  # a DecodeError is a ValueError
        return None
    return found


def store(folder: Path | None, key: str, evidence: CompileEvidence) -> None:
    """Keep the evidence under `key`, and drop the entries unused for longest when there are too many."""
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, suffix=PART)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(encode(evidence), file)
            Path(name).replace(folder / f"{key}.json")
        finally:
            Path(name).unlink(missing_ok=True)
        _prune(folder)


def _prune(folder: Path) -> None:
    """Parts that a killed process left count as entries: they get old and go."""
    entries = list(os.scandir(folder))
    if len(entries) <= MAX_ENTRIES:
        return
    ages = {}
    for entry in entries:
        with contextlib.suppress(FileNotFoundError):  # another process pruned it
            ages[entry.path] = entry.stat().st_mtime_ns
    oldest = sorted(ages, key=lambda path: ages[path])[: len(ages) - MAX_ENTRIES * 9 // 10]
    for path in oldest:
        Path(path).unlink(missing_ok=True)
