"""Pairs of optimizations: which promise a gain, and what is made of a matrix product."""

from dataclasses import replace

import pytest

from auto_runs import EXAMPLES
from kdiag import workload as workloads
from kdiag.loop.applying import EditRequest, choose, edit_named
from kdiag.loop.candidates import PlanRequest
from kdiag.loop.compiler import Compiler
from kdiag.loop.findings import gather
from kdiag.loop.pairing import Known, promising, with_pairs
from kdiag.planner.order import Tiers
from kdiag.planner.tree import from_suggestions
from kdiag.records import ExpectedSpeedup, parts
from test_tree import states, suggest

KNOWN = Known("sm_90", 1.02, {})


def expecting(low, mid, high, *about):
    return replace(suggest(*about), expected_speedup=ExpectedSpeedup(low, mid, high), confidence=1.0)


SWIZZLE = expecting(1.0, 1.007, 1.013, 2, "I", "group_size_m=8")
PERSISTENT = expecting(1.0, 1.044, 1.05, 1, "B", "blocks-per-sm=1")


def test_what_gains_nothing_alone_is_paired_with_what_it_enables():
    ((first, _, pair),) = promising((PERSISTENT, SWIZZLE), KNOWN, None)
    assert (first, pair.optimization) == (SWIZZLE, "I+B")
    assert 1.07 < pair.expected_speedup.mid < 1.087  # 1.007 times the 1.087 of the edge, shrunk
    assert "I group_size_m=8 alone promises 1.007x, but enables B" in pair.explanation
    ((_, _, pair),) = promising((PERSISTENT, SWIZZLE), KNOWN, 1.05)
    assert pair.explanation.endswith(". Capped by the 1.05x that the roofline leaves. A trial takes about 4 s.")


@pytest.mark.parametrize(
    ("first", "headroom"),
    [
        (expecting(1.0, 1.1, 1.2, 1, "I", "group_size_m=8"), None),  # worth trying alone
        (suggest(1, "I", "", why_not="no matrix product"), None),
        (expecting(0.2, 0.3, 0.4, 1, "I", "group_size_m=8"), None),  # slower even so
        (SWIZZLE, 1.01),
        (expecting(0.1, 0.2, 0.3, 1, "A", "tile-load-store"), None),  # no gain on its edge
    ],
)
def test_no_pair_is_made_of_these(first, headroom):
    assert promising((first,), KNOWN, headroom) == []


def test_what_was_measured_alone_replaces_its_prior_and_a_wrong_one_is_no_partner():
    tried = replace(SWIZZLE, applicable=False, why_not="tried already: inconclusive")
    assert promising((tried,), KNOWN, None) == []
    ((_, _, pair),) = promising((tried,), replace(KNOWN, measured={("I", "group_size_m=8"): 0.98}), None)
    assert pair.applicable
    assert 1.04 < pair.expected_speedup.mid < 1.06


def test_a_kept_pair_counts_as_both_of_its_parts():
    assert parts("I+B", "x=8+y=1") == (("I", "x=8"), ("B", "y=1"))
    assert parts("B", "") == (("B", ""),)
    tree = from_suggestions((suggest(1, "A+F", "tile-load-store+stores"), suggest(2, "A", "gather-scatter")))
    tree = tree.record("A+F", "tile-load-store+stores", "kept", "faster")
    assert states(tree)["A", "gather-scatter"] == "not-applicable"


@pytest.mark.compiler
def test_a_matrix_product_is_swizzled_in_a_persistent_loop(tmp_path):
    described = workloads.read(EXAMPLES / "matmul_bf16")
    source = workloads.read_source(described.kernel_file)
    compiler = Compiler(described, "matmul.py", "sm_90", tmp_path)
    asked = EditRequest(source, "matmul_kernel", "matmul.py", compiler)
    swizzled, _ = choose(edit_named("I"), asked, "group_size_m=8")
    plan = (replace(PERSISTENT, tier=4), replace(SWIZZLE, proposal=swizzled))
    request = PlanRequest(source, "matmul_kernel", gather(source, "matmul_kernel", compiler), "yes")
    pair, *_ = with_pairs(plan, request, KNOWN, compiler)
    assert (pair.optimization, pair.rank, pair.safety) == ("I+B", 1, "safe")
    assert pair.variant.startswith("group_size_m=8+blocks-per-sm=")
    assert "GROUP_SIZE_M = 8" in pair.proposal.source
    assert "ct.num_blocks(0)" in pair.proposal.source
    tried = {"tried": {("I+B", pair.variant): "revert"}}
    for changes, order in ((tried, "B I"), ({"tiers": Tiers((4, 1), "")}, "B I+B I")):
        found = with_pairs(plan, replace(request, **changes), KNOWN, compiler)
        assert " ".join(s.optimization for s in found) == order
