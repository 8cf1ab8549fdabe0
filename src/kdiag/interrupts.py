"""The signals that are to end kdiag, remembered: not every package lets an interrupt of its import through (NumPy's C
code, for one, drops it), nor does Python from a callback of the garbage collector.
"""

import signal
import sys
from types import FrameType
from typing import NoReturn

received: list[int] = []


def stop(number: int, _frame: FrameType | None) -> NoReturn:
    """The handler of signals that end kdiag: an interrupt, which is remembered."""
    received.append(number)
    raise KeyboardInterrupt


def listen() -> None:
    """Take all signals that end a program as interrupts, so that no child is left behind."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup, whose point is to go on
            signal.signal(number, stop)
    sys.unraisablehook = _unraisable


def _unraisable(what: "sys.UnraisableHookArgs") -> None:
    if what.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(what)


def check() -> None:
    """Raise KeyboardInterrupt if there was one, whoever dropped it."""
    if received:
        raise KeyboardInterrupt
