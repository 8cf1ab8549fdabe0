"""A CPU emulator of cuTile: `from kdiag.executors.emulator import emulate`."""

from typing import TYPE_CHECKING

from kdiag.records import Fault

from .faults import EmulationError, NotEmulated

if TYPE_CHECKING:
    from .emulation import Emulation, Emulations, emulate, emulations

__all__ = ["Emulation", "EmulationError", "Emulations", "Fault", "NotEmulated", "emulate", "emulations"]


def __getattr__(name: str) -> object:
    """What takes torch is imported when it is asked for: `kdiag.loop` only has children emulate."""
    if name not in __all__:
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    from . import emulation

    return getattr(emulation, name)
