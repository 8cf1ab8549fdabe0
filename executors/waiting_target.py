"""What a tool watches: a process that loads torch, half of what a profile takes (8 s on an H200), and waits for a source."""

import os
import subprocess
import sys
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path

from kdiag import isolate
from kdiag.workload import Workload

from .ncu.process import stop

PROFILED = "kdiag"  # the NVTX range of the launches that a profile is of


@dataclass
class WaitingTarget:
    """A command that runs a workload on the source that it is told, once; `folder` is for what the tool writes meanwhile.

    It ends with this process, however that ends: nothing holds the other end of its pipe then.
    """

    command: tuple[str, ...]
    folder: "tempfile.TemporaryDirectory[str]"
    pipe: int

    def __post_init__(self) -> None:
        weakref.finalize(self, os.close, self.pipe)

    @classmethod
    def of(cls, workload: Workload, *words: str) -> "WaitingTarget":
        """The target for a workload, and what it is told besides (see `ncu.profile_target`)."""
        folder = tempfile.TemporaryDirectory(prefix="kdiag-target-")
        pipe = Path(folder.name) / "source"
        os.mkfifo(pipe)
        command = (sys.executable, "-m", "kdiag.executors.ncu.profile_target", str(workload.path), str(pipe), *words)
        return cls(command, folder, os.open(pipe, os.O_RDWR))  # to read as well, or it would wait for the target

    @property
    def environment(self) -> dict[str, str]:
        """With the name of the GPU that measures."""
        return {**os.environ, **isolate.environment.get(), "PYTHONDONTWRITEBYTECODE": "1"}

    def under(self, tool: "subprocess.Popen[bytes]") -> None:
        """The tool that has started it ends with it."""
        weakref.finalize(self, stop, tool)

    def tell(self, source: Path) -> None:
        """Let it go on."""
        os.write(self.pipe, str(source.absolute()).encode())
