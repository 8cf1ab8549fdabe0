"""The user's checkout is sacred: real repositories in every state a user may have them in."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.errors import RepositoryError
from kdiag.executors import repo, worktrees

KERNEL = "def kernel():\n    return 1\n"
DATE = "20260102"


@pytest.fixture(autouse=True)
def _isolated_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "gitconfig").write_text('[protocol "file"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n')


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=User", "-c", "user.email=user@example.org"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a kernel, a test and one commit; the user's name is not configured."""
    folder = tmp_path / "user"
    (folder / "ops").mkdir(parents=True)
    (folder / "ops" / "kernel.py").write_text(KERNEL)
    (folder / "test_kernel.py").write_text("def test_kernel(): pass\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "start")
    return folder


def open_worktree(kernel_file: Path, kernel: str, run_dir: Path, date: str) -> repo.Worktree:
    worktree = worktrees.plan_worktree(kernel_file, kernel, run_dir, date)
    worktrees.create(worktree)
    return worktree


def opened(checkout: Path, name: str = "run") -> repo.Worktree:
    return open_worktree(checkout / "ops" / "kernel.py", "kernel", checkout.parent / name, DATE)


def snapshot(root: Path) -> dict[str, str]:
    """Every byte of a checkout and of its git state, but for what a run may add: objects, its branch, its worktree."""
    added = {"objects", "worktrees"}
    return {
        str(path): f"{path.stat().st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in root.rglob("*")
        if path.is_file() and not added & set(path.parts) and "cutile-perf" not in path.name
    }


# ---- the user's checkout ----------------------------------------------------------------------------------


def test_a_whole_run_leaves_the_users_checkout_byte_identical(checkout: Path):
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
    repo.write(worktree, "faster\n")
    repo.commit(worktree, "keep D")
    worktrees.reopen(worktree, repo.head(worktree))
    worktrees.close(worktree)

    assert snapshot(checkout) == before
    assert set(worktree.uncommitted) == {"test_kernel.py", "notes.txt", "staged.py"}
    assert git(checkout, "show", f"{worktree.branch}:ops/kernel.py") == "faster"


def test_the_users_hooks_do_not_run_and_nothing_is_signed(checkout: Path):
    for name in ("post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        hook = checkout / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {checkout}/hook-{name}-ran\nexit 1\n")
        hook.chmod(0o755)
    git(checkout, "config", "commit.gpgSign", "true")
    git(checkout, "config", "gpg.program", "/bin/false")
    worktree = opened(checkout)
    repo.write(worktree, "faster\n")
    repo.commit(worktree, "keep D")
    assert not list(checkout.glob("hook-*"))


@pytest.mark.parametrize("key", ["branch.autoSetupMerge", "worktree.useRelativePaths", "submodule.recurse"])
def test_settings_that_make_git_write_configuration_do_not(checkout: Path, key: str):
    git(checkout, "config", key, "true")
    before = (checkout / ".git" / "config").read_bytes()
    opened(checkout)
    assert (checkout / ".git" / "config").read_bytes() == before


def test_the_variables_of_a_surrounding_git_are_not_inherited(checkout: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"):
        monkeypatch.setenv(name, str(checkout.parent / "elsewhere"))
    assert opened(checkout).repository == checkout


# ---- where a run may begin --------------------------------------------------------------------------------


@pytest.mark.parametrize("hide", [False, True])
def test_a_modified_target_is_refused_even_if_git_was_told_to_overlook_it(checkout: Path, hide: bool):
    if hide:
        git(checkout, "update-index", "--assume-unchanged", "ops/kernel.py")
    (checkout / "ops" / "kernel.py").write_text("changed\n")
    with pytest.raises(RepositoryError, match="commit or stash"):
        opened(checkout)


def test_a_target_with_a_staged_change_is_refused(checkout: Path):
    (checkout / "ops" / "kernel.py").write_text("changed\n")
    git(checkout, "add", ".")
    (checkout / "ops" / "kernel.py").write_text(KERNEL)
    with pytest.raises(RepositoryError, match="commit or stash"):
        opened(checkout)


@pytest.mark.parametrize("ignored", [False, True])
def test_an_untracked_target_is_refused(checkout: Path, ignored: bool):
    (checkout / "new.py").write_text(KERNEL)
    if ignored:
        (checkout / ".git" / "info" / "exclude").write_text("new.py\n")
    with pytest.raises(RepositoryError, match="not in the last commit"):
        open_worktree(checkout / "new.py", "kernel", checkout.parent / "run", DATE)


def test_no_repository_no_commit_no_file_and_bare(tmp_path: Path, checkout: Path):
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "kernel.py").write_text(KERNEL)
    with pytest.raises(RepositoryError, match="git init"):
        open_worktree(alone / "kernel.py", "kernel", tmp_path / "run", DATE)
    git(alone, "init", "--quiet")
    with pytest.raises(RepositoryError, match="no commit yet"):
        open_worktree(alone / "kernel.py", "kernel", tmp_path / "run", DATE)
    with pytest.raises(RepositoryError, match="no kernel file"):
        open_worktree(alone / "absent.py", "kernel", tmp_path / "run", DATE)
    git(tmp_path, "clone", "--quiet", "--bare", str(checkout), "bare.git")
    (tmp_path / "bare.git" / "kernel.py").write_text(KERNEL)
    with pytest.raises(RepositoryError, match="bare"):
        open_worktree(tmp_path / "bare.git" / "kernel.py", "kernel", tmp_path / "run", DATE)


def test_git_missing_is_said(checkout: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(checkout))
    with pytest.raises(RepositoryError, match="git was not found"):
        opened(checkout)


def test_a_run_directory_inside_the_checkout_is_refused(checkout: Path):
    with pytest.raises(RepositoryError, match="outside"):
        open_worktree(checkout / "ops" / "kernel.py", "kernel", checkout / "runs", DATE)


def test_detached_head_symbolic_link_and_linked_worktree(checkout: Path):
    git(checkout, "checkout", "--quiet", "--detach")
    link = checkout.parent / "link.py"
    link.symlink_to(checkout / "ops" / "kernel.py")
    worktree = open_worktree(link, "kernel", checkout.parent / "run", DATE)
    assert worktree.target == Path("ops/kernel.py")
    git(checkout, "worktree", "add", "--quiet", "--detach", str(checkout.parent / "second"))
    second = open_worktree(checkout.parent / "second/ops/kernel.py", "kernel", checkout.parent / "run2", DATE)
    assert second.repository == checkout.parent / "second"
    assert repo.current_source(second) == KERNEL


def test_a_submodule(checkout: Path, tmp_path: Path):
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "submodule", "--quiet", "add", str(checkout), "inner")
    git(outer, "commit", "--quiet", "-m", "with inner")
    before = snapshot(outer)
    worktree = open_worktree(outer / "inner/ops/kernel.py", "kernel", tmp_path / "run", DATE)
    repo.write(worktree, "faster\n")
    repo.commit(worktree, "keep D")
    after = snapshot(outer)
    assert {name for name in before | after if before.get(name) != after.get(name)} == set()
    assert worktree.repository == outer / "inner"


