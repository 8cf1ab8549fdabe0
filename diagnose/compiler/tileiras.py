"""The tile compiler `tileiras`: where it is, and one run of it from bytecode to cubin and remarks."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kdiag.errors import KdiagError, ToolMissing

REMARKS = ("--remarks=all", "--remark-format=yaml")
TOOLKIT = ("CUDA_HOME", "CUDA_PATH")
INSTALL = 'pip install "kdiag[gpu]"'
_LOCATION = re.compile(r'loc\((?:fused<[^>]*>\[)?"(?P<file>[^"]*)":(?P<line>\d+):\d+\]?\):\s*(?:error:\s*)?')


class CompilerCrash(KdiagError):
    """The tile compiler died of a signal."""


class CompilerRefusal(KdiagError):
    """The tile compiler reports an error in the kernel."""


@dataclass(frozen=True)
class Compiled:
    """What one run leaves: the cubin, and the remarks as YAML text."""

    cubin: bytes
    remarks: str


def find_tileiras() -> Path:
    """The compiler that cuda-tile would use: of the pip package, on PATH, of CUDA_HOME, of the newest CUDA toolkit.

    Raises ToolMissing when there is none.
    """
    found = find_program("tileiras")
    if found is None:
        raise ToolMissing(f"The tile compiler tileiras is not installed; run {INSTALL}.")
    return found


def find_program(name: str) -> Path | None:
    """A program of the CUDA toolkit, looked for in the same places as tileiras, or None."""
    return next((path for path in _candidates(name) if os.access(path, os.X_OK) and path.is_file()), None)


def _candidates(name: str) -> Iterator[Path]:
    packaged = find_spec("nvidia")
    for root in (packaged.submodule_search_locations or ()) if packaged else ():
        yield Path(root) / "cu13" / "bin" / name
    if on_path := shutil.which(name):
        yield Path(on_path)
    for variable in TOOLKIT:
        if home := os.environ.get(variable):
            yield Path(home) / "bin" / name
    yield Path("/usr/local/cuda/bin") / name
    yield from sorted(Path("/usr/local").glob(f"cuda-*/bin/{name}"), reverse=True)


def assemble(compiler: Path, bytecode: bytes, target: str, opt_level: int) -> Compiled:
    """Compile tile bytecode for `target` (e.g. "sm_90").

    Raises CompilerCrash, CompilerRefusal, or ToolMissing for a compiler that writes no remarks (before 13.4).
    """
    with tempfile.TemporaryDirectory(prefix="kdiag-compile-") as folder:
        source, cubin, remarks = (Path(folder) / name for name in ("kernel.bc", "kernel.cubin", "remarks.yaml"))
        source.write_bytes(bytecode)
        command = [str(compiler), str(source), "-o", str(cubin), f"--gpu-name={target}", f"-O{opt_level}"]
        options = ("--lineinfo", *REMARKS, f"--remarks-output-file={remarks}")
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, errors="replace", check=False, env=_own_toolkit()
        )
        if done.returncode != 0:
            raise _failure(done)
        return Compiled(cubin.read_bytes(), remarks.read_text(errors="replace") if remarks.is_file() else "")


def _own_toolkit() -> dict[str, str]:
    """The environment without another toolkit, whose ptxas may be too old for this compiler's output."""
    return {name: value for name, value in os.environ.items() if name not in TOOLKIT}


def _failure(done: subprocess.CompletedProcess[str]) -> KdiagError:
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    said = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no message")
    if "--remark" in said:
        return ToolMissing(f"This tileiras writes no remarks; version 13.4 or newer is needed: {INSTALL}.")
    reason = _readable(said)
    if done.returncode < 0:
        return CompilerCrash(f"tileiras was killed by signal {-done.returncode}: {reason}")
    return CompilerRefusal(f"tileiras: {reason}")


def _readable(said: str) -> str:
    """The message with its place at the end, as `message (file.py:12)`."""
    place = _LOCATION.search(said)
    message = (said[: place.start()] + said[place.end() :] if place else said).strip()
    message = message.removeprefix("error:").strip()
    return f"{message} ({Path(place['file']).name}:{place['line']})" if place else message
