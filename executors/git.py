"""Runs git in such a way that it does only what was asked.

No hooks, no background maintenance, no refreshed index, no prompt, no signing, no configuration written, and
nothing inherited from a git process around this one (a hook exports GIT_DIR and GIT_INDEX_FILE to its children).
"""

import os
import subprocess
from pathlib import Path

from kdiag.errors import RepositoryError

QUERY_TIMEOUT_S = 60.0
CHECKOUT_TIMEOUT_S = 600.0  # a large repository, or one whose filters download files

# Where the user's configuration and identity come from; every other GIT_* variable describes another process.
_KEPT = frozenset(
    {
        "GIT_AUTHOR_EMAIL",
        "GIT_AUTHOR_NAME",
        "GIT_CEILING_DIRECTORIES",
        "GIT_COMMITTER_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_SSL_CAINFO",
    }
)
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "submodule.recurse=false",
    "worktree.useRelativePaths=false",  # true would write an extension into the user's configuration
)


def environment() -> dict[str, str]:
    """The environment git runs in: this process's, without another git's variables, in the C locale."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return kept | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def ask(folder: Path, *arguments: str) -> str | None:
    """What `git arguments` prints in `folder`, or None when git answers with a failure."""
    done = _run(folder, arguments, "", QUERY_TIMEOUT_S)
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


def tell(
    folder: Path, *arguments: str, settings: tuple[str, ...] = (), text: str = "", timeout_s: float = QUERY_TIMEOUT_S
) -> str:
    """What `git arguments` prints in `folder`. Raises RepositoryError if git fails.

    `settings` are `key=value` for this call alone, `text` goes to git's input.
    """
    options = tuple(word for setting in settings for word in ("-c", setting))
    done = _run(folder, options + arguments, text, timeout_s)
    if done.returncode == 0:
        return os.fsdecode(done.stdout)
    said = [line.strip() for line in os.fsdecode(done.stderr).splitlines() if line.strip()]
    reasons = [line for line in said if line.startswith(("fatal:", "error:"))]
    reason = (reasons or said or ["no message"])[0]
    raise RepositoryError(
        f'`git {arguments[0]}` failed in {folder} with "{reason}"; put that right, then run kdiag again.'
    )


def top_level(file: Path) -> Path:
    """The top folder of the working tree that holds `file`. Raises RepositoryError if there is none."""
    if not file.is_file():
        raise RepositoryError(f"There is no kernel file at {file}; name one that exists.")
    try:
        return Path(tell(file.parent, "rev-parse", "--show-toplevel").rstrip("\n")).resolve()
    except RepositoryError as error:
        if "not a git repository" in str(error):
            raise RepositoryError(
                f"{file.parent} is not in a git repository; run `git init` and commit the kernel first."
            ) from None
        if "must be run in a work tree" in str(error):
            raise RepositoryError(
                f"{file.parent} belongs to a bare git repository; clone it and run kdiag on the clone."
            ) from None
        raise


def status(folder: Path, untracked: str, *targets: Path) -> list[tuple[str, str]]:
    """What is not committed: pairs of the two-letter state of `git status --porcelain` and a path from the top.

    `untracked` is git's mode for such files: no, normal (folders as one) or all. `targets` restrict the answer.
    """
    options = ("--porcelain=v1", "-z", "--no-renames", f"--untracked-files={untracked}")
    listed = tell(folder, "status", *options, "--", *map(str, targets), timeout_s=CHECKOUT_TIMEOUT_S)
    return [(entry[:2], entry[3:]) for entry in listed.split("\0") if entry]


def _run(folder: Path, arguments: tuple[str, ...], text: str, timeout_s: float) -> subprocess.CompletedProcess[bytes]:
    options = [word for setting in _SETTINGS for word in ("-c", setting)]
    try:
        return subprocess.run(
            ["git", "--literal-pathspecs", "--no-pager", *options, *arguments],
            cwd=folder,
            env=environment(),
            input=text.encode(),
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        if not folder.is_dir():
            raise RepositoryError(f"The folder {folder} is gone; start a new run.") from None
        raise RepositoryError("git was not found; install it and see that it is on the PATH.") from None
    except subprocess.TimeoutExpired:
        words = " ".join(word for word in arguments if word.isalpha())
        raise RepositoryError(
            f"`git {words}` did not finish in {folder} within {timeout_s:g} s; "
            "see what keeps the repository busy, then run kdiag again."
        ) from None
