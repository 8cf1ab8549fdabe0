"""Runs the launch wrapper of a source text in the emulator: every fault raises."""

from typing import Any

from edit_emulation import module_of


def run(source: str, wrapper: str, *arguments: Any, **keywords: Any) -> Any:
    """What the wrapper returns, its launches emulated."""
    from kdiag.executors.emulator import emulate

    function = getattr(module_of(source), wrapper)
    with emulate():
        return function(*arguments, **keywords)