def test_branch_names_count_up_and_suit_git(checkout: Path):
    names = [opened(checkout, f"run{n}").branch for n in range(3)]
    assert names == [f"cutile-perf-kernel-{DATE}", f"cutile-perf-kernel-{DATE}-2", f"cutile-perf-kernel-{DATE}-3"]
    odd = open_worktree(checkout / "ops/kernel.py", " ../a b~^:?*[@{.lock", checkout.parent / "odd", DATE)
    assert odd.branch == f"cutile-perf-a-b-lock-{DATE}"


def test_a_run_directory_that_is_taken_is_left_alone(checkout: Path):
    (checkout.parent / "run" / "worktree").mkdir(parents=True)
    (checkout.parent / "run" / "worktree" / "occupied").write_text("")
    with pytest.raises(RepositoryError, match="holds a run already"):
        opened(checkout)
    assert (checkout.parent / "run" / "worktree" / "occupied").is_file()
    assert git(checkout, "branch", "--list", "cutile-perf-*") == ""


# ---- edits ------------------------------------------------------------------------------------------------


@given(source=st.text(st.characters(codec="utf-8")))
def test_a_source_is_written_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, source: str):
    folder = tmp_path_factory.mktemp("w")
    worktree = repo.Worktree(folder, "b", "0", Path("kernel.py"), folder)
    repo.write(worktree, source)
    assert repo.current_source(worktree) == source
    assert worktree.file.read_bytes() == source.encode()


def test_commit_takes_the_target_alone_and_falls_back_to_its_own_author(checkout: Path):
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


