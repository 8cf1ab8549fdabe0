"""`kdiag auto` in a child that kills itself at a chosen event: a file opened for writing, renamed or forced to disk, a
program started. Nothing in the product knows of it: Python's audit hook and `os.fsync` tell.
"""

import os
import re
import resource
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from faulty_device import LineAdded
from kdiag import cli, isolate, journal
from kdiag.executors import command_bench
from kdiag.executors.edits import registry
from kdiag.isolate import Died
from kdiag.loop import setup
from kdiag.records import Gpu


@dataclass(frozen=True)
class Attempt:
    """One command line. The child dies at the event `kill`, such as "git commit 2"; every event goes to `log`; no file
    may be longer than `disk` bytes.
    """

    arguments: tuple[str, ...]
    log: Path | None = None
    kill: str | None = None
    disk: int | None = None


def run_auto(attempt):
    """For a child process: the exit code of the command, with a card that exists by name alone."""
    setup.probe_gpu = lambda: Gpu("stand-in", "9.0", 132)
    command_bench.copy_bandwidth = lambda: Died("error", "no card copies")
    isolate.warm_up = lambda: None  # no child is asked for, and a server of this one's own would import torch
    registry.EDITS = (LineAdded(("faster", "same", "similar")),)
    events = Events(attempt)
    sys.addaudithook(events.on_audit)
    fsync = os.fsync

    def watched(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        name = plain_name(path)
        if not path.is_dir() and events.is_the_end(f"torn {name}"):
            os.truncate(descriptor, max(0, os.fstat(descriptor).st_size - 20))
            events.end()
        fsync(descriptor)
        events.on(f"synced {name}")

    os.fsync = journal.os.fsync = watched
    if attempt.disk is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (attempt.disk, resource.RLIM_INFINITY))
    return cli.run(list(attempt.arguments))


class Events:
    """Counts events by name, writes them down, and kills the process at one of them."""

    def __init__(self, attempt):
        self.attempt = attempt
        self.seen = Counter()

    def on_audit(self, event, arguments):
        if event == "subprocess.Popen":
            words = [word for word in map(str, arguments[1]) if word[0] != "-" and "=" not in word]
            self.on(" ".join(words[:2]))
        elif event == "os.rename":
            self.on(f"rename {plain_name(arguments[1])}")
        elif event == "open" and not isinstance(arguments[0], int) and set(arguments[1] or "") & set("wxa+"):
            self.on(f"open {plain_name(arguments[0])}")

    def on(self, name):
        if self.is_the_end(name):
            self.end()

    def is_the_end(self, name):
        self.seen[name] += 1
        label = f"{name} {self.seen[name]}"
        if self.attempt.log is not None:
            with os.fdopen(os.open(self.attempt.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a") as log:
                log.write(f"{label}\n")
        return label == self.attempt.kill

    def end(self):
        os.killpg(0, signal.SIGKILL)


def plain_name(path):
    """The file's name, for a temporary file that of the file it will become."""
    return re.sub(r"^\.|(?<=\w)\.(part|\d+)( \(deleted\))?$", "", Path(os.fsdecode(path)).name)
