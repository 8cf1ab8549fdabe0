"""What a run does in its git worktree: it reads and writes the kernel file there, commits it, and sees what has changed."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kdiag.errors import RepositoryError

from .git import ask, status, tell

SANDBOX = "sandbox"
TRAILER = "Kdiag-Branch"  # ends the message of a commit that a run made


@dataclass(frozen=True)
class Worktree:
    """A checkout at `path` of `branch`, which began at `base_commit` of `repository`.

    `target` is the kernel file, relative to both. `uncommitted` lists what the user has changed elsewhere and
    the worktree therefore lacks; it is for a warning, nothing else.
    """

    path: Path
    branch: str
    base_commit: str
    target: Path
    repository: Path
    uncommitted: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """The kernel file in the worktree, the one that is edited."""
        return self.path / self.target


def sandbox(worktree: Worktree) -> Path:
    """The folder for a run's notes in the worktree, created with a `.gitignore` that keeps it out of git."""
    folder = worktree.path / SANDBOX
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    return folder


def current_source(worktree: Worktree) -> str:
    """The text of the target as it is in the worktree now, line ends untouched."""
    try:
        return worktree.file.read_bytes().decode()
    except UnicodeDecodeError:
        raise RepositoryError(f"{worktree.target} is not UTF-8; convert it, commit it, then run again.") from None


def source_at(worktree: Worktree, commit: str) -> str:
    """The text of the target in that commit, with the line ends that a checkout gives it."""
    return source_in(worktree.path, commit, worktree.target.as_posix())


def source_in(folder: Path, commit: str, target: str) -> str:
    return tell(folder, "cat-file", "--filters", f"{commit}:{target}")


def write(worktree: Worktree, source: str) -> None:
    """Replace the text of the target in the worktree, byte for byte."""
    worktree.file.write_bytes(source.encode())
    _forget_bytecode(worktree)


def revert(worktree: Worktree) -> None:
    """Restore the target, and only the target, from the last commit."""
    tell(worktree.path, "checkout", "--quiet", "HEAD", "--", str(worktree.target))
    _forget_bytecode(worktree)


def commit(worktree: Worktree, message: str) -> str:
    """Commit the target alone, whatever else has changed, and return the hash of the commit."""
    text = f"{message.rstrip()}\n\n{TRAILER}: {worktree.branch}\n"
    options = ("--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "--file=-")
    words = ("commit", *options, "--", str(worktree.target))
    tell(worktree.path, *words, settings=_fallback_identity(worktree.path), text=text)
    return head(worktree)


def head(worktree: Worktree) -> str:
    return tell(worktree.path, "rev-parse", "HEAD").strip()


def patch(worktree: Worktree) -> str:
    """The target's change since the last commit, in the form `git apply` takes; empty if there is none."""
    options = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
    return tell(worktree.path, "diff", *options, "HEAD", "--", str(worktree.target))


def changed_files(worktree: Worktree) -> tuple[str, ...]:
    """What differs from the last commit apart from the target: tracked, or untracked and not ignored.

    The sandbox and Python's untracked byte code do not count.
    """
    return tuple(
        name
        for state, name in status(worktree.path, "all")
        if name != worktree.target.as_posix()
        and not name.startswith(f"{SANDBOX}/")
        and not (state == "??" and "__pycache__" in name.split("/"))
    )


def hash_files(paths: Iterable[Path]) -> dict[Path, str | None]:
    """SHA-256 of each file, None for one that is not there; a folder stands for all files below it."""
    hashes: dict[Path, str | None] = {}
    for path in paths:
        files = sorted(entry for entry in path.rglob("*") if entry.is_file()) if path.is_dir() else [path]
        for file in files:
            if "__pycache__" not in file.parts:
                hashes[file] = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
    return hashes


def _fallback_identity(folder: Path) -> tuple[str, ...]:
    fallback = {"user.name": "kdiag", "user.email": "kdiag@localhost"}
    missing = [key for key in fallback if not (ask(folder, "config", "--get", key) or "").strip()]
    return tuple(f"{key}={fallback[key]}" for key in missing)


def _forget_bytecode(worktree: Worktree) -> None:
    # Byte code is trusted by its source's size and second of change: two edits within a second look alike.
    for cached in (worktree.file.parent / "__pycache__").glob("*.pyc"):
        if cached.name.split(".")[0] == worktree.target.stem:
            cached.unlink(missing_ok=True)
