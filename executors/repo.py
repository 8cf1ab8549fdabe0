"""Where a run edits: a git worktree on a branch of its own, so that the user's checkout is never touched.

The user's files, index, HEAD, stash and configuration stay as they are. The repository gains one branch, the
commits on it, and the registration of the worktree.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from kdiag.errors import RepositoryError
from kdiag.executors.git import CHECKOUT_TIMEOUT_S, ask, status, tell, top_level

SANDBOX = "sandbox"
_TRAILER = "Kdiag-Branch"


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


def plan_worktree(kernel_file: Path, kernel: str, run_dir: Path, date: str) -> Worktree:
    """The branch `cutile-perf-<kernel>-<date>` and its worktree `run_dir/worktree`, both still to be created.

    A journal can so name them before they exist, and a run that is killed in between leaves nothing unknown. Raises RepositoryError if git or the repository is missing, there is no commit, the kernel file is untracked
    or modified, or `run_dir` lies inside the checkout.
    """
    file = kernel_file.resolve()
    repository = top_level(file)
    target = file.relative_to(repository)
    base = ask(repository, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if base is None:
        raise RepositoryError(f"{repository} has no commit yet; commit the kernel, then run kdiag again.")
    _refuse_unclean(repository, target)
    path = run_dir.resolve() / "worktree"
    if path.is_relative_to(repository):
        raise RepositoryError(
            f"The run directory {run_dir} is inside {repository}; choose one outside of it."
        )
    if path.exists() or (run_dir / "journal.jsonl").exists():
        raise RepositoryError(
            f"{run_dir} holds a run already; go on with it by --resume, or choose another directory."
        )
    uncommitted = tuple(name for _, name in status(repository, "normal"))
    branch = _new_branch(repository, _branch_name(kernel, date))
    return Worktree(path, branch, base.strip(), target, repository, uncommitted)


def create(worktree: Worktree) -> None:
    """Create branch and worktree. Raises RepositoryError, and then there is neither."""
    tell(worktree.repository, "branch", "--no-track", worktree.branch, worktree.base_commit)
    try:
        _check_out(worktree)
    except RepositoryError:
        ask(worktree.repository, "worktree", "remove", "--force", str(worktree.path))
        ask(worktree.repository, "branch", "-D", worktree.branch)
        raise


def reopen(worktree: Worktree, best_commit: str) -> None:
    """Make the worktree of an interrupted run ready again: the target as in `best_commit`, nothing locked.

    A worktree that is gone, or that git was killed in checking out, is checked out anew from its branch. A commit that the run made but had no time to
    note down is taken back; its candidate will be measured again. Raises RepositoryError if the branch holds
    anything else, because then somebody has worked on it.
    """
    branch = worktree.branch
    if not _exists(worktree.repository, branch):
        if best_commit != worktree.base_commit:
            raise RepositoryError(f"The branch {branch} is gone from {worktree.repository}; start a new run.")
        tell(worktree.repository, "branch", "--no-track", branch, worktree.base_commit)
    if not worktree.path.is_dir() or _is_half_made(worktree):
        # Not `add --force`: that would also take a branch which the user has checked out meanwhile.
        ask(worktree.repository, "worktree", "remove", "--force", "--force", str(worktree.path))
        _check_out(worktree)
    for name in ("index", "HEAD", f"refs/heads/{branch}"):
        lock = tell(worktree.path, "rev-parse", "--git-path", f"{name}.lock").rstrip("\n")
        (worktree.path / lock).unlink(missing_ok=True)
    if (ask(worktree.path, "symbolic-ref", "--short", "HEAD") or "").strip() != branch:
        raise RepositoryError(
            f"{worktree.path} is no longer on {branch}; check that branch out there, or start a new run."
        )
    if head(worktree) != best_commit:
        if not _is_our_commit_after(worktree, best_commit):
            raise RepositoryError(
                f"{branch} has moved from {best_commit[:12]} to {head(worktree)[:12]} since the run; "
                "start a new run from what is there now."
            )
        tell(worktree.path, "reset", "--quiet", "--soft", best_commit)
    revert(worktree)


def close(worktree: Worktree) -> None:
    """Remove the worktree with all that is in it; the branch and its commits stay."""
    tell(
        worktree.repository, "worktree", "remove", "--force", str(worktree.path), timeout_s=CHECKOUT_TIMEOUT_S
    )


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
        raise RepositoryError(
            f"{worktree.target} is not UTF-8; convert it, commit it, then run again."
        ) from None


def source_at(worktree: Worktree, commit: str) -> str:
    """The text of the target in that commit, with the line ends that a checkout gives it."""
    return tell(worktree.path, "cat-file", "--filters", f"{commit}:{worktree.target.as_posix()}")


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
    text = f"{message.rstrip()}\n\n{_TRAILER}: {worktree.branch}\n"
    options = ("--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "--file=-")
    words = ("commit", *options, "--", str(worktree.target))
    tell(worktree.path, *words, settings=_fallback_identity(worktree.path), text=text)
    return head(worktree)


def head(worktree: Worktree) -> str:
    """The hash of the worktree's last commit."""
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


