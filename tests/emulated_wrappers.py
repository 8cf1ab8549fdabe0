"""Runs the launch wrapper of a source text in the emulator: every fault raises."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from kdiag.workload import load_module


@cache
def module_of(source: str) -> ModuleType:
    """The imported source; cuTile reads a kernel's text from its file."""
    folder = Path(tempfile.mkdtemp(prefix="kdiag-edited-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "edited.py").write_text(source)
    return load_module(folder / "edited.py", search=folder)


def run(source: str, wrapper: str, *arguments: Any, **keywords: Any) -> Any:
    """What the wrapper returns, its launches emulated."""
    from kdiag.executors.emulator import emulate

    function = getattr(module_of(source), wrapper)
    with emulate():
        return function(*arguments, **keywords)
