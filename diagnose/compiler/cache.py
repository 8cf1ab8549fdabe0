"""Remembers on disk what the tile compiler said, so that the same kernel is compiled once on a machine.

An entry is named by the hash of everything that decides the answer: the bytecode, target, optimization level, the
compiler's files, and the form of the evidence. The bytecode is what the front end makes of the kernel's source for the
signature of one launch: it holds the code of the kernel and of every function it calls, whatever file they are in,
with lines and columns; types, ranks, alignments and divisibilities of the arguments; constants and tile shapes; and
the hints `num_ctas`, `occupancy` and `num_worker_warps`. `opt_level` is the one hint that is no part of it. A key made of
the source would be wrong where a kernel calls a function of another file, and would be missed at every change elsewhere
in its own. Where entries are kept: `kdiag.disk_cache`.
"""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from kdiag import disk_cache
from kdiag.records import CompileEvidence

FORM = 2  # of the evidence: raise it when the same cubin or remarks would be read differently
MAX_ENTRIES = 4000  # at 2 to 20 kB each


@dataclass(frozen=True)
class BytecodeVersion:
    """A version of bytecode as cuda-tile spells it, e.g. "13.4"."""

    text: str


def bytecode_version(bytecode: bytes) -> BytecodeVersion | None:
    """The version in which bytecode is written: behind eight bytes that say what it is. None for one with a tag."""
    major, minor, *tag = bytecode[8:12]
    return None if any(tag) else BytecodeVersion(f"{major}.{minor}")


def cache_folder() -> Path | None:
    """Where entries are kept; None on a machine where the user has no home."""
    return disk_cache.folder_of("compilations")


def cache_key(bytecode: bytes, target: str, opt_level: int, compiler: Path) -> str:
    """The name of the entry for one run of `compiler`, which calls the ptxas beside it or on PATH."""
    beside = shutil.which("ptxas", path=str(compiler.parent)) or shutil.which("ptxas")
    files = [compiler, *([Path(beside)] if beside else [])]
    identity = [
        (str(file.resolve()), (stat := file.stat()).st_size, stat.st_mtime_ns) for file in files if file.exists()
    ]
    words = json.dumps([FORM, target, opt_level, identity]).encode()
    return hashlib.sha256(words + b"\0" + bytecode).hexdigest()


def load(folder: Path | None, key: str) -> CompileEvidence | None:
    """The evidence kept under `key`, or None. The launch in it is the one that was compiled first."""
    return disk_cache.load(folder, key, CompileEvidence)


def store(folder: Path | None, key: str, evidence: CompileEvidence) -> None:
    """Keep the evidence under `key`."""
    disk_cache.store(folder, key, evidence, MAX_ENTRIES)
