"""The signals that are to end kdiag, remembered: NumPy's import drops an interrupt, and so does Python in a callback."""

import os
import select
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
    signal.signal(signal.SIGPIPE, _broken)
    sys.unraisablehook = _unraisable


def _broken(number: int, frame: FrameType | None) -> None:
    """Stop if nobody reads stdout or stderr any more; from then on what is written there goes nowhere.

    A pipe to a child sends the same signal: then, as Python does without a handler, the write alone fails.
    """
    broken = [descriptor for descriptor in (1, 2) if _is_unread(descriptor)]
    for descriptor in broken:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
    if broken:
        stop(number, frame)


def _is_unread(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(state & (select.POLLERR | select.POLLHUP) for _, state in poll.poll(0))


def _unraisable(what: "sys.UnraisableHookArgs") -> None:
    if what.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(what)


def output_is_unread() -> bool:
    """Whether kdiag is to end because nobody reads what it says."""
    return signal.SIGPIPE in received


def check() -> None:
    """Raise KeyboardInterrupt if there was one, and it was dropped."""
    if received:
        raise KeyboardInterrupt
