"""Compiles one variant of a kernel file: what runs in the child process of `diagnose.compiler.compile`.

The front end runs in the child; tileiras is a process of its own below it. Both die with the child's group at the
time limit. Launches are captured every time; only what tileiras made of the same bytecode is remembered.
"""

import io
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cuda.tile as ct
from cuda.tile.compilation import export_kernel

from kdiag import disk_cache
from kdiag.errors import ToolMissing
from kdiag.records import Compilation, CompileEvidence, CompileFailure, Launch, Remark

from ..capture.workload import Captured, capture
from . import cache as compile_cache
from .compile import CompileRequest
from .cubin import CubinError, KernelResources, architecture, read_cubin
from .instruction_mix import instruction_mix
from .loop_turn import loop_turn
from .occupancy import BlockNeeds, occupancy
from .remarks import parse
from .tileiras import Compiled, CompilerCrash, CompilerRefusal, assemble, find_tileiras


def compile_source(request: CompileRequest) -> Compilation:
    """Capture the launches of the source and compile them."""
    try:
        launches = capture(request.workload, request.source, request.target)
    except ToolMissing as missing:
        return CompileFailure("unavailable", str(missing))
    return compile_launches(launches, request)


def compile_launches(launches: Sequence[Captured], request: CompileRequest) -> Compilation:
    """The evidence of captured launches, in order; each (kernel, signature, hints) is compiled once."""
    try:
        compiler = find_tileiras()
    except ToolMissing as missing:
        return CompileFailure("unavailable", str(missing))
    known: dict[tuple[str, str], CompileEvidence] = {}
    found = []
    for captured in launches:
        key = (str(captured.signature.symbol), repr(_options(captured.kernel)))
        if key not in known:
            compiled = _compile(captured, compiler, request)
            if isinstance(compiled, CompileFailure):
                return compiled
            known[key] = compiled
        found.append(replace(known[key], launch=captured.launch))
    return tuple(found)


def _compile(captured: Captured, compiler: Path, request: CompileRequest) -> CompileEvidence | CompileFailure:
    kernel = captured.launch.kernel
    try:
        bytecode = _export(captured, compiler, request)
        level = _opt_level(captured, request.target)
        key = compile_cache.cache_key(_unplaced(bytecode, request.source), request.target, level, compiler)
        evidence = compile_cache.load(request.cache, key)
        if evidence is None:
            started = time.monotonic()
            compiled = assemble(compiler, bytecode, request.target, level)
            evidence = _evidence(captured, compiled, request, time.monotonic() - started)
            compile_cache.store(request.cache, key, replace(evidence, launch=Launch(kernel, (), ())))
    except ct.TileError as error:
        return CompileFailure("error", _front_end_message(error), kernel)
    except (CompilerRefusal, CubinError) as error:
        return CompileFailure("error", str(error), kernel)
    except CompilerCrash as error:
        return CompileFailure("crash", str(error), kernel)
    except ToolMissing as error:
        return CompileFailure("unavailable", str(error), kernel)
    return replace(evidence, launch=captured.launch)


def _evidence(captured: Captured, compiled: Compiled, request: CompileRequest, seconds: float) -> CompileEvidence:
    """What one run of the compiler says. Raises CubinError."""
    symbol = str(captured.signature.symbol)
    resources = read_cubin(compiled.cubin)[symbol]
    needs = _needs(resources)
    target = architecture(compiled.cubin)
    fit = None if needs is None else occupancy(target, needs)
    return CompileEvidence(
        kernel=captured.launch.kernel,
        target=request.target,
        launch=captured.launch,
        registers=resources.registers,
        stack_bytes=resources.stack_bytes,
        shared_bytes=resources.shared_bytes,
        code_bytes=resources.code_bytes,
        code_hash=resources.code_hash,
        remarks=tuple(_named(remark, request) for remark in parse(compiled.remarks)),
        seconds=seconds,
        threads=resources.threads,
        occupancy_pct=fit.occupancy_pct if fit else None,
        blocks_per_sm=fit.blocks_per_sm if fit else None,
        limited_by=fit.limited_by if fit else None,
        instructions=instruction_mix(compiled.cubin, symbol),
        turn=loop_turn(resources.code, target),
    )


def _needs(resources: KernelResources) -> BlockNeeds | None:
    """What a block takes of an SM, None unless the cubin says both its threads and their registers."""
    if resources.threads is None or resources.registers is None:
        return None
    return BlockNeeds(resources.threads, resources.registers, resources.shared_bytes, resources.barriers)


def _export(captured: Captured, compiler: Path, request: CompileRequest) -> bytes:
    """The bytecode of a launch, in the newest version that the compiler reads.

    cuda-tile would run the compiler in every child to find out which one that is.
    """
    bytecode, folder = io.BytesIO(), request.cache and request.cache.parent / "bytecode-versions"
    key = compile_cache.cache_key(ct.__version__.encode(), "", 0, compiler)
    known = disk_cache.load(folder, key, compile_cache.BytecodeVersion)
    export_kernel(
        captured.kernel,
        [captured.signature],
        bytecode,
        gpu_code=request.target,
        output_format="tileir_bytecode",
        bytecode_version=known and known.text,
    )
    if known is None and (found := compile_cache.bytecode_version(bytecode.getvalue())):
        disk_cache.store(folder, key, found, most=20)
    return bytecode.getvalue()


def _unplaced(bytecode: bytes, source: Path) -> bytes:
    """The bytecode without the folder of the source, which is in it for debuggers: candidates live in new folders.

    A very short folder could be part of a constant, and stays.
    """
    folder = str(source.resolve().parent).encode()
    return bytecode.replace(folder, b"\0" * len(folder)) if len(folder) >= 8 else bytecode


def _options(kernel: Any) -> Any:
    """The decorator hints. They belong to what is compiled, and cuda-tile has no public name for them."""
    return getattr(kernel, "_compiler_options", None)


def _opt_level(captured: Captured, target: str) -> int:
    """The optimization level the decorator asks for; 3 is the default of `ct.kernel`."""
    level_for_target = getattr(_options(captured.kernel), "opt_level_for_target", None)
    return int(level_for_target(target)) if level_for_target is not None else 3


def _front_end_message(error: ct.TileError) -> str:
    """The message of the front end and its place in the source, as `message (file.py:12)`."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    place = getattr(error, "loc", None)
    line, file = getattr(place, "line", 0), getattr(place, "filename", None)
    return f"{text} ({Path(file).name}:{line})" if line and file else text


def _named(remark: Remark, request: CompileRequest) -> Remark:
    """Remarks in the edited file name it without its folder, as the facts of its source do."""
    if Path(remark.where.file).resolve() != request.source.resolve():
        return remark
    return replace(remark, where=replace(remark.where, file=request.workload.kernel_file.name))
