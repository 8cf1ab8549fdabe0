"""Runs one command in a process group of its own, passes on what it prints, and can stop all of it."""

import codecs
import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

POLL_S = 0.2
GRACE_S = 15.0  # what ncu gets to write its report after an interrupt
DRAIN_S = 1.0  # how long the streams are read after the end, when something in the background goes on writing
KEEP = 1_000_000  # characters of each stream that are kept, from its end


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it printed. `stopped` says who ended it when it did not end by itself."""

    exit_code: int
    stdout: str
    stderr: str
    stopped: Literal["", "timeout", "interrupt"] = ""


@dataclass
class _Stream:
    """One of the command's two streams while it is read."""

    show: Callable[[str], object]
    text: str = ""
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))

    def take(self, chunk: bytes) -> None:
        piece = self.decoder.decode(chunk, final=not chunk)
        self.text = (self.text + piece)[-KEEP:]
        if piece:
            with contextlib.suppress(OSError):  # the reader of our own output has gone away
                self.show(piece)


def start(command: Sequence[str], env: Mapping[str, str], folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Start `command` without input, in a process group of its own, in `folder` (default: the current one).

    Raises OSError when that cannot be.
    """
    return subprocess.Popen(
        command,
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def watch(process: subprocess.Popen[bytes], timeout_s: float, show: Callable[[str], object]) -> Ended:
    """Wait until a process ends, the time is over, or the user interrupts; never raises for these.

    `show` gets both streams as they come. A command that has to be stopped gets an interrupt first, as from a
    terminal, so that ncu can write its report; what is left of its process group after that is killed.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    streams: dict[IO[bytes], _Stream] = {process.stdout: _Stream(show), process.stderr: _Stream(show)}
    stopped: Literal["", "timeout", "interrupt"] = ""
    try:
        with process.stdout, process.stderr:
            try:
                if not _read(process, streams, timeout_s):
                    stopped = "timeout"
            except KeyboardInterrupt:
                stopped = "interrupt"
            if stopped:
                signal_group(process, signal.SIGINT)
                _read(process, streams, GRACE_S)
    finally:
        if process.poll() is None or stopped:
            signal_group(process, signal.SIGKILL)
        process.wait()
    out, err = (stream.text for stream in streams.values())
    return Ended(process.returncode, out, err, stopped)


def _read(process: subprocess.Popen[bytes], streams: Mapping[IO[bytes], _Stream], timeout_s: float) -> bool:
    """Read both streams until the process has ended; return False when the time is over first.

    The end of the process counts, not of the streams: what it left running in the background may hold them open.
    """
    deadline = time.monotonic() + timeout_s
    ended = False
    with selectors.DefaultSelector() as selector:
        for pipe, stream in streams.items():
            selector.register(pipe, selectors.EVENT_READ, stream)
        while True:
            if not ended and process.poll() is not None:
                ended, deadline = True, time.monotonic() + DRAIN_S
            ready = selector.select(0 if ended else POLL_S)
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                key.data.take(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
            if (ended and not ready) or time.monotonic() > deadline:
                return ended


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its group, unless it has ended."""
    if process.poll() is None:
        signal_group(process, signal.SIGKILL)
        process.wait()


def signal_group(process: subprocess.Popen[bytes] | subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to what is left of the process group that a process leads or led."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
