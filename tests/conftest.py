"""Options of the test suite, and folders of its own for compilations and experience."""

import itertools
import os
import tempfile
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

import checkouts
from kdiag import isolate

# How long an example takes is the machine's business: a busy one must not fail a property.
settings.register_profile("kdiag", deadline=None)
settings.load_profile("kdiag")

# Before any test starts the fork server, whose children inherit it; workers of pytest-xdist share the first one's.
os.environ.setdefault("KDIAG_CACHE_DIR", tempfile.mkdtemp(prefix="kdiag-tests-"))
isolate.PRELOAD += ("kdiag.loop.setup", "kdiag.commands.auto")  # a hundred tests run `kdiag auto` in a child
DATA = Path(tempfile.mkdtemp(prefix="kdiag-tests-"))
TESTS = itertools.count()


@pytest.fixture(autouse=True)
def experience(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder for this test alone, made when something is kept: neither the user's nor an earlier test's."""
    folder = DATA / str(next(TESTS))
    monkeypatch.setenv("KDIAG_DATA_DIR", str(folder))
    return folder


@pytest.fixture(scope="module")
def emulating():
    """What stands in for a GPU, kept for all tests of a module that emulates small launches by the hundred."""
    from edit_emulation import kept_open

    with nullcontext() if find_spec("cuda") is None else kept_open():
        yield


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What runs remark."""
    said: list[str] = []
    monkeypatch.setattr("kdiag.reporters.terminal_auto.Terminal.on_note", lambda _, text: said.append(text))
    return said


@pytest.fixture
def isolated_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Git without the user's settings, and with clones of folders allowed."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "gitconfig").write_text('[protocol "file"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n')


@pytest.fixture
def checkout(tmp_path: Path, isolated_git: None) -> Path:
    """A repository with a kernel, a test and one commit; the user's name is not configured."""
    return checkouts.committed(tmp_path / "user")


def pytest_runtest_setup(item: pytest.Item):
    """What needs the compiler is skipped without kdiag[gpu]."""
    if item.get_closest_marker("compiler"):
        pytest.importorskip("cuda.tile")
        pytest.importorskip("torch")


def pytest_addoption(parser: pytest.Parser):
    parser.addoption("--record-runs", default="", help="folder for what GPU tests measure, to be replayed without one")
