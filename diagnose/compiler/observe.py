"""What compiled launches say, as observations that causes and promises can test.

Counts of remarks are of distinct source places, so a load that is lowered several times counts once; `text` is the
compiler's own sentence and `where` its line. Resources and instructions are those of the worst launch: the most of
everything, and the least occupancy. Instructions are counted in the code, not as they run.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kdiag.records import CompileEvidence, Evidence
from kdiag.rules.load_devices import fewest_sms

from .observe_remarks import from_remarks
from .occupancy import BlockNeeds, occupancy


@dataclass(frozen=True)
class Figure:
    """A figure of one launch, None where it is unavailable; `worst` chooses among launches."""

    name: str
    measure: Callable[[CompileEvidence], float | None]
    text: str
    unit: str = ""
    worst: Callable[[Sequence[float]], float] = max


def _group(*groups: str) -> Callable[[CompileEvidence], float | None]:
    """The instructions in these groups; None where no instructions were counted."""
    return lambda e: sum(e.instructions.get(group, 0) for group in groups) if e.instructions else None


def _total(evidence: CompileEvidence) -> float | None:
    return evidence.instruction_count or None


def _cycles_per_load(evidence: CompileEvidence) -> float | None:
    if evidence.turn is not None:
        return evidence.turn.cycles / evidence.turn.loads
    by_tma = evidence.instructions.get("tma_load", 0)  # perhaps in a loop
    return 0.0 if evidence.instructions and not by_tma else None


def _special_function_share(evidence: CompileEvidence) -> float | None:
    total = _total(evidence)
    return None if total is None else 100 * evidence.instructions.get("special_function", 0) / total


def _occupancy_by(resource: Literal["registers", "shared-memory"]) -> Callable[[CompileEvidence], float | None]:
    """The occupancy that one resource alone allows, in percent."""

    def measure(evidence: CompileEvidence) -> float | None:
        registers, shared = evidence.registers, evidence.shared_bytes
        if evidence.threads is None or registers is None or shared is None:
            return None
        alone = (
            BlockNeeds(evidence.threads, registers)
            if resource == "registers"
            else BlockNeeds(evidence.threads, 0, shared)
        )
        fit = occupancy(evidence.target, alone)
        return None if fit is None else fit.occupancy_pct

    return measure


def _blocks_of_an_sm(evidence: CompileEvidence) -> float | None:
    """The blocks of the launch for each SM of the smallest card of the architecture."""
    sms = fewest_sms(evidence.target)
    return None if sms is None else math.prod(evidence.launch.grid) / sms


FIGURES = (
    Figure("compile.stack_bytes", lambda e: e.stack_bytes, "stack frame a thread: registers spilled to memory", "byte"),
    Figure("compile.registers", lambda e: e.registers, "registers a thread"),
    Figure("compile.shared_bytes", lambda e: e.shared_bytes, "static shared memory a block", "byte"),
    Figure("compile.code_bytes", lambda e: e.code_bytes, "machine code", "byte"),
    Figure("compile.threads", lambda e: e.threads, "threads a block"),
    Figure(
        "compile.occupancy_pct", lambda e: e.occupancy_pct, "warps an SM can hold, of all it has room for", "%", min
    ),
    Figure(
        "compile.register_occupancy_pct",
        _occupancy_by("registers"),
        "warps an SM could hold if only registers counted",
        "%",
        min,
    ),
    Figure(
        "compile.shared_memory_occupancy_pct",
        _occupancy_by("shared-memory"),
        "warps an SM could hold if only shared memory counted",
        "%",
        min,
    ),
    Figure("compile.blocks_per_sm", lambda e: e.blocks_per_sm, "blocks an SM can hold at once", worst=min),
    Figure("compile.launched_per_sm", _blocks_of_an_sm, "blocks launched for each SM of the smallest card of its kind"),
    Figure("compile.instructions", _total, "machine instructions", "inst"),
    Figure(
        "compile.local_instructions",
        _group("local_load", "local_store"),
        "loads and stores of local memory: registers spilled and brought back",
        "inst",
    ),
    Figure("compile.tensor_instructions", _group("tensor"), "instructions of the tensor cores", "inst"),
    Figure("compile.fp32_instructions", _group("fp32"), "fp32 arithmetic instructions", "inst"),
    Figure("compile.fp64_instructions", _group("fp64"), "fp64 arithmetic instructions", "inst"),
    Figure(
        "compile.special_function_instructions",
        _group("special_function"),
        "special function instructions: exponentials, logarithms, reciprocals, roots, sines",
        "inst",
    ),
    Figure(
        "compile.special_function_share_pct",
        _special_function_share,
        "special functions among all machine instructions",
        "%",
    ),
    Figure("compile.conversion_instructions", _group("conversion"), "conversions between number types", "inst"),
    Figure("compile.atomic_instructions", _group("atomic"), "atomic operations on memory", "inst"),
    Figure(
        "compile.cycles_per_load",
        _cycles_per_load,
        "cycles of a warp alone for each load of its loops, 0 if none loads",
        "cycle",
    ),
    Figure("compile.barriers", _group("barrier"), "barriers at which the warps of a block wait", "inst"),
    Figure("compile.unknown_instructions", _group("unknown"), "instructions that kdiag could not name", "inst"),
)


def from_compilation(compiled: Sequence[CompileEvidence]) -> dict[str, Evidence]:
    """The `compile.*` observations of a kernel's launches; empty if there are none."""
    if not compiled:
        return {}
    found = {}
    for figure in FIGURES:
        values = [value for evidence in compiled if (value := figure.measure(evidence)) is not None]
        if values:
            found[figure.name] = Evidence("resource", figure.name, figure.worst(values), figure.unit, text=figure.text)
    return found | _occupancy_limit(compiled) | from_remarks(compiled)


def _occupancy_limit(compiled: Sequence[CompileEvidence]) -> dict[str, Evidence]:
    """The resource that limits the occupancy of the launch with the least."""
    known = [e for e in compiled if e.occupancy_pct is not None and e.limited_by is not None]
    if not known:
        return {}
    least = min(known, key=lambda e: e.occupancy_pct or 0.0)
    name = "compile.occupancy_limit"
    return {name: Evidence("resource", name, least.limited_by, text="what limits the blocks an SM can hold")}
