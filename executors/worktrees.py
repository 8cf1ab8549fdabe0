"""Where a run edits: a git worktree on a branch of its own, so that the user's checkout is never touched.

The user's files, index, HEAD, stash and configuration stay as they are. The repository gains one branch, the
commits on it, and the registration of the worktree.
"""

import contextlib
import re
from datetime import datetime
from itertools import count
from pathlib import Path

from kdiag.errors import RepositoryError

from .git import CHECKOUT_TIMEOUT_S, ask, status, tell, top_level
from .repo import TRAILER, Worktree, head, revert, source_at


def plan_worktree(kernel_file: Path, kernel: str, run_dir: Path, date: str) -> Worktree:
    """The branch `cutile-perf-<kernel>-<date>` and its worktree `run_dir/worktree`, both still to be created.

    A journal can so name them before they exist, and a run that is killed in between leaves nothing unknown. Raises
    RepositoryError if git or the repository is missing, there is no commit, the kernel file is untracked or modified,
    or `run_dir` lies inside the checkout.
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
        raise RepositoryError(f"The run directory {run_dir} is inside {repository}; choose one outside of it.")
    if path.exists() or (run_dir / "journal.jsonl").exists():
        raise RepositoryError(f"{run_dir} holds a run already; go on with it by --resume, or choose another directory.")
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

    A worktree that is gone, or that git was killed in checking out, is checked out anew from its branch. A commit that
    the run made but had no time to note down is taken back; its candidate will be measured again. Raises
    RepositoryError if the branch holds anything else, because then somebody has worked on it.
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


def save_edit(worktree: Worktree, best_commit: str) -> Path | None:
    """A copy, beside the worktree, of what somebody else wrote into its target; None if nobody did."""
    if not worktree.file.is_file():
        return None
    text, folder = worktree.file.read_bytes(), worktree.path.parent
    known = [path.read_bytes() for path in (folder / "candidates").glob("*/*")]
    with contextlib.suppress(RepositoryError):
        known.append(source_at(worktree, best_commit).encode())
    if any(each.startswith(text) for each in known):  # kdiag may have been killed in writing it
        return None
    copy = folder / f"yours-{datetime.now():%H%M%S}-{worktree.file.name}"
    copy.write_bytes(text)
    return copy


def close(worktree: Worktree) -> None:
    """Remove the worktree with all that is in it; the branch and its commits stay."""
    tell(worktree.repository, "worktree", "remove", "--force", str(worktree.path), timeout_s=CHECKOUT_TIMEOUT_S)


def _refuse_unclean(repository: Path, target: Path) -> None:
    # The hash is compared too: `assume-unchanged` hides a modification from `git status`.
    recorded = ask(repository, "rev-parse", "--verify", "--quiet", f"HEAD:{target.as_posix()}")
    if recorded is None:
        raise RepositoryError(f"{target} is not in the last commit of {repository}; commit it, then run again.")
    on_disk = tell(repository, "hash-object", "--", str(target))
    if on_disk != recorded or status(repository, "no", target):
        raise RepositoryError(f"{target} has changes that are not committed; commit or stash them, then run again.")


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
        raise RepositoryError(f"{worktree.target} did not appear in {worktree.path}; see `git sparse-checkout list`.")


def _is_our_commit_after(worktree: Worktree, parent: str) -> bool:
    text = tell(worktree.path, "log", "-1", "--format=%P%n%B")
    parents, _, message = text.partition("\n")
    return parents == parent and f"{TRAILER}: {worktree.branch}" in message.splitlines()
