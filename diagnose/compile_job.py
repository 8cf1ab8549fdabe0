"""Compiles one variant of a kernel file: what runs in the child process of `diagnose.compile`.

The front end runs in the child; tileiras is a process of its own below it. Both die with the child's group at the
time limit.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from cuda.tile.compilation import KernelSignature, export_kernel

from kdiag.diagnose.capture import Captured, capture
from kdiag.diagnose.cubin import read_cubin
from kdiag.diagnose.remarks import parse
from kdiag.diagnose.signature import describe, signature
from kdiag.errors import ToolMissing, WorkloadError
from kdiag.records import CompileEvidence, Launch
from kdiag.workload import Workload

TILEIRAS_PACKAGE = "nvidia-cuda-tileiras"


@dataclass(frozen=True)
class CompileRequest:
    """One source of the workload's kernel, to be compiled for `target`."""

    workload: Workload
    source: Path
    target: str


def compile_source(request: CompileRequest) -> tuple[CompileEvidence, ...]:
    """Capture the launches and compile each distinct (kernel, signature, hints) once, in the order of capture."""
    compiler = find_tileiras()
    evidence: dict[tuple[str, str], CompileEvidence] = {}
    for captured in capture(request.workload, request.source, request.target):
        arguments = describe(captured.kernel, captured.arguments)
        signed = signature(captured.kernel, arguments)
        assert signed.symbol is not None
        key = (signed.symbol, repr(captured.kernel._compiler_options))
        if key not in evidence:
            name = captured.kernel._annotated_function.pyfunc.__name__
            launch = Launch(name, captured.grid, arguments, captured.configuration)
            evidence[key] = _compile(captured, launch, signed, (compiler, request.target))
    return tuple(evidence.values())


def _compile(
    captured: Captured, launch: Launch, signed: KernelSignature, toolchain: tuple[Path, str]
) -> CompileEvidence:
    compiler, target = toolchain
    started = time.monotonic()
    bytecode = io.BytesIO()
    export_kernel(captured.kernel, [signed], bytecode, gpu_code=target, output_format="tileir_bytecode")
    with tempfile.TemporaryDirectory(prefix="kdiag-compile-") as folder:
        cubin, remarks = Path(folder) / "kernel.cubin", Path(folder) / "remarks.yaml"
        source = Path(folder) / "kernel.tileirbc"
        source.write_bytes(bytecode.getvalue())
        options = ["--lineinfo", "--remarks=all", "--remark-format=yaml", f"--remarks-output-file={remarks}"]
        level = f"-O{captured.kernel._compiler_options.opt_level_for_target(target)}"
        _tileiras([str(compiler), str(source), "-o", str(cubin), f"--gpu-name={target}", level, *options])
        resources = read_cubin(cubin.read_bytes())[str(signed.symbol)]
        said = parse(remarks.read_text(errors="replace")) if remarks.is_file() else ()
    return CompileEvidence(
        kernel=launch.kernel,
        target=target,
        launch=launch,
        registers=resources.registers,
        stack_bytes=resources.stack_bytes,
        shared_bytes=resources.shared_bytes,
        code_bytes=resources.code_bytes,
        code_hash=resources.code_hash,
        remarks=said,
        seconds=time.monotonic() - started,
    )


def _tileiras(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    reason = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no message")
    if done.returncode < 0:
        raise CompilerCrash(f"tileiras was killed by signal {-done.returncode}: {reason}")
    raise WorkloadError(f"tileiras refused the kernel: {reason}")


class CompilerCrash(WorkloadError):
    """The tile compiler died of a signal."""


def find_tileiras() -> Path:
    """The tile compiler: of the pip package, else on PATH. Raises ToolMissing."""
    try:
        listed: Any = files(TILEIRAS_PACKAGE) or ()
    except PackageNotFoundError:
        listed = ()
    packaged = [Path(str(file.locate())) for file in listed if file.name == "tileiras"]
    import nvidia

    packaged += [Path(root) / "cu13" / "bin" / "tileiras" for root in nvidia.__path__]
    found = next((path for path in packaged if path.is_file()), None) or shutil.which("tileiras")
    if found is None:
        raise ToolMissing('The tile compiler tileiras is not installed; run pip install "kdiag[gpu]".')
    return Path(found)
