"""Remembers on disk what emulating a kernel file gave, so that a parent is emulated once.

An entry is named by the hash of the kernel file, the workload file, the case, the target, and the emulator: its own
files and the versions of the packages whose arithmetic or front end it uses. It also holds the hashes of the other
files that were imported, which are not known before; where one of them has changed, the entry is not there.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import kdiag
from kdiag import disk_cache
from kdiag.codec import encode
from kdiag.records import EmulatedCase, EmulationCase

from .case_request import CasesRequest

MAX_ENTRIES = 20_000  # at about 1 kB each
PACKAGES = ("cuda-tile", "numpy", "torch", "ml-dtypes")
OWN = ("executors/emulator", "cutile", "executors/correctness", "workload.py")


@dataclass(frozen=True)
class Stored:
    """What is kept of a case: its result, or why it cannot be emulated; and the hashes of other files it rests on."""

    result: EmulatedCase | None
    not_emulated: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def folder() -> Path | None:
    """Where entries are kept; None on a machine where the user has no home."""
    return disk_cache.folder_of("emulations")


def key_of(request: CasesRequest, case: EmulationCase) -> str:
    workload = hashlib.sha256(request.workload.path.read_bytes()).hexdigest()
    words = [request.source.hash, workload, encode(case), request.target, emulator_version()]
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()


def load(where: Path, key: str) -> Stored | None:
    """The entry, or None; an entry that rests on a file which has changed is none."""
    found = disk_cache.load(where, key, Stored)
    if found is None or any(_hash(Path(file)) != known for file, known in found.files.items()):
        return None
    return found


def store(where: Path, key: str, stored: Stored) -> None:
    disk_cache.store(where, key, stored, MAX_ENTRIES)


@cache
def emulator_version() -> str:
    """A hash of everything whose change may change a result: the emulator's files, and packages by their versions."""
    digest = hashlib.sha256()
    root = Path(kdiag.__file__).parent
    for name in OWN:
        path = root / name
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    for package in PACKAGES:
        try:
            digest.update(f"{package} {version(package)}".encode())
        except PackageNotFoundError:
            digest.update(f"no {package}".encode())
    return digest.hexdigest()


def _hash(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
