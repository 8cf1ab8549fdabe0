"""Replaces a file of the user's by an edited one so that nothing can be lost.

The original is kept first, in the user's state folder under the hash of its text: a copy restores it byte for byte,
whatever the file has become since and whether or not git knows it, which a reversed patch cannot promise (it fails where
the lines around it have changed, and line ends are converted on the way). A name made of the hash is never overwritten
with something else, and nothing appears beside the user's source.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from kdiag.errors import KdiagError


def replace_text(path: Path, before: str, after: str) -> Path:
    """Make `path`, which was read as `before`, say `after`; the file that keeps the original.

    A symbolic link stays one, and mode and extended attributes stay; a reader sees the old file or the new one. Raises
    KdiagError if the file is read-only or says something else by now, OSError if it or the state folder cannot be written.
    """
    target = path.resolve(strict=True)
    if not os.access(target, os.W_OK):  # a new file could take its place
        raise KdiagError(f"{path} is read-only and stays as it is; make it writable first.")
    kept = _keep(target.name, before)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(after.encode())
            stream.flush()
            os.fsync(stream.fileno())
        shutil.copystat(target, name)
        os.utime(name)  # an old time of change would leave Python with the byte code of the old text
        with contextlib.suppress(PermissionError):
            shutil.chown(name, target.stat().st_uid, target.stat().st_gid)
        if target.read_bytes() != before.encode():
            raise KdiagError(f"{path} was changed by someone else meanwhile; nothing was written.")
        Path(name).replace(target)
    finally:
        Path(name).unlink(missing_ok=True)
    return kept


def _keep(name: str, text: str) -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    digest = hashlib.sha256(text.encode()).hexdigest()
    folder = Path(base) / "kdiag" / "originals" / digest[:16]
    path = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        Path(part).replace(path)
    finally:
        Path(part).unlink(missing_ok=True)
    return path
