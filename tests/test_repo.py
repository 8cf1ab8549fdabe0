"""The user's checkout is sacred, whatever a run writes, reverts and commits in its worktree: real repositories."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts import KERNEL, git, kept, opened, snapshot
from command_lines import program
from kdiag.executors import repo, worktrees

pytestmark = pytest.mark.usefixtures("isolated_git")


# ---- the user's checkout


def test_a_whole_run_leaves_the_users_checkout_byte_identical(checkout):
    (checkout / "stashed.txt").write_text("put away")
    git(checkout, "add", "stashed.txt")
    git(checkout, "stash")
    (checkout / "test_kernel.py").write_text("# the user is in the middle of this\n")
    (checkout / "notes.txt").write_text("untracked")
    (checkout / "staged.py").write_text("x = 1\n")
    git(checkout, "add", "staged.py")
    os.utime(checkout / "ops" / "kernel.py", (1, 1))  # a stale index entry, which `git status` likes to refresh
    before = snapshot(checkout)

    worktree = opened(checkout)
    repo.sandbox(worktree).joinpath("perf_results.md").write_text("| a |\n")
    for round_ in range(3):
        repo.write(worktree, f"broken {round_}\n")
        repo.changed_files(worktree)
        repo.patch(worktree)
        repo.revert(worktree)
    kept(worktree)
    worktrees.reopen(worktree, repo.head(worktree))
    worktrees.close(worktree)

    assert snapshot(checkout) == before
    assert set(worktree.uncommitted) == {"test_kernel.py", "notes.txt", "staged.py"}
    assert git(checkout, "show", f"{worktree.branch}:ops/kernel.py") == "faster"


def test_the_users_hooks_do_not_run_and_nothing_is_signed(checkout):
    for name in ("post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        program(checkout / ".git" / "hooks" / name, f"touch {checkout}/hook-{name}-ran\nexit 1")
    git(checkout, "config", "commit.gpgSign", "true")
    git(checkout, "config", "gpg.program", "/bin/false")
    worktree = opened(checkout)
    kept(worktree)
    assert not list(checkout.glob("hook-*"))


@pytest.mark.parametrize("key", ["branch.autoSetupMerge", "worktree.useRelativePaths", "submodule.recurse"])
def test_settings_that_make_git_write_configuration_do_not(checkout, key):
    git(checkout, "config", key, "true")
    before = (checkout / ".git" / "config").read_bytes()
    opened(checkout)
    assert (checkout / ".git" / "config").read_bytes() == before


def test_the_variables_of_a_surrounding_git_are_not_inherited(checkout, monkeypatch):
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"):
        monkeypatch.setenv(name, str(checkout.parent / "elsewhere"))
    assert opened(checkout).repository == checkout


# ---- edits


@given(source=st.text(st.characters(codec="utf-8")))
def test_a_source_is_written_byte_for_byte(tmp_path_factory, source):
    folder = tmp_path_factory.mktemp("w")
    worktree = repo.Worktree(folder, "b", "0", Path("kernel.py"), folder)
    repo.write(worktree, source)
    assert repo.current_source(worktree) == source
    assert worktree.file.read_bytes() == source.encode()


def test_commit_takes_the_target_alone_and_falls_back_to_its_own_author(checkout):
    worktree = opened(checkout)
    repo.write(worktree, "faster\n")
    (worktree.path / "test_kernel.py").write_text("tampered\n")
    (worktree.path / "stray.txt").write_text("")
    git(worktree.path, "add", "test_kernel.py")
    made = repo.commit(worktree, "D: TF32\n\n# 28x on bf16")
    assert git(checkout, "show", "--name-only", "--format=%an <%ae>", made).split("\n\n") == [
        "kdiag <kdiag@localhost>",
        "ops/kernel.py",
    ]
    assert "# 28x on bf16" in git(checkout, "show", "--format=%B", made)
    assert repo.changed_files(worktree) == ("test_kernel.py", "stray.txt")


def test_the_users_own_identity_is_used_where_there_is_one(checkout):
    git(checkout, "config", "user.name", "Ada")
    worktree = opened(checkout)
    made = kept(worktree)
    assert git(checkout, "show", "--no-patch", "--format=%an <%ae>", made) == "Ada <kdiag@localhost>"


def test_changed_files_sees_everything_but_the_target_and_notes(checkout):
    worktree = opened(checkout)
    repo.write(worktree, "faster\n")
    notes = repo.sandbox(worktree)
    (notes / "perf_results.md").write_text("")
    (worktree.path / "ops" / "__pycache__").mkdir()
    (worktree.path / "ops" / "__pycache__" / "x.pyc").write_text("")
    assert repo.changed_files(worktree) == ()
    assert git(worktree.path, "status", "--porcelain").splitlines() == ["M ops/kernel.py", "?? ops/__pycache__/"]
    (worktree.path / "test_kernel.py").unlink()
    (worktree.path / "ops" / "neuer name.py").write_text("")
    (worktree.path / "conftest.py").write_text("")
    assert set(repo.changed_files(worktree)) == {"test_kernel.py", "ops/neuer name.py", "conftest.py"}


def test_revert_restores_a_target_that_was_edited_staged_or_deleted(checkout):
    worktree = opened(checkout)
    repo.write(worktree, "broken\n")
    git(worktree.path, "add", ".")
    repo.revert(worktree)
    assert repo.current_source(worktree) == KERNEL
    worktree.file.unlink()
    repo.revert(worktree)
    assert repo.current_source(worktree) == KERNEL
    assert repo.patch(worktree) == ""


def test_a_patch_applies_to_the_users_checkout(checkout):
    git(checkout, "config", "diff.noprefix", "true")
    worktree = opened(checkout)
    repo.write(worktree, KERNEL.replace("1", "2"))
    subprocess.run(["git", "apply"], cwd=checkout, input=repo.patch(worktree).encode(), check=True)
    assert (checkout / "ops" / "kernel.py").read_text() == KERNEL.replace("1", "2")


def test_stale_byte_code_is_dropped_with_each_edit(checkout):
    worktree = opened(checkout)
    cache = worktree.path / "ops" / "__pycache__"
    cache.mkdir()
    for edit in (lambda: repo.write(worktree, "x\n"), lambda: repo.revert(worktree)):
        (cache / "kernel.cpython-311.opt-1.pyc").write_text("stale")
        (cache / "kernel_two.cpython-311.pyc").write_text("another module")
        edit()
        assert [path.name for path in cache.iterdir()] == ["kernel_two.cpython-311.pyc"]


def test_hash_files_notices_change_addition_and_loss(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("a")
    watched = [tmp_path / "tests", tmp_path / "workload.py"]
    before = repo.hash_files(watched)
    assert repo.hash_files(watched) == before
    assert before[tmp_path / "workload.py"] is None
    (tmp_path / "tests" / "conftest.py").write_text("")
    assert repo.hash_files(watched) != before
