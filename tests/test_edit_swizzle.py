"""What a grouped order of tiles computes, alone and together with persistent scheduling: the same bits."""

import re

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kdiag.executors.edits.base import Skipped
from kdiag.executors.edits.examples.persistent import PRODUCT
from kdiag.executors.edits.examples.swizzle import ONE_AXIS

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")

from grid_edits import applied, persistent, random, results, swizzled

pytestmark = [pytest.mark.compiler, pytest.mark.slow]
QUICK = settings(max_examples=6, deadline=None, phases=(Phase.explicit, Phase.generate))


@pytest.mark.parametrize("first", ["I", "B"])
@pytest.mark.parametrize("source", [PRODUCT, ONE_AXIS], ids=["two-axes", "one-axis"])
@QUICK
@given(m=st.integers(1, 200), n=st.integers(1, 130), k=st.integers(1, 40), sms=st.integers(1, 9))
def test_both_orders_of_i_and_b_give_the_same_bits(source, first, m, n, k, sms):
    after = source
    for edit in first + ("B" if first == "I" else "I"):
        after = applied(persistent(after, "matmul") if edit == "B" else swizzled(after, "matmul", 4))
    a, b = random(m, k), random(k, n)
    options = {"tile_m": 16, "tile_n": 16, "tile_k": 16}
    plain, both = (results(s, "launch", a, b, sms=sms, **options) for s in (source, after))
    assert torch.equal(plain, both)
    assert len(re.findall(r"\bct\.num_blocks\(0\)\)", after)) == 1


@pytest.mark.parametrize("source", [PRODUCT, ONE_AXIS], ids=["two-axes", "one-axis"])
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (16, 300), (300, 16), (272, 97), (129, 257)])
def test_a_grouped_order_computes_every_tile_once(source, size, m, n):
    a, b = random(m, 20), random(20, n)
    options = {"tile_m": 16, "tile_n": 16, "tile_k": 16}
    before, after = source, applied(swizzled(source, "matmul", size))
    one, other = (results(s, "launch", a, b, **options) for s in (before, after))
    assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("index=(row, k)", "index=(ct.bid(0), k)", "more than once"),
        ("index=(row, column), tile", "index=(row, 0), tile", "not decoded row by row"),
        ("index=(row, column), tile", "index=(column, column), tile", "more than once"),
        ("import torch\n", "import torch\nfrom other import helper\n", ""),
        ("import torch\n", "import torch\nfrom other import *\n", "may give min another meaning"),
        ("index=(row, k)", "index=(row, k + torch.row())", "calls torch.row, which is not read"),
    ],
)
def test_an_order_that_is_not_plain_is_refused(old, new, reason):
    outcome = swizzled(PRODUCT.replace(old, new, 1), "matmul")
    assert isinstance(outcome, Skipped) == bool(reason), outcome
    assert not reason or reason in outcome.reason
