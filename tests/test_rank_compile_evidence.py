"""How what the compiler says of kernel and candidate changes the plan."""

from dataclasses import replace

import pytest

from kdiag.records import CompileFailure, TuningSpace
from plan_cases import FMA, MATMUL, REJECTED, TENSOR, TMA_STORE, compiled, diagnosis, find, offer, plan


def test_softmax_with_a_rejected_load_is_led_back_to_the_gather():
    proposals = (offer("A", "gather-scatter"), offer("F", "stores"), offer("H", "all"), offer("hints", "occupancy=2"))
    suggestions = plan(*proposals, parent=compiled("p", REJECTED, TMA_STORE))
    assert [s.optimization for s in suggestions if s.applicable][:2] == ["A", "F"]
    assert suggestions[0].cause == "tma-load-rejected"
    assert suggestions[0].evidence[0].where == REJECTED.where


def test_bf16_matmul_prefers_what_helped_and_leaves_out_what_spills():
    compilations = {p.source: compiled(p.variant.name) for p in MATMUL if p.source}
    compilations[MATMUL[1].source] = compiled("spills", TENSOR, stack=1808)
    parent, causes = compiled("p", TENSOR), diagnosis(("tensor-pipe", 0.9))
    suggestions = plan(*MATMUL, compilations=compilations, parent=parent, diagnosis=causes)
    open_ones = [s.variant for s in suggestions if s.applicable]
    assert set(open_ones[:2]) == {"occupancy=2", "tile_m=128,tile_n=256,num_worker_warps=8"}
    assert "1,808 bytes" in find(suggestions, "G", "tile_m=128,tile_n=256").why_not
    assert find(suggestions, "D", "tf32").why_not == "the operands are bfloat16"


def test_fp32_matmul_gets_tf32_first_from_the_compiler_alone():
    tf32 = offer("D", "tf32")
    proposals = (offer("G", "tile_m=128,tile_n=128"), tf32, offer("hints", "occupancy=2"))
    suggestions = plan(*proposals, parent=compiled("p", FMA), compilations={tf32.source: compiled("c", TENSOR)})
    assert suggestions[0].optimization == "D"
    assert suggestions[0].confidence >= 0.9
    assert suggestions[0].expected_speedup.mid > 20
    assert FMA.where in [evidence.where for evidence in suggestions[0].evidence]


def test_an_edit_without_its_promised_effect_is_believed_less():
    tf32 = offer("D", "tf32")
    works = plan(tf32, parent=compiled("p", FMA), compilations={tf32.source: compiled("c", TENSOR)})
    fails = plan(tf32, parent=compiled("p", FMA), compilations={tf32.source: compiled("c", FMA)})
    assert find(fails, "D", "tf32").confidence < find(works, "D", "tf32").confidence / 2
    assert find(fails, "D", "tf32").expected_speedup.mid == 1.0
    assert "still reports mma-off-tensor-cores" in find(fails, "D", "tf32").explanation


def test_a_candidate_that_does_not_compile_is_not_applicable():
    tile = offer("A", "tile-load")
    failure = CompileFailure("crash", "killed by SIGSEGV")
    suggestions = plan(tile, compilations={tile.source: failure}, parent=compiled("p"))
    assert find(suggestions, "A", "tile-load").why_not == "does not compile (crash): killed by SIGSEGV"
    unavailable = CompileFailure("unavailable", "no tileiras")
    suggestions = plan(tile, compilations={tile.source: unavailable}, parent=unavailable)
    assert find(suggestions, "A", "tile-load").applicable


def test_identical_machine_code_is_not_applicable():
    four, eight, two = (offer("hints", f"occupancy={n}") for n in (4, 8, 2))
    compilations = {four.source: compiled("same"), eight.source: compiled("same"), two.source: compiled("p")}
    suggestions = plan(four, eight, two, parent=compiled("p"), compilations=compilations)
    assert find(suggestions, "hints", "occupancy=4").applicable
    assert find(suggestions, "hints", "occupancy=8").why_not == (
        "compiles to identical machine code as hints occupancy=4"
    )
    assert find(suggestions, "hints", "occupancy=2").why_not == "compiles to identical machine code"


