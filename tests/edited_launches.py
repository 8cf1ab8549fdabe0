"""Runs the launch wrapper of an edited source in the emulator; anything at fault raises."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from kdiag.executors.edits.base import Applied, Edit, Subject
from kdiag.records import Launch, Variant
from kdiag.workload import load_module


def edited(edit: Edit, source: str, kernel: str, variant: str, launches: tuple[Launch, ...] = ()) -> str:
    """The source after an edit that must apply."""
    outcome = edit.apply(Subject(source, kernel, launches=launches), Variant(edit.id, variant))
    assert isinstance(outcome, Applied), outcome
    return outcome.source


@cache
def module_of(source: str) -> ModuleType:
    """The imported source; cuTile reads a kernel's text from its file."""
    folder = Path(tempfile.mkdtemp(prefix="kdiag-edited-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "edited.py").write_text(source)
    return load_module(folder / "edited.py", search=folder)


def launched(source: str, output: tuple[int, ...], *arguments: Any) -> Any:
    """What `launch(stream, *arrays, output, *numbers)` of a source writes."""
    from kdiag.executors.emulator import emulate

    arrays = [value for value in arguments if isinstance(value, np.ndarray)]
    numbers = [value for value in arguments if not isinstance(value, np.ndarray)]
    with emulate() as emulation:
        written = emulation.empty(output)
        module_of(source).launch(None, *arrays, written, *numbers)
    return written


def random(*shape: int) -> Any:
    """Normally distributed float32 numbers."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
