"""F computes the same, and the compiler takes TMA where it is left and nowhere else."""

import numpy as np
import pytest

from edit_emulation import applied, numbers, refused
from emulated_edits import kernel, results
from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.without_tma import WithoutTma

SOURCE = kernel(
    "x, y, first, T",
    """
tiles = y.tiled_view((T,))
one = ct.load(x.slice(axis=0, start=first, stop=x.shape[0]), (ct.bid(0),), (T,), padding_mode=ct.PaddingMode.ZERO)
two = ct.load(
    x,
    (ct.bid(0),),
    (T,),  # aligned
    padding_mode=ct.PaddingMode.ZERO,
)
total = one + two * ct.sum(two)
tiles.store((ct.bid(0),), total)
""",
)
LINES = {"load-1": (7,), "load-2": (8,), "loads": (7, 8), "stores": (15,)}


@pytest.mark.parametrize("variant", LINES)
def test_every_tile_access_can_be_named_and_computes_the_same(variant):
    outcome = applied(WithoutTma(), SOURCE, "k", variant)
    (promise,) = outcome.promises
    assert promise.change == "not-at-lines"
    assert promise.lines == LINES[variant]
    assert outcome.source.count("allow_tma=False") == len(LINES[variant])
    for length in (1, 67, 200):
        values = [numbers(length), np.zeros(length, np.float32), 0, 32]
        for before, after in zip(results(SOURCE, (1,), values), results(outcome.source, (1,), values), strict=True):
            assert np.array_equal(before, after)


def test_all_variants_are_offered_and_no_other_is_taken():
    names = [variant.name for variant in WithoutTma().variants(Subject(SOURCE, "k"))]
    assert names == ["stores", "loads", "load-1", "load-2"]
    for name in ("store-2", "load-0", "load-", "load-x", "both", ""):
        assert refused(WithoutTma(), SOURCE, "k", name)


def test_a_method_of_something_else_is_no_tile_access():
    source = kernel("x, y, T", "ct.store(y, (0,), x.load((0,)))")
    assert refused(WithoutTma(), source, "k", "loads")
