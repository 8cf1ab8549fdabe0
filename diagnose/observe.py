"""What compiled launches say, as observations that causes and promises can test.

Counts are of distinct source places, so a load that is lowered several times counts once. `text` is the compiler's
own sentence and `where` its line. Resources are the worst over all launches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kdiag.records import CompileEvidence, Evidence, Remark

Test = Callable[[Remark], bool]

REMARKS: dict[str, tuple[Test, str]] = {
    "compile.mma_off_tensor_cores": (
        lambda r: r.name == "RemarkTensorCoreMMA" and not r.passed,
        "matrix products that run as FMA instructions",
    ),
    "compile.mma_on_tensor_cores": (
        lambda r: r.name == "RemarkTensorCoreMMA" and r.passed,
        "matrix products on tensor cores",
    ),
    "compile.tma_loads": (
        lambda r: r.name == "RemarkMemoryLoadInstructionSelected" and "TMA" in r.instruction,
        "tile loads through TMA",
    ),
    "compile.global_loads": (
        lambda r: r.name == "RemarkMemoryLoadInstructionSelected" and "TMA" not in r.instruction,
        "tile loads by ordinary instructions",
    ),
    "compile.tma_loads_rejected": (
        lambda r: r.name == "RemarkMemoryTmaLoadFailed",
        "tile loads that cannot use TMA",
    ),
    "compile.tma_stores": (
        lambda r: r.name == "RemarkMemoryStoreInstructionSelected" and "TMA" in r.instruction,
        "tile stores through TMA",
    ),
    "compile.global_stores": (
        lambda r: r.name == "RemarkMemoryStoreInstructionSelected" and "TMA" not in r.instruction,
        "tile stores by ordinary instructions",
    ),
    "compile.tma_stores_rejected": (
        lambda r: r.name == "RemarkMemoryTmaStoreFailed",
        "tile stores that cannot use TMA",
    ),
}
RESOURCES: dict[str, tuple[Callable[[CompileEvidence], int | None], str, str]] = {
    "compile.stack_bytes": (
        lambda e: e.stack_bytes,
        "byte",
        "stack frame a thread: registers spilled to memory",
    ),
    "compile.registers": (lambda e: e.registers, "", "registers a thread"),
    "compile.shared_bytes": (lambda e: e.shared_bytes, "byte", "static shared memory a block"),
    "compile.code_bytes": (lambda e: e.code_bytes, "byte", "machine code"),
}


def from_compilation(compiled: Sequence[CompileEvidence]) -> dict[str, Evidence]:
    """The `compile.*` observations of a kernel's launches; empty if there are none."""
    if not compiled:
        return {}
    found = {}
    for name, (measure, unit, text) in RESOURCES.items():
        values = [value for evidence in compiled if (value := measure(evidence)) is not None]
        if values:
            found[name] = Evidence("resource", name, max(values), unit, text=text)
    remarks = [remark for evidence in compiled for remark in evidence.remarks]
    for name, (test, text) in REMARKS.items():
        places = {remark.where: remark for remark in remarks if test(remark)}
        first = next(iter(places.values()), None)
        said = f"{text}: {first.text}" if first is not None and first.text else text
        found[name] = Evidence("remark", name, len(places), "", first.where if first else None, said)
    return found
