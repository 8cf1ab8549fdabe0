"""A CPU emulator of cuTile: `from kdiag.executors.emulator import emulate`."""

from kdiag.executors.emulator.emulation import Emulation, Emulations, emulate, emulations
from kdiag.executors.emulator.faults import EmulationError, NotEmulated
from kdiag.records import Fault

__all__ = ["Emulation", "EmulationError", "Emulations", "Fault", "NotEmulated", "emulate", "emulations"]
