"""A machine whose ncu is the stand-in of `stand_in_ncu.py`, and commands that run on it."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from bundled import EXAMPLES
from command_lines import program
from kdiag.executors.ncu import process as ncu_process
from kdiag.executors.ncu.collect import profile_command
from kdiag.executors.ncu.command import NcuOptions

RECORDED = EXAMPLES / "softmax" / "softmax.ncu-repz"
SOFTMAX = "softmax_kernel_Kt1_A2bf16_1v8l0_2t1_3i16_p16_A2bf16_1v8l0_2t1_3i16_p16_I4096"
MATMUL = "matmul_kernel_Kt1_A2bf16_1v8l0_2t1_3i16_p16_I128_I128_I64"
FILL = "vectorized_elementwise_kernel"


@dataclass
class Machine:
    """A machine whose ncu is the stand-in, and a command that runs on it."""

    folder: Path
    environment: pytest.MonkeyPatch

    def plays(self, what, *kernels):
        self.environment.setenv("STAND_IN_NCU", what)
        self.environment.setenv("STAND_IN_KERNELS", ",".join(kernels))

    @property
    def report(self):
        return self.folder / "out.ncu-rep"

    def profile(self, code="print('hello')", options=NcuOptions()):  # noqa: B008
        self.shown = []
        return profile_command([sys.executable, "-c", code], options, self.report, self.shown.append)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    stand_in = Path(__file__).with_name("stand_in_ncu.py")
    ncu = program(tmp_path / "bin" / "ncu", f'exec {sys.executable} {stand_in} "$@"')
    monkeypatch.setenv("PATH", f"{ncu.parent}:{os.environ['PATH']}")
    recorded = tmp_path / "recorded.ncu-rep"
    recorded.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(RECORDED.read_bytes()))
    monkeypatch.setenv("STAND_IN_REPORT", str(recorded))
    monkeypatch.setattr(ncu_process, "GRACE_S", 1.0)
    return Machine(tmp_path, monkeypatch)


def ended(pid):
    """Whether a process has ended; a zombie whose new parent has not looked yet counts as ended."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False
