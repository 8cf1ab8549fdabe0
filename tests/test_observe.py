"""Compile evidence as observations: what is counted, and what stays unavailable."""

from dataclasses import replace

import pytest

from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.diagnose.compiler.observe_remarks import lines_by_observation, remark_lines
from kdiag.records import CompileEvidence, Launch, LoopTurn, Place, Remark, number

LOAD = "RemarkMemoryLoadInstructionSelected"
STORE = "RemarkMemoryStoreInstructionSelected"


def remark(name, line, *, passed=True, instruction="", text=""):
    return Remark(name, passed, Place("k.py", line), "k", instruction, text=text)


def evidence(*remarks):
    launch = Launch("k", (1, 1, 1), ())
    return CompileEvidence("k", "sm_90", launch, 255, 0, 1024, 4096, "hash", remarks, 0.1)


def seen(*remarks):
    return from_compilation([evidence(*remarks)])


def test_a_place_that_several_launches_share_counts_once():
    rejected = remark("RemarkMemoryTmaLoadFailed", 9, passed=False, text="TMA only supports zero padding")
    launches = [evidence(rejected, remark(LOAD, 9, instruction="Global-memory load instruction"))] * 2
    found = from_compilation([*launches, evidence(replace(rejected, where=Place("k.py", 12)))])
    assert found["compile.tma_loads_rejected"].value == 2
    assert found["compile.tma_loads_rejected"].where == Place("k.py", 9)
    assert "zero padding" in found["compile.tma_loads_rejected"].text
    assert (found["compile.global_loads"].value, found["compile.tma_loads"].value) == (1, 0)


def test_products_and_stores_are_told_apart():
    found = seen(
        remark("RemarkTensorCoreMMA", 3),
        remark("RemarkTensorCoreMMA", 4, passed=False),
        remark(STORE, 5, instruction="TMA Store instruction"),
        remark(STORE, 6, instruction="Global-memory store instruction"),
        remark("RemarkMemoryTmaStoreFailed", 6, passed=False),
    )
    assert counted(found) == {
        "compile.mma_off_tensor_cores": 1,
        "compile.mma_on_tensor_cores": 1,
        "compile.tma_loads": 0,
        "compile.global_loads": 0,
        "compile.tma_loads_rejected": 0,
        "compile.tma_stores": 1,
        "compile.global_stores": 1,
        "compile.tma_stores_rejected": 1,
    }


def counted(found):
    return {name: item.value for name, item in found.items() if item.kind == "remark"}


def test_loops_hints_and_shared_memory_count_only_where_the_compiler_writes_of_them():
    silent = counted(seen())
    assert not {name for name in silent if "loops" in name or "hints" in name or "smem" in name}
    found = seen(
        remark("RemarkLoopPipeline", 3, text="Software pipeline applied: 3 stages"),
        remark("RemarkLoopPipeline", 7, passed=False, text="the loop has a store"),
        remark("RemarkLoopFullUnroll", 9, text="Full unroll applied: trip count 4"),
        remark("RemarkHint", 2, passed=False, text="OptimizationHint incorrect latency"),
        remark("RemarkHintDefault", 2),
        remark("RemarkMemorySmemAllocated", 1, text="Shared memory allocated: 1040 bytes"),
        remark("RemarkMemorySmemAllocated", 1, text="Shared memory allocated: 33880 bytes"),
    )
    said = set(counted(found)) - set(silent)
    assert {name: found[name].value for name in said} == {
        "compile.loops_pipelined": 1,
        "compile.loops_not_pipelined": 1,
        "compile.loops_unrolled": 1,
        "compile.hints_refused": 1,
        "compile.smem_allocated_bytes": 33880,
    }
    assert "the loop has a store" in found["compile.loops_not_pipelined"].text
    assert found["compile.loops_not_pipelined"].where == Place("k.py", 7)


