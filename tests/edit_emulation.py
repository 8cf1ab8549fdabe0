"""Runs a kernel's source on the CPU, before and after an edit, on NumPy arrays or torch tensors."""

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kdiag.executors.edits.base import Applied, Edit, Skipped, Subject
from kdiag.records import Launch, Variant
from kdiag.workload import load_module


@cache
def module_of(source: str) -> ModuleType:
    """The imported source; cuTile reads a kernel's text from its file."""
    folder = Path(tempfile.mkdtemp(prefix="kdiag-edited-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "edited.py").write_text(source)
    return load_module(folder / "edited.py", search=folder)


def run(source: str, kernel: str, grid: Sequence[int], arguments: Sequence[Any]):
    """Launch a kernel under the emulator; anything at fault raises."""
    ct = pytest.importorskip("cuda.tile")
    from kdiag.executors.emulator import emulate

    with emulate():
        ct.launch(None, tuple(grid), getattr(module_of(source), kernel), tuple(arguments))


def edited(edit: Edit, source: str, kernel: str, variant: str, launches: tuple[Launch, ...] = ()) -> str:
    """The source after an edit that has to apply."""
    outcome = edit.apply(Subject(source, kernel, launches=launches), Variant(edit.id, variant))
    assert isinstance(outcome, Applied), outcome
    return outcome.source


def refused(edit: Edit, source: str, kernel: str, variant: str, launches: tuple[Launch, ...] = ()) -> str:
    """Why an edit, which must not apply, leaves a source alone."""
    outcome = edit.apply(Subject(source, kernel, launches=launches), Variant(edit.id, variant))
    assert isinstance(outcome, Skipped), outcome
    return outcome.reason
