"""What TileGym's kernels are before any edit: compiled at full size, emulated at small sizes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kdiag.diagnose.compiler.cache import cache_folder
from kdiag.diagnose.source.read import read_source
from kdiag.diagnose.source.text import beside
from kdiag.records import Compilation, CompileFailure
from kdiag.workload import source_hash
from tilegym_calls import CALLS
from tilegym_cases import CASES
from tilegym_references import BF16, FP16
from tilegym_table.compiling import CompileJob, compile_calls
from tilegym_table.emulating import EmulateJob, emulate_cases, is_small_card
from tilegym_table.records import TARGETS, Checkout, Emulated, Kernel, Original, Version
from tilegym_table.workers import Workers

CHUNKS = 8  # of calls or cases: few enough to pay an import seldom, enough to keep all cores busy to the end
TIMEOUT_S = 300.0
MOST_CASES = 5  # of a kernel
GATE_CASES = 2  # of these, what the gate sees


def kernels_of(checkout: Checkout) -> tuple[Kernel, ...]:
    """Every kernel of the checkout's operators."""
    return tuple(
        Kernel(path.relative_to(checkout.operators).as_posix(), kernel.name)
        for path in sorted(checkout.operators.rglob("*.py"))
        for kernel in read_source(path.read_text("utf-8"), path.name, beside(path)).kernels
    )


def originals(checkout: Checkout, chosen: Sequence[Kernel], workers: Workers) -> dict[Kernel, Original]:
    """The chosen kernels, each with what it compiles to and what it gives."""
    version = version_of(checkout, chosen[0].file)
    cases = [index for index in range(len(CASES)) if _concerns(index, chosen)]
    to_emulate = [EmulateJob(checkout, version, part, checkout.work, True) for part in _parts(cases)]
    to_compile = [
        CompileJob(checkout, version, part, target, cache_folder())
        for target in TARGETS
        for part in _parts(range(len(CALLS)))
    ]
    emulated: dict[int, Emulated] = {}
    for found in workers.sure(emulate_cases, to_emulate, TIMEOUT_S):
        emulated |= found
    compiled: dict[str, dict[Kernel, list[Compilation]]] = {target: {} for target in TARGETS}
    for job, answer in zip(to_compile, workers.sure(compile_calls, to_compile, TIMEOUT_S), strict=True):
        for kernel, compilation in answer.items():
            compiled[job.target].setdefault(kernel, []).append(compilation)
    return {kernel: _original(kernel, compiled, emulated) for kernel in chosen}


def _original(
    kernel: Kernel, compiled: Mapping[str, Mapping[Kernel, Sequence[Compilation]]], emulated: Mapping[int, Emulated]
) -> Original:
    by_target = {target: _joined(kernel, compiled[target].get(kernel, ())) for target in TARGETS}
    calls = {
        evidence.launch.configuration
        for compilation in by_target.values()
        if not isinstance(compilation, CompileFailure)
        for evidence in compilation
    }
    mine = {index: one for index, one in emulated.items() if kernel in one.launched and not one.failure}
    return Original(kernel, by_target, tuple(sorted(calls)), {index: mine[index] for index in _few(mine)})


def _joined(kernel: Kernel, parts: Sequence[Compilation]) -> Compilation:
    """All launches in the order of their calls; a failure if there is one, or nothing was launched."""
    for part in parts:
        if isinstance(part, CompileFailure):
            return part
    found = [evidence for part in parts for evidence in part if not isinstance(part, CompileFailure)]
    if not found:
        return CompileFailure("not-launched", "no call launches it", kernel.name)
    return tuple(sorted(found, key=lambda evidence: evidence.launch.configuration))


def _few(mine: Mapping[int, Emulated]) -> list[int]:
    """The quickest cases that between them have every dtype, shape and option, as far as a few can."""
    left, chosen, seen = sorted(mine, key=lambda index: mine[index].seconds), list[int](), set[str]()
    while left and len(chosen) < MOST_CASES:
        best = max(left, key=lambda index: len(_features(index) - seen))
        left.remove(best)
        chosen.append(best)
        seen |= _features(best)
    return chosen


def _features(index: int) -> set[str]:
    case = CASES[index]
    options = {f"{name}={value}" for name, value in case.options.items()}
    return {case.build.__name__, str(case.shape), str(case.dtype), f"small card {is_small_card(index)}", *options}


def version_of(checkout: Checkout, file: str) -> Version:
    """The original file as a version of itself."""
    path = checkout.operators / file
    return Version(file, path, source_hash(path.read_text("utf-8")))


def _parts(numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
    yield from filter(None, (tuple(numbers[first::CHUNKS]) for first in range(CHUNKS)))


def _concerns(index: int, chosen: Sequence[Kernel]) -> bool:
    """Whether a case calls an operator of one of the files; float16 adds little where there is bfloat16."""
    case = CASES[index]
    module = case.check().operator.partition(":")[0]
    if all(f"{module.replace('.', '/')}.py" != kernel.file for kernel in chosen):
        return False
    return case.dtype != FP16 or replace(case, dtype=BF16) not in CASES
