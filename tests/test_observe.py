"""Compile evidence as observations: what is counted, and what stays unavailable."""

from dataclasses import replace

from kdiag.diagnose.observe import from_compilation
from kdiag.records import CompileEvidence, Launch, Place, Remark

LOAD = "RemarkMemoryLoadInstructionSelected"
STORE = "RemarkMemoryStoreInstructionSelected"


def remark(name: str, line: int, *, passed: bool = True, instruction: str = "", text: str = "") -> Remark:
    return Remark(name, passed, Place("k.py", line), "k", instruction, text=text)


def evidence(*remarks: Remark) -> CompileEvidence:
    launch = Launch("k", (1, 1, 1), ())
    return CompileEvidence("k", "sm_90", launch, 255, 0, 1024, 4096, "hash", remarks, 0.1)


def test_a_place_that_several_launches_share_counts_once() -> None:
    rejected = remark("RemarkMemoryTmaLoadFailed", 9, passed=False, text="TMA only supports zero padding")
    launches = [evidence(rejected, remark(LOAD, 9, instruction="Global-memory load instruction"))] * 2
    found = from_compilation([*launches, evidence(replace(rejected, where=Place("k.py", 12)))])
    assert found["compile.tma_loads_rejected"].value == 2
    assert found["compile.tma_loads_rejected"].where == Place("k.py", 9)
    assert "zero padding" in found["compile.tma_loads_rejected"].text
    assert (found["compile.global_loads"].value, found["compile.tma_loads"].value) == (1, 0)


def test_products_and_stores_are_told_apart() -> None:
    found = from_compilation(
        [
            evidence(
                remark("RemarkTensorCoreMMA", 3),
                remark("RemarkTensorCoreMMA", 4, passed=False),
                remark(STORE, 5, instruction="TMA Store instruction"),
                remark(STORE, 6, instruction="Global-memory store instruction"),
                remark("RemarkMemoryTmaStoreFailed", 6, passed=False),
            )
        ]
    )
    counted = {name: item.value for name, item in found.items() if item.kind == "remark"}
    assert counted == {
        "compile.mma_off_tensor_cores": 1,
        "compile.mma_on_tensor_cores": 1,
        "compile.tma_loads": 0,
        "compile.global_loads": 0,
        "compile.tma_loads_rejected": 0,
        "compile.tma_stores": 1,
        "compile.global_stores": 1,
        "compile.tma_stores_rejected": 1,
    }


def test_resources_are_those_of_the_worst_launch_and_absent_when_unknown() -> None:
    spilling = replace(evidence(), stack_bytes=1808, registers=None)
    found = from_compilation([evidence(), spilling])
    assert (found["compile.stack_bytes"].value, found["compile.registers"].value) == (1808, 255)
    assert "compile.registers" not in from_compilation([spilling])


def test_nothing_compiled_says_nothing() -> None:
    assert from_compilation([]) == {}
