"""What an emulated launch did that hardware would have let pass: each fault once per place, with its first element."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kdiag.errors import KdiagError
from kdiag.records import Fault

FAULTS_SHOWN = 5  # in the message of the exception; all are in `Emulation.faults`


class EmulationError(KdiagError):
    """A launch was emulated and is at fault. `faults` holds each, the warnings included."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        serious = [fault for fault in faults if not fault.warning]
        shown = "\n".join(f"{fault}\n    {fault.advice}" for fault in serious[:FAULTS_SHOWN])
        rest = f"\n... and {len(serious) - FAULTS_SHOWN} more places" if len(serious) > FAULTS_SHOWN else ""
        super().__init__(shown + rest)

    def __reduce__(self) -> tuple[type[EmulationError], tuple[tuple[Fault, ...]]]:
        return type(self), (self.faults,)


class NotEmulated(KdiagError):
    """The kernel uses something that the emulator does not know; nothing was computed."""


class FaultLog:
    """Collects the faults of an emulation: one entry for each kind, place and array."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Fault] = {}

    def add(self, fault: Fault) -> None:
        """Keep a fault, or add to the count of the one already kept for its place."""
        key = (fault.kind, fault.kernel, fault.file, fault.line, fault.column, fault.array)
        known = self._found.get(key)
        self._found[key] = fault if known is None else replace(known, count=known.count + fault.count)

    def all(self) -> tuple[Fault, ...]:
        """Every fault in the order in which they were found."""
        return tuple(self._found.values())

    def extend(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            self.add(fault)


def place(location: Any) -> tuple[str, int, int]:
    """File, line and column (from 1) of a cuTile location."""
    return str(location.filename or "<unknown>"), int(location.line), int(location.col) + 1