@pytest.mark.parametrize(("stores", "mid"), [((TMA_STORE,), 0.18), ((), 0.72)])
def test_a_load_that_tma_rejects_warns_with_reason_and_line(stores, mid):
    tile = offer("A", "tile-load-store")
    suggestions = plan(tile, parent=compiled("p"), compilations={tile.source: compiled("c", REJECTED, *stores)})
    found = find(suggestions, "A", "tile-load-store")
    assert found.applicable
    assert found.expected_speedup.mid == mid
    assert "line 18" in found.explanation
    assert "TMA only supports zero padding" in found.explanation
    assert found.evidence[-1].where == REJECTED.where


def test_what_spills_is_cured_only_when_the_frame_is_gone():
    warps, occupancy = offer("hints", "num_worker_warps=8"), offer("hints", "occupancy=2")
    compilations = {warps.source: compiled("w"), occupancy.source: compiled("o", stack=1808)}
    suggestions = plan(warps, occupancy, parent=compiled("p", stack=1808), compilations=compilations)
    assert suggestions[0].variant == "num_worker_warps=8"
    assert "spills are gone" in suggestions[0].explanation
    assert find(suggestions, "hints", "occupancy=2").confidence < 0.4


def test_the_tile_is_named_and_not_the_type_where_that_is_what_misses_the_tensor_cores():
    tile, tf32 = offer("G", "tile_m=128,tile_n=128"), offer("D", "tf32")
    causes = diagnosis(("mma-tile-too-small", 0.95))
    compilations = {tile.source: compiled("g", TENSOR), tf32.source: compiled("d", FMA)}
    suggestions = plan(
        tf32, tile, offer("hints", "num_ctas=2"), parent=compiled("p", FMA), diagnosis=causes, compilations=compilations
    )
    assert (suggestions[0].optimization, suggestions[0].cause) == ("G", "mma-tile-too-small")
    assert suggestions[0].expected_speedup.mid > 20
    assert suggestions[0].confidence >= 0.9


def test_what_a_rule_promises_and_the_code_does_not_do_is_not_expected():
    bounds, causes = offer("bounds", "all"), diagnosis(("tma-load-rejected", 0.9))
    tma, still = (
        plan(bounds, parent=compiled("p", REJECTED), diagnosis=causes, compilations={bounds.source: found})
        for found in (compiled("c"), compiled("c", REJECTED))
    )
    assert find(tma, "bounds", "all").expected_speedup.mid > 1.2
    assert find(still, "bounds", "all").expected_speedup.mid == 1.0


def test_a_search_that_begins_with_the_present_code_is_no_no_op():
    search = offer("C", "hints")
    (launched,) = compiled("p")
    space = TuningSpace("k", ({"occupancy": 1}, {"occupancy": 2}), ((1,), (1,)), ({}, {}))
    tuned = (replace(launched, launch=replace(launched.launch, tuning=space)),)
    suggestions = plan(search, offer("hints", "occupancy=2"), parent=(launched,), compilations={search.source: tuned})
    assert find(suggestions, "C", "hints").applicable
    assert not find(plan(search, parent=tuned, compilations={search.source: tuned}), "C", "hints").applicable


def test_a_search_is_expected_to_end_at_the_best_of_its_list():
    causes = diagnosis(("occupancy-registers", 0.9))
    members = [offer("hints", f"occupancy={n}") for n in (2, 4)]
    alone = find(plan(offer("C", "hints"), diagnosis=causes), "C", "hints").expected_speedup.mid
    found = find(plan(offer("C", "hints"), *members, diagnosis=causes), "C", "hints")
    assert found.expected_speedup.mid > alone
    assert "The best of the 2 candidates" in found.explanation
    tiles = find(plan(offer("C", "tiles"), *members, diagnosis=causes), "C", "tiles")
    assert "The best of" not in tiles.explanation