def _refuse_unclean(repository: Path, target: Path) -> None:
    # The hash is compared too: `assume-unchanged` hides a modification from `git status`.
    recorded = ask(repository, "rev-parse", "--verify", "--quiet", f"HEAD:{target.as_posix()}")
    if recorded is None:
        raise RepositoryError(
            f"{target} is not in the last commit of {repository}; commit it, then run again."
        )
    on_disk = tell(repository, "hash-object", "--", str(target))
    if on_disk != recorded or status(repository, "no", target):
        raise RepositoryError(
            f"{target} has changes that are not committed; commit or stash them, then run again."
        )


def _branch_name(kernel: str, date: str) -> str:
    # What `git check-ref-format` forbids, and a leading or trailing dot or dash.
    clean = re.sub(r"[^A-Za-z0-9_]+", "-", kernel).strip("-")
    return f"cutile-perf-{clean or 'kernel'}-{date}"


def _new_branch(repository: Path, name: str) -> str:
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(branch for branch in names if not _exists(repository, branch))


def _exists(repository: Path, branch: str) -> bool:
    return ask(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}") is not None


def _is_half_made(worktree: Worktree) -> bool:
    """Whether git was killed in `worktree add`, which locks the worktree with this word until it has its files."""
    locked = ask(worktree.path, "rev-parse", "--git-path", "locked")
    lock = worktree.path / (locked or "").rstrip("\n")
    return lock.is_file() and lock.read_text().strip() == "initializing"


def _check_out(worktree: Worktree) -> None:
    words = ("worktree", "add", "--quiet", str(worktree.path), worktree.branch)
    tell(worktree.repository, *words, timeout_s=CHECKOUT_TIMEOUT_S)
    if not worktree.file.is_file():
        raise RepositoryError(
            f"{worktree.target} did not appear in {worktree.path}; see `git sparse-checkout list`."
        )


def _is_our_commit_after(worktree: Worktree, parent: str) -> bool:
    text = tell(worktree.path, "log", "-1", "--format=%P%n%B")
    parents, _, message = text.partition("\n")
    return parents == parent and f"{_TRAILER}: {worktree.branch}" in message.splitlines()


def _fallback_identity(folder: Path) -> tuple[str, ...]:
    fallback = {"user.name": "kdiag", "user.email": "kdiag@localhost"}
    missing = [key for key in fallback if not (ask(folder, "config", "--get", key) or "").strip()]
    return tuple(f"{key}={fallback[key]}" for key in missing)


def _forget_bytecode(worktree: Worktree) -> None:
    # Byte code is trusted by its source's size and second of change: two edits within a second look alike.
    for cached in (worktree.file.parent / "__pycache__").glob("*.pyc"):
        if cached.name.split(".")[0] == worktree.target.stem:
            cached.unlink(missing_ok=True)
