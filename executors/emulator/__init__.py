"""A CPU emulator of cuTile: `from kdiag.executors.emulator import emulate`."""

from kdiag.executors.emulator.emulation import Emulation, emulate
from kdiag.executors.emulator.faults import EmulationError, NotEmulated
from kdiag.records import Fault

__all__ = ["Emulation", "EmulationError", "Fault", "NotEmulated", "emulate"]
