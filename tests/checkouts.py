"""A repository with a kernel and one commit, and the worktree of a run beside it: for what tests of both need."""

import hashlib
import subprocess

from kdiag.executors import repo, worktrees

KERNEL = "def kernel():\n    return 1\n"
DATE = "20260102"


def git(folder, *arguments):
    identity = ["-c", "user.name=User", "-c", "user.email=user@example.org"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def committed(folder):
    """A repository with a kernel, a test and one commit; the user's name is not configured."""
    (folder / "ops").mkdir(parents=True)
    (folder / "ops" / "kernel.py").write_text(KERNEL)
    (folder / "test_kernel.py").write_text("def test_kernel(): pass\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "start")
    return folder


def open_worktree(kernel_file, run_dir, kernel="kernel"):
    worktree = worktrees.plan_worktree(kernel_file, kernel, run_dir, DATE)
    worktrees.create(worktree)
    return worktree


def opened(checkout, name="run"):
    return open_worktree(checkout / "ops" / "kernel.py", checkout.parent / name)


def kept(worktree):
    """The commit of a faster kernel."""
    repo.write(worktree, "faster\n")
    return repo.commit(worktree, "keep D")


def snapshot(root):
    """Every byte of a checkout and of its git state, but for what a run may add: objects, its branch, its worktree."""
    added = {"objects", "worktrees"}
    return {
        str(path): f"{path.stat().st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in root.rglob("*")
        if path.is_file() and not added & set(path.parts) and "cutile-perf" not in path.name
    }