def test_the_users_own_identity_is_used_where_there_is_one(checkout: Path):
    git(checkout, "config", "user.name", "Ada")
    worktree = opened(checkout)
    repo.write(worktree, "faster\n")
    made = repo.commit(worktree, "D")
    assert git(checkout, "show", "--no-patch", "--format=%an <%ae>", made) == "Ada <kdiag@localhost>"


def test_changed_files_sees_everything_but_the_target_and_notes(checkout: Path):
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


def test_revert_restores_a_target_that_was_edited_staged_or_deleted(checkout: Path):
    worktree = opened(checkout)
    repo.write(worktree, "broken\n")
    git(worktree.path, "add", ".")
    repo.revert(worktree)
    assert repo.current_source(worktree) == KERNEL
    worktree.file.unlink()
    repo.revert(worktree)
    assert repo.current_source(worktree) == KERNEL
    assert repo.patch(worktree) == ""


def test_a_patch_applies_to_the_users_checkout(checkout: Path):
    git(checkout, "config", "diff.noprefix", "true")
    worktree = opened(checkout)
    repo.write(worktree, KERNEL.replace("1", "2"))
    subprocess.run(["git", "apply"], cwd=checkout, input=repo.patch(worktree).encode(), check=True)
    assert (checkout / "ops" / "kernel.py").read_text() == KERNEL.replace("1", "2")


def test_stale_byte_code_is_dropped_with_each_edit(checkout: Path):
    worktree = opened(checkout)
    cache = worktree.path / "ops" / "__pycache__"
    cache.mkdir()
    for edit in (lambda: repo.write(worktree, "x\n"), lambda: repo.revert(worktree)):
        (cache / "kernel.cpython-311.opt-1.pyc").write_text("stale")
        (cache / "kernel_two.cpython-311.pyc").write_text("another module")
        edit()
        assert [path.name for path in cache.iterdir()] == ["kernel_two.cpython-311.pyc"]


def test_hash_files_notices_change_addition_and_loss(tmp_path: Path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("a")
    watched = [tmp_path / "tests", tmp_path / "workload.py"]
    before = repo.hash_files(watched)
    assert repo.hash_files(watched) == before
    assert before[tmp_path / "workload.py"] is None
    (tmp_path / "tests" / "conftest.py").write_text("")
    assert repo.hash_files(watched) != before


# ---- resume -----------------------------------------------------------------------------------------------


def test_reopen_after_being_killed_in_mid_edit_with_locks_left(checkout: Path):
    worktree = opened(checkout)
    repo.write(worktree, "half writ")
    git_dir = Path(git(worktree.path, "rev-parse", "--absolute-git-dir"))
    (git_dir / "index.lock").write_text("")
    (checkout / ".git" / "refs" / "heads" / f"{worktree.branch}.lock").write_text("")
    worktrees.reopen(worktree, worktree.base_commit)
    repo.write(worktree, "faster\n")
    best = repo.commit(worktree, "keep")
    worktrees.reopen(worktree, best)
    assert repo.current_source(worktree) == "faster\n"


def test_reopen_refuses_a_branch_on_which_somebody_worked(checkout: Path):
    worktree = opened(checkout)
    worktree.file.write_text("by hand\n")
    git(worktree.path, "commit", "--quiet", "-am", "mine")
    with pytest.raises(RepositoryError, match="has moved"):
        worktrees.reopen(worktree, worktree.base_commit)
    assert repo.current_source(worktree) == "by hand\n"


def test_reopen_checks_out_a_deleted_worktree_again(checkout: Path):
    worktree = opened(checkout)
    repo.write(worktree, "faster\n")
    best = repo.commit(worktree, "keep")
    subprocess.run(["rm", "-rf", str(worktree.path)], check=True)
    worktrees.reopen(worktree, best)
    assert repo.current_source(worktree) == "faster\n"


def test_reopen_never_shares_a_branch_with_the_users_checkout(checkout: Path):
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
def test_reopen_after_being_killed_before_there_was_a_worktree(checkout: Path, begun: str):
    worktree = worktrees.plan_worktree(checkout / "ops" / "kernel.py", "kernel", checkout.parent / "run", DATE)
    if begun:
        git(checkout, "branch", worktree.branch)
    if begun == "worktree":  # as git leaves it
        words = ("--no-checkout", "--lock", "--reason", "initializing", str(worktree.path), worktree.branch)
        git(checkout, "worktree", "add", "--quiet", *words)
    worktrees.reopen(worktree, worktree.base_commit)
    assert (worktree.path / "test_kernel.py").is_file()
    assert repo.current_source(worktree) == KERNEL
