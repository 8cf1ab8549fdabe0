"""Writing into a user's file: nothing is lost, and what was there comes back byte for byte."""

import os
import stat

import pytest

from kdiag.errors import KdiagError
from kdiag.executors.user_file import replace_text


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "no end of line", "\ufeffé\n", ""])
def test_the_original_is_kept_byte_for_byte(tmp_path, text):
    path = tmp_path / "kernel.py"
    path.write_bytes(text.encode())
    kept = replace_text(path, text, "new\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert kept.read_bytes() == text.encode()
    again = replace_text(path, "new\r\n", text)
    assert path.read_bytes() == text.encode()
    assert kept.read_bytes() == text.encode()
    assert again != kept


def test_mode_and_links_stay_and_the_time_is_new(tmp_path):
    real = tmp_path / "real.py"
    real.write_text("old")
    real.chmod(0o640)
    os.utime(real, (1, 1))
    link = tmp_path / "link.py"
    link.symlink_to(real)
    replace_text(link, "old", "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.stat().st_mtime > 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.py", "real.py", "state"]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("somebody else's")
    with pytest.raises(KdiagError, match="changed by someone else"):
        replace_text(path, "what was read", "new")
    assert path.read_text() == "somebody else's"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["kernel.py", "state"]
