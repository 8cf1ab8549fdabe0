"""Where a run may begin, and how it comes back: real repositories in every state a user may have them in."""

import subprocess
from pathlib import Path

import pytest

from checkouts import DATE, KERNEL, git, kept, open_worktree, opened, snapshot
from kdiag.errors import RepositoryError
from kdiag.executors import repo, worktrees

pytestmark = pytest.mark.usefixtures("isolated_git")


# ---- where a run may begin


@pytest.mark.parametrize("hide", [False, True])
def test_a_modified_target_is_refused_even_if_git_was_told_to_overlook_it(checkout, hide):
    if hide:
        git(checkout, "update-index", "--assume-unchanged", "ops/kernel.py")
    (checkout / "ops" / "kernel.py").write_text("changed\n")
    with pytest.raises(RepositoryError, match="commit or stash"):
        opened(checkout)
    assert git(checkout, "branch", "--list", "cutile-perf-*") == ""


def test_a_target_with_a_staged_change_is_refused(checkout):
    (checkout / "ops" / "kernel.py").write_text("changed\n")
    git(checkout, "add", ".")
    (checkout / "ops" / "kernel.py").write_text(KERNEL)
    with pytest.raises(RepositoryError, match="commit or stash"):
        opened(checkout)


@pytest.mark.parametrize("ignored", [False, True])
def test_an_untracked_target_is_refused(checkout, ignored):
    (checkout / "new.py").write_text(KERNEL)
    if ignored:
        (checkout / ".git" / "info" / "exclude").write_text("new.py\n")
    with pytest.raises(RepositoryError, match="not in the last commit"):
        open_worktree(checkout / "new.py", checkout.parent / "run")


def test_no_repository_no_commit_no_file_and_bare(tmp_path, checkout):
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "kernel.py").write_text(KERNEL)
    with pytest.raises(RepositoryError, match="git init"):
        open_worktree(alone / "kernel.py", tmp_path / "run")
    git(alone, "init", "--quiet")
    with pytest.raises(RepositoryError, match="no commit yet"):
        open_worktree(alone / "kernel.py", tmp_path / "run")
    with pytest.raises(RepositoryError, match="no kernel file"):
        open_worktree(alone / "absent.py", tmp_path / "run")
    git(tmp_path, "clone", "--quiet", "--bare", str(checkout), "bare.git")
    (tmp_path / "bare.git" / "kernel.py").write_text(KERNEL)
    with pytest.raises(RepositoryError, match="bare"):
        open_worktree(tmp_path / "bare.git" / "kernel.py", tmp_path / "run")


def test_a_run_directory_inside_the_checkout_is_refused(checkout):
    with pytest.raises(RepositoryError, match="outside"):
        open_worktree(checkout / "ops" / "kernel.py", checkout / "runs")


def test_detached_head_symbolic_link_and_linked_worktree(checkout):
    git(checkout, "checkout", "--quiet", "--detach")
    link = checkout.parent / "link.py"
    link.symlink_to(checkout / "ops" / "kernel.py")
    worktree = open_worktree(link, checkout.parent / "run")
    assert worktree.target == Path("ops/kernel.py")
    git(checkout, "worktree", "add", "--quiet", "--detach", str(checkout.parent / "second"))
    second = open_worktree(checkout.parent / "second/ops/kernel.py", checkout.parent / "run2")
    assert second.repository == checkout.parent / "second"
    assert repo.current_source(second) == KERNEL


def test_a_submodule(checkout, tmp_path):
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "submodule", "--quiet", "add", str(checkout), "inner")
    git(outer, "commit", "--quiet", "-m", "with inner")
    before = snapshot(outer)
    worktree = open_worktree(outer / "inner/ops/kernel.py", tmp_path / "run")
    kept(worktree)
    after = snapshot(outer)
    assert {name for name in before | after if before.get(name) != after.get(name)} == set()
    assert worktree.repository == outer / "inner"


def test_branch_names_count_up_and_suit_git(checkout):
    names = [opened(checkout, f"run{n}").branch for n in range(3)]
    assert names == [f"cutile-perf-kernel-{DATE}", f"cutile-perf-kernel-{DATE}-2", f"cutile-perf-kernel-{DATE}-3"]
    odd = open_worktree(checkout / "ops/kernel.py", checkout.parent / "odd", " ../a b~^:?*[@{.lock")
    assert odd.branch == f"cutile-perf-a-b-lock-{DATE}"


def test_a_run_directory_that_is_taken_is_left_alone(checkout):
    (checkout.parent / "run" / "worktree").mkdir(parents=True)
    (checkout.parent / "run" / "worktree" / "occupied").write_text("")
    with pytest.raises(RepositoryError, match="holds a run already"):
        opened(checkout)
    assert (checkout.parent / "run" / "worktree" / "occupied").is_file()
    assert git(checkout, "branch", "--list", "cutile-perf-*") == ""


# ---- resume


def test_reopen_after_being_killed_in_mid_edit_with_locks_left(checkout):
    worktree = opened(checkout)
    repo.write(worktree, "half writ")
    git_dir = Path(git(worktree.path, "rev-parse", "--absolute-git-dir"))
    (git_dir / "index.lock").write_text("")
    (checkout / ".git" / "refs" / "heads" / f"{worktree.branch}.lock").write_text("")
    worktrees.reopen(worktree, worktree.base_commit)
    best = kept(worktree)
    worktrees.reopen(worktree, best)
    assert repo.current_source(worktree) == "faster\n"


def test_reopen_refuses_a_branch_on_which_somebody_worked(checkout):
    worktree = opened(checkout)
    worktree.file.write_text("by hand\n")
    git(worktree.path, "commit", "--quiet", "-am", "mine")
    with pytest.raises(RepositoryError, match="has moved"):
        worktrees.reopen(worktree, worktree.base_commit)
    assert repo.current_source(worktree) == "by hand\n"


def test_reopen_checks_out_a_deleted_worktree_again(checkout):
    worktree = opened(checkout)
    best = kept(worktree)
    subprocess.run(["rm", "-rf", str(worktree.path)], check=True)
    worktrees.reopen(worktree, best)
    assert repo.current_source(worktree) == "faster\n"


def test_reopen_never_shares_a_branch_with_the_users_checkout(checkout):
    worktree = opened(checkout)
    worktrees.close(worktree)
    git(checkout, "checkout", "--quiet", worktree.branch)
    with pytest.raises(RepositoryError, match="already"):
        worktrees.reopen(worktree, worktree.base_commit)
    git(checkout, "checkout", "--quiet", "main")
    git(checkout, "branch", "-D", worktree.branch)
    with pytest.raises(RepositoryError, match="is gone"):
        worktrees.reopen(worktree, "a commit that the run has kept")


@pytest.mark.parametrize("begun", ["", "branch", "worktree"])
def test_reopen_after_being_killed_before_there_was_a_worktree(checkout, begun):
    worktree = worktrees.plan_worktree(checkout / "ops" / "kernel.py", "kernel", checkout.parent / "run", DATE)
    if begun:
        git(checkout, "branch", worktree.branch)
    if begun == "worktree":  # as git leaves it
        words = ("--no-checkout", "--lock", "--reason", "initializing", str(worktree.path), worktree.branch)
        git(checkout, "worktree", "add", "--quiet", *words)
    worktrees.reopen(worktree, worktree.base_commit)
    assert (worktree.path / "test_kernel.py").is_file()
    assert repo.current_source(worktree) == KERNEL
