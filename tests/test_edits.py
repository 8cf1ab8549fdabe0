"""Every edit does what its examples say, what it makes compiles, and the registry offers it as a proposal."""

from dataclasses import replace

import pytest

from bundled import kernel_file
from edit_compilation import compile_to_cubin
from edit_emulation import edited, refused
from kdiag.executors.edits.base import Applied, Skipped, Subject
from kdiag.executors.edits.registry import EDITS, EXECUTORS, propose, unified_diff
from kdiag.executors.edits.tile_sizes import TileSizes
from kdiag.records import Variant

CASES = [(edit, example) for edit in EDITS for example in edit.examples]
PASSING = [case for case in CASES if case[1].after is not None]
REFUSED = [case for case in CASES if case[1].after is None]


def named(cases):
    return [f"{edit.id}-{example.name.replace(' ', '-')}" for edit, example in cases]


def variant(edit, example):
    return Variant(edit.id, example.variant, example.settings)


def offered(name, target="sm_90"):
    path = kernel_file(name)
    return propose(Subject(path.read_text(), f"{path.stem}_kernel", target), path.name)


def names(proposals, optimization):
    return [p.variant.name for p in proposals if p.variant.optimization == optimization]


@pytest.mark.parametrize(("edit", "example"), PASSING, ids=named(PASSING))
def test_an_example_becomes_what_it_says_and_then_stays(edit, example):
    outcome = edit.apply(example.subject, variant(edit, example))
    assert isinstance(outcome, Applied), outcome
    assert outcome.source == example.after
    assert 1 <= outcome.where.line <= len(example.before.splitlines())
    again = edit.apply(replace(example.subject, source=outcome.source), variant(edit, example))
    assert isinstance(again, Skipped), again


@pytest.mark.parametrize(("edit", "example"), REFUSED, ids=named(REFUSED))
def test_a_refused_example_says_why(edit, example):
    assert example.refused
    outcome = edit.apply(example.subject, variant(edit, example))
    assert isinstance(outcome, Skipped), outcome
    assert example.refused in outcome.reason


@pytest.mark.parametrize("edit", EDITS, ids=EXECUTORS)
def test_an_edit_shows_what_it_does_and_what_it_leaves_alone(edit):
    if edit.id != "L":  # which is text for a person and edits nothing
        assert sum(example.after is not None for example in edit.examples) >= 2
    assert sum(example.after is None for example in edit.examples) >= 2


@pytest.mark.compiler
@pytest.mark.parametrize(("edit", "example"), PASSING, ids=named(PASSING))
def test_an_edited_example_compiles(edit, example):
    assert compile_to_cubin(example.after, example.kernel).startswith(b"\x7fELF")


def test_the_wide_tile_of_the_matrix_product_comes_first_with_eight_warps():
    wide = "tile_m=128,tile_n=256,num_worker_warps=8"
    for name in ("matmul_fp32", "matmul_bf16"):
        tiles = names(offered(name), "G")
        assert tiles[:2] == [wide, "tile_m=256,tile_n=128,num_worker_warps=8"]
        assert len(tiles) == 14


def test_a_deeper_tile_changes_the_order_of_the_sum_and_a_wider_one_does_not():
    safety = {p.variant.name: p.safety for p in offered("matmul_fp32")}
    assert safety["tile_m=128,tile_n=128"] == "safe"
    assert safety["tile_m=128,tile_n=128,tile_k=64"] == "changes-rounding"


def test_a_vector_kernel_is_offered_twice_four_times_and_half_the_tile():
    assert names(offered("vector_add"), "G") == ["tile=2048", "tile=4096", "tile=512"]


@pytest.mark.parametrize("name", ["softmax", "rms_norm"])
def test_a_tile_that_follows_the_data_is_refused_once_with_the_reason(name):
    (refusal,) = [p for p in offered(name) if p.variant.optimization == "G"]
    assert refusal.source is None
    computed = "TILE is computed from the data (1 << (columns - 1).bit_length()) to hold a whole row"
    assert refusal.why_not == f"{computed}, and the kernel reduces it"


def test_hints_that_need_clusters_are_not_offered_below_sm_90():
    assert names(offered("matmul_bf16", "sm_89"), "hints") == [f"occupancy={n}" for n in (2, 4, 8, 16)]
    assert {"num_ctas=2", "num_worker_warps=8"} <= set(names(offered("matmul_bf16"), "hints"))
    assert "num_ctas=2" not in names(offered("softmax"), "hints")
    assert not any("num_worker_warps" in name for name in names(offered("matmul_bf16", "sm_89"), "G"))


@pytest.mark.parametrize("name", ["matmul_bf16", "softmax", "vector_add"])
def test_proposals_differ_and_carry_their_file_and_diff(name):
    proposals = offered(name)
    assert {p.variant.optimization for p in proposals} == set(EXECUTORS)
    sources = [p.source for p in proposals if p.source is not None]
    assert len(sources) == len(set(sources))
    for proposal in proposals:
        assert (proposal.source is None) == (proposal.why_not is not None)
        if proposal.source is not None:
            assert proposal.diff.startswith(f"--- a/{proposal.where.file}\n+++ b/{proposal.where.file}\n@@")


def test_a_file_without_the_kernel_gets_one_reason_for_each_edit():
    for source in ("x = 1\n", "def broken(:\n", ""):
        proposals = propose(Subject(source, "kernel"), "k.py")
        assert [p.variant.optimization for p in proposals] == list(EXECUTORS)
        assert all(p.why_not for p in proposals)


def test_a_diff_says_when_the_last_line_has_no_end():
    assert unified_diff("a\nb", "a\nc\n", "f.py").endswith(" a\n-b\n\\ No newline at end of file\n+c\n")


def test_two_launches_must_agree_on_the_constant():
    source = next(x.before for x in TileSizes.examples if x.kernel == "double_kernel" and x.after)
    again = source.partition("def double(")[2].join(["\n\ndef again(", ""])
    together = edited(TileSizes(), source + again, "double_kernel", block=512)
    assert together.count("block: int = 512") == 2
    other = source + again.replace("block: int = 256", "block: int = 1024")
    reason = refused(TileSizes(), other, "double_kernel", block=512)
    assert reason == "the launches of the kernel pass different constants for T"
