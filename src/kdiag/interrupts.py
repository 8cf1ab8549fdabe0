"""The signals that are to end kdiag, remembered: NumPy's import drops an interrupt, and so does Python in a callback."""

import signal
import sys
from types import FrameType
from typing import NoReturn

received: list[int] = []


def stop(number: int, _frame: FrameType | None) -> NoReturn:
    """The handler of these signals."""
    received.append(number)
    raise KeyboardInterrupt


def listen() -> None:
    """Take the signals that end a program as interrupts: no child is left behind."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup, whose point is to go on
            signal.signal(number, stop)
    sys.unraisablehook = _unraisable


def _unraisable(what: "sys.UnraisableHookArgs") -> None:
    if what.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(what)


def check() -> None:
    """Raise KeyboardInterrupt if there was one, and it was dropped."""
    if received:
        raise KeyboardInterrupt
