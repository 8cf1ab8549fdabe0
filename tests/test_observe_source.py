"""Source facts as observations: what counts, and where the first is."""

import pytest

from kdiag.diagnose.source.observe import from_source
from kdiag.errors import UsageError
from source_kernels import read

TEXT = """
from elsewhere import activation
ZERO = ct.PaddingMode.ZERO
def helper(t):
    return ct.exp(t) / 2
@ct.kernel
def k(x, y, n: int, T: ct.Constant[int]):
    first = ct.load(x, (0,), (T,), padding_mode=ct.PaddingMode.NEG_INF)
    for row in range(ct.bid(0), n, ct.num_blocks(0)):
        second = ct.load(x, (row,), (T,), padding_mode=ZERO)
        for i in range(n):
            third = ct.load(x, (i,), (T,))
            product = ct.matmul(third.astype(ct.float32), ct.zeros((T, T), ct.float32))
    ct.gather(y, ct.arange(T, dtype=ct.int32) * 2)
    ct.gather(y, ct.arange(T, dtype=ct.int32))
    ct.atomic_max(y, 0, activation(helper(first)))
"""


@pytest.mark.parametrize(
    ("name", "count", "line"),
    [
        ("loads", 3, 9),
        ("loads_in_loops", 1, 13),
        ("loads_without_zero_padding", 1, 9),
        ("gathers", 2, 15),
        ("gathers_contiguous", 1, 16),
        ("mma_float32", 1, 14),
        ("persistent_loops", 1, 10),
        ("atomics", 1, 17),
        ("unresolved_helpers", 1, 17),
        ("exponentials", 1, 6),
        ("exact_divisions", 1, 6),
        ("stores", 0, None),
        ("swizzles", 0, None),
    ],
)
def test_counts_and_first_places(name, count, line):
    seen = from_source(read(TEXT), "k")[f"source.{name}"]
    assert (seen.kind, seen.value, seen.where.line if seen.where else None) == ("source", count, line)
    assert seen.text.endswith(f": {count}.")


def test_an_unknown_kernel_is_answered_with_those_there_are():
    with pytest.raises(UsageError, match="it has: k"):
        from_source(read(TEXT), "other")


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("for i in range(n):\n        ct.store(x, (i,), ct.load(x, (i,), (T,)) * 2)", 1),
        ("for i in range(n):\n        ct.store(y, (i,), ct.load(x, (i,), (T,)) * 2)", 0),
        ("ct.store(x, (0,), ct.load(x, (0,), (T,)) * 2)", 0),
        ("for i in range(n):\n        t = ct.gather(x, i)\n    for j in range(n):\n        ct.scatter(x, j, t)", 0),
    ],
)
def test_loops_that_work_in_place(body, count):
    text = f"@ct.kernel\ndef k(x, y, n: int, T: ct.Constant[int]):\n    {body}\n"
    seen = from_source(read(text), "k")["source.in_place_loops"]
    assert (seen.value, seen.where is not None) == (count, bool(count))


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("t / ct.sum(t, axis=0, keepdims=True)", 1),
        ("ct.sum(t, axis=0) / n", 0),
        ("ct.max(t, 0) / ct.sum(t, 0)", 0),
        ("t * (1.0 / ct.sum(t, axis=0))", 0),
        ("ct.broadcast_to(ct.sum(t, axis=0), (T,)) / n", 1),
        ("(t - ct.max(t, axis=0)) / n", 1),
    ],
)
def test_divisions_of_what_a_reduction_left_cost_nothing(expression, count):
    text = f"@ct.kernel\ndef k(x, n: int, T: ct.Constant[int]):\n    t = ct.load(x, (0,), (T,))\n    r = {expression}\n"
    assert from_source(read(text), "k")["source.exact_divisions"].value == count
