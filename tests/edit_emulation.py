"""Edits a source, and runs a kernel or the wrapper of any version in the emulator, where everything at fault raises."""

import atexit
import shutil
import tempfile
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from kdiag.executors.edits.base import Applied, Skipped, Subject
from kdiag.records import Variant
from kdiag.workload import load_module

_open = []  # emulations in which the tests of a module are run


@cache
def module_of(source):
    """The imported source; cuTile reads a kernel's text from its file."""
    folder = Path(tempfile.mkdtemp(prefix="kdiag-edited-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "edited.py").write_text(source)
    return load_module(folder / "edited.py", search=folder)


@contextmanager
def kept_open():
    """What reaches a GPU is replaced once for all that is emulated meanwhile: that takes longer than a small launch."""
    from kdiag.executors.emulator import emulations

    with emulations("sm_90") as made:
        _open.append(made)
        yield
        _open.remove(made)


def emulating(**options):
    """One emulation, as `emulate` gives it."""
    from kdiag.executors.emulator import emulate

    return _open[-1].emulation(**options) if _open else emulate(**options)


def run(source, kernel, grid, arguments):
    """Launch a kernel."""
    ct = pytest.importorskip("cuda.tile")
    with emulating():
        ct.launch(None, tuple(grid), getattr(module_of(source), kernel), tuple(arguments))


def called(source, wrapper, *arguments):
    """What the launch wrapper of a source returns."""
    function = getattr(module_of(source), wrapper)
    with emulating():
        return function(*arguments)


def launched(source, output, *arguments):
    """What `launch(stream, *arrays, output, *numbers)` of a source writes."""
    return _written(output, partial(module_of(source).launch, None), arguments)


def launched_kernel(source, kernel, grid, inputs, output):
    """What a kernel of (arrays..., output, numbers...) writes."""
    ct = pytest.importorskip("cuda.tile")
    function = getattr(module_of(source), kernel)
    return _written(output, lambda *arguments: ct.launch(None, tuple(grid), function, arguments), inputs)


def _written(output, start, inputs):
    arrays = [value for value in inputs if isinstance(value, np.ndarray)]
    rest = [value for value in inputs if not isinstance(value, np.ndarray)]
    with emulating() as emulation:
        written = emulation.empty(tuple(output))
        start(*arrays, written, *rest)
    return written


def numbers(*shape):
    """Random float32 numbers, the same for the same shape."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def applied(edit, source, kernel, variant="", launches=(), target="sm_90", **settings):
    """What an edit that has to apply makes of a source."""
    outcome = edit.apply(Subject(source, kernel, target, launches), Variant(edit.id, variant, settings))
    assert isinstance(outcome, Applied), outcome
    return outcome


def edited(*asked, **settings):
    """The source after an edit that has to apply."""
    return applied(*asked, **settings).source


def refused(edit, source, kernel, variant="", launches=(), target="sm_90", **settings):
    """Why an edit, which must not apply, leaves a source alone."""
    outcome = edit.apply(Subject(source, kernel, target, launches), Variant(edit.id, variant, settings))
    assert isinstance(outcome, Skipped), outcome
    return outcome.reason
