"""The journal of a run: one JSON object a line, appended and forced to disk, from which a killed run resumes.

A line counts once its newline is on disk. What a crash leaves of the last line is dropped; anything else that
cannot be read is an error, because a resumed run would otherwise build on a history with holes.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from .codec import DecodeError, decode, encode
from .errors import KdiagError, UsageError
from .records import Iteration, Scalar, Standing

NO_JOURNAL = "There is no journal at {}; name the directory of a run."


class JournalError(KdiagError):
    """A journal is damaged, in use by another run, or in the way of a new one."""


@dataclass(frozen=True)
class Start:
    """The first event. Paths are absolute but for `target`, which is relative to `repository` and `worktree`.

    `gpu` is None where there is none; `time` is ISO 8601.
    """

    kernel: str
    workload: str
    repository: str
    worktree: str
    branch: str
    base_commit: str
    target: str
    gpu: str | None
    policy: str
    version: str
    time: str
    options: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Resumed:
    """A run went on after it had stopped or was killed, perhaps on another machine, with `options` as in `Start`."""

    gpu: str | None
    version: str
    time: str
    options: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class IterationDone:
    """One row of the run, in full."""

    iteration: Iteration


@dataclass(frozen=True)
class CandidateReady:
    """A candidate that compiles and waits for a GPU; `patch` is the file that holds its diff."""

    optimization: str
    variant: str
    patch: str
    source_hash: str


@dataclass(frozen=True)
class Race:
    """What leads the plan beside each other, in the order in which it left; the trial of what won follows."""

    standings: tuple[Standing, ...]


@dataclass(frozen=True)
class Tree:
    """The priority tree after a change, in the planner's own form."""

    state: Mapping[str, object]


@dataclass(frozen=True)
class Note:
    """What the terminal said, and the rows do not."""

    text: str


@dataclass(frozen=True)
class Stop:
    """The run ended of itself, and why."""

    reason: str
    time: str


Event = Start | Resumed | IterationDone | CandidateReady | Race | Tree | Note | Stop
_EVENTS: dict[str, type[Event]] = {
    "start": Start,
    "resumed": Resumed,
    "iteration": IterationDone,
    "candidate-ready": CandidateReady,
    "race": Race,
    "tree": Tree,
    "note": Note,
    "stop": Stop,
}
_NAMES = {kind: name for name, kind in _EVENTS.items()}


class Journal:
    """A journal open for appending; it is locked against other runs until `close`."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        """Use `create` or `resume`."""
        self.path = path
        self._stream = stream

    @classmethod
    def create(cls, path: Path, start: Start) -> Journal:
        """Begin a journal, which appears with its first event in it. Raises JournalError if `path` exists."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        journal = cls(path, part.open("wb", buffering=0))
        journal._lock()
        try:
            journal.append(start)
            os.link(part, path)
        except FileExistsError:
            journal.close()
            raise JournalError(f"{path} holds a run already; resume that one or choose another directory.") from None
        finally:
            part.unlink()
        _sync_folder(path.parent)
        return journal

    @classmethod
    def resume(cls, path: Path) -> tuple[Journal, tuple[Event, ...]]:
        """Open a journal to go on with it, cutting off a torn last line. Raises JournalError, UsageError without one."""
        try:
            stream = path.open("r+b", buffering=0)
        except FileNotFoundError:
            raise UsageError(NO_JOURNAL.format(path)) from None
        journal = cls(path, stream)
        journal._lock()
        try:
            events, size = _parse(path)
        except JournalError:
            journal.close()
            raise
        stream.truncate(size)
        stream.seek(size)
        return journal, events

    def append(self, event: Event) -> None:
        """Write one event; when this returns it is on disk. Raises JournalError, and then nothing is written."""
        entry = {"event": _NAMES[type(event)]} | _as_object(encode(event))
        line = memoryview(json.dumps(entry, allow_nan=False).encode() + b"\n")
        size = self._stream.tell()
        try:
            while line:
                line = line[self._stream.write(line) :]
            os.fsync(self._stream.fileno())
        except OSError as error:
            self._stream.truncate(size)  # half a line, and one after it, would be damage
            self._stream.seek(size)
            raise JournalError(
                f"{self.path} cannot be written ({error.strerror}); make room, then go on with "
                f"--resume {self.path.parent}."
            ) from None

    def discard(self) -> None:
        """Remove the journal of a run that could not begin."""
        self.path.unlink()
        self.close()

    def close(self) -> None:
        """Give up the lock."""
        self._stream.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise JournalError(f"Another kdiag run is writing {self.path}; wait until it has ended.") from None


def read(path: Path) -> tuple[Event, ...]:
    """All events of a journal, also while a run writes it. Raises JournalError, UsageError without one."""
    if not path.is_file():
        raise UsageError(NO_JOURNAL.format(path))
    return _parse(path)[0]


def _parse(path: Path) -> tuple[tuple[Event, ...], int]:
    """The events, and the length in bytes of the lines that hold them."""
    *lines, torn = path.read_bytes().split(b"\n")
    size = sum(len(line) + 1 for line in lines)
    events: list[Event] = []
    for number, line in enumerate(lines, 1):
        try:
            entry = _as_object(json.loads(line))
        except ValueError:
            if number == len(lines) and not torn:
                size -= len(line) + 1
                break
            raise JournalError(f"Line {number} of {path} is damaged; start a new run.") from None
        try:
            events.append(_event(entry))
        except DecodeError as error:
            raise JournalError(
                f"Line {number} of {path} was not written by this version of kdiag ({error}); start a new run."
            ) from None
    if not events or not isinstance(events[0], Start):
        raise JournalError(f"{path} does not begin with the start of a run; start a new run.")
    return tuple(events), size


def _event(entry: dict[str, object]) -> Event:
    kind = _EVENTS.get(str(entry.pop("event", "")))
    if kind is None:
        raise DecodeError("an unknown event")
    return decode(kind, entry)


def _as_object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
