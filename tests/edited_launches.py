"""Runs the launch wrapper of an edited source in the emulator; anything at fault raises."""

from typing import Any

import numpy as np

from edit_emulation import module_of


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