def test_everything_that_failed_is_listed_in_the_order_of_the_source():
    reason = "TMA only supports zero padding"
    lines = remark_lines(
        evidence(
            remark("RemarkTensorCoreMMA", 30, passed=False, instruction="FMA"),
            remark("RemarkMemoryTmaLoadFailed", 18, passed=False, text=reason),
            remark("RemarkMemoryTmaLoadFailed", 9, passed=False, text=reason),
            remark("RemarkMemoryTmaLoadFailed", 9, passed=False, text=reason),
            remark(LOAD, 9, instruction="Global-memory load instruction"),
            remark("RemarkOfANewerCompiler", 40, passed=False),
        )
    )
    assert [(line.name, line.where and line.where.line, line.value, line.text) for line in lines] == [
        ("compile.tma_loads_rejected", 9, None, reason),
        ("compile.tma_loads_rejected", 18, None, reason),
        ("compile.mma_off_tensor_cores", 30, "FMA", "matrix products that run as FMA instructions"),
        ("RemarkOfANewerCompiler", 40, None, "RemarkOfANewerCompiler"),
    ]


def test_instructions_are_totals_by_group_and_absent_when_none_were_counted():
    mix = {"fp32": 60, "fp64": 10, "special_function": 20, "local_load": 6, "local_store": 4, "tensor": 0}
    found = from_compilation([replace(evidence(), instructions=mix), evidence()])
    values = {name: item.value for name, item in found.items()}
    assert values["compile.instructions"] == 100
    assert values["compile.local_instructions"] == 10
    assert values["compile.fp64_instructions"] == 10
    assert values["compile.special_function_share_pct"] == pytest.approx(20)
    assert (values["compile.tensor_instructions"], values["compile.barriers"]) == (0, 0)
    assert not {name for name in seen() if name.endswith("_instructions")}


def test_the_occupancy_is_the_least_and_comes_with_what_limits_it():
    half = replace(
        evidence(),
        threads=256,
        registers=128,
        occupancy_pct=25.0,
        blocks_per_sm=2,
        limited_by="registers",
        shared_bytes=1024,
    )
    full = replace(half, occupancy_pct=100.0, blocks_per_sm=8, limited_by="warps", registers=32)
    found = from_compilation([full, half])
    assert (found["compile.occupancy_pct"].value, found["compile.blocks_per_sm"].value) == (25.0, 2)
    assert found["compile.occupancy_limit"].value == "registers"
    assert found["compile.register_occupancy_pct"].value == 25.0
    assert found["compile.shared_memory_occupancy_pct"].value == 100.0
    assert not {name for name in seen() if "occupancy" in name}


def test_resources_are_those_of_the_worst_launch_and_absent_when_unknown():
    spilling = replace(evidence(), stack_bytes=1808, registers=None)
    found = from_compilation([evidence(), spilling])
    assert (found["compile.stack_bytes"].value, found["compile.registers"].value) == (1808, 255)
    assert "compile.registers" not in from_compilation([spilling])


@pytest.mark.parametrize(
    ("turn", "instructions", "cycles"),
    [
        (LoopTurn(1200, 2, 8), {"global_load": 2}, 600),
        (None, {"fp32": 9}, 0),
        (None, {"tma_load": 1}, None),  # of a loop, or of none
        (None, {}, None),
    ],
)
def test_what_a_load_of_a_loop_waits_is_unknown_where_tma_loads(turn, instructions, cycles):
    found = from_compilation([replace(evidence(), turn=turn, instructions=instructions)])
    assert number(found, "compile.cycles_per_load") == cycles


def test_nothing_compiled_says_nothing():
    assert from_compilation([]) == {}


def test_lines_of_the_edited_file_by_observation():
    tma, plain = "TMA Load instruction", "Global-memory load instruction"
    elsewhere = replace(remark(LOAD, 3, instruction=tma), where=Place("/lib/helper.py", 3))
    launches = [
        evidence(remark(LOAD, 9, instruction=tma), remark(LOAD, 12, instruction=plain), elsewhere),
        evidence(remark(LOAD, 14, instruction=tma), remark("RemarkTensorCoreMMA", 20)),
    ]
    found = lines_by_observation(launches, "k.py")
    assert found["compile.tma_loads"] == {9, 14}
    assert found["compile.global_loads"] == {12}
    assert found["compile.mma_on_tensor_cores"] == {20}
    assert found["compile.tma_stores"] == frozenset()
    assert "compile.loops_pipelined" not in found  # no remark says anything of loops
