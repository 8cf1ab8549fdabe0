"""What kernels compute without bounds checks, and that a wrong guard would be caught."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_emulation import edited, launched, numbers, refused
from kdiag.executors.edits.bounds import Bounds
from kdiag.executors.edits.examples.bounds import EXAMPLES, SOFTMAX

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.usefixtures("emulating")
LAUNCHED = """\
import cuda.tile as ct


@ct.kernel
def scale(x, w, y, N: ct.Constant[int], OFFSET: ct.Constant[int], T: ct.Constant[int]):
    columns = ct.arange(T, dtype=ct.int32)
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        for k in range(ct.cdiv(N, T)):
            place = k * T + columns
            weight = ct.load(w, (k,), (T,), padding_mode=ct.PaddingMode.ZERO)
            ct.scatter(y, (row, place), ct.gather(x, (row, OFFSET + place)) * weight)


def launch(stream, x, w, y, width, offset, tile):
    ct.launch(stream, (3,), scale, (x, w, y, width, offset, tile))
"""
SUM = """\
import cuda.tile as ct


@ct.kernel
def total(x, y, T: ct.Constant[int]):
    row = ct.bid(0)
    acc = ct.zeros((1, T), dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        acc = acc + ct.load(x, (row, k), (1, T), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (row, 0), acc * 2.0)


def launch(stream, x, y, tile):
    ct.launch(stream, (x.shape[0], 1), total, (x, y, tile))
"""
TWO_READ = """\
import cuda.tile as ct


@ct.kernel
def add(x, z, y, T: ct.Constant[int]):
    b = ct.bid(0)
    ct.store(y, (b,), ct.load(x, (b,), (T,)) + ct.load(z, (b,), (T,)))


def launch(stream, x, z, y):
    ct.launch(stream, (ct.cdiv(x.shape[0], 16),), add, (x, z, y, 16))
"""


def unchecked(source, kernel, variant="all"):
    return edited(Bounds(), source, kernel, variant)


@pytest.mark.parametrize("length", [1, 97, 1023, 1024, 1025, 4096])
@pytest.mark.parametrize("variant", ["all", "reads", "writes"])
def test_a_vector_of_any_length(length, variant):
    x = numbers(length)
    assert np.array_equal(launched(unchecked(EXAMPLES[0].before, "double", variant), (length,), x), x + x)


@given(rows=st.integers(1, 5), width=st.integers(1, 40), offset=st.integers(0, 9), over=st.integers(-3, 9))
@settings(max_examples=40, deadline=None)
def test_any_shape_offset_and_width(rows, width, offset, over):
    x, w = numbers(rows, max(1, width + offset + over)), numbers(40)
    arguments = (x, w, width, offset, 8)
    before = launched(LAUNCHED, (rows, width), *arguments)
    assert np.array_equal(launched(unchecked(LAUNCHED, "scale"), (rows, width), *arguments), before)


@pytest.mark.parametrize("width", [8, 13, 16, 64])
def test_a_stored_accumulator(width):
    after = unchecked(SUM, "total")
    assert "ct.store(y, (row, 0), acc * 2.0, check_bounds=CHECK_BOUNDS)" in after
    x = numbers(3, width)
    assert np.array_equal(launched(after, (3, 8), x, 8), launched(SUM, (3, 8), x, 8))


@pytest.mark.parametrize("width", [1, 7, 63, 64])
def test_a_row_that_fills_its_tile_is_not_padded(width):
    x = numbers(5, width)
    before = launched(SOFTMAX, x.shape, x, 64)
    assert np.array_equal(launched(unchecked(SOFTMAX, "softmax"), x.shape, x, 64), before)


def test_a_guard_that_is_wrong_is_caught():
    from kdiag.executors.emulator import EmulationError

    wrong = unchecked(LAUNCHED, "scale").replace("check_bounds = (", "check_bounds = False and (")
    assert wrong.count("False and") == 1
    arguments = (numbers(3, 21), numbers(40), 13, 4, 8)
    with pytest.raises(EmulationError, match="out-of-bounds"):
        launched(wrong, (3, 13), *arguments)


def test_a_conditional_access_may_not_have_its_arrays_axes_read():
    source = LAUNCHED.replace(
        "            weight = ct.load(w", "            if OFFSET:\n                weight = ct.load(w"
    )
    source = source.replace("* weight", "")
    assert "ct.load(w, (k,), (T,), padding_mode=ct.PaddingMode.ZERO)" in unchecked(source, "scale")


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("place = k * T", "place = k * T - 1", "how far `place` in its index goes is not certain"),
        ("def launch", "other = scale\n\n\ndef launch", "uses scale otherwise than in ct.launch"),
        ("(x, w, y, width", "(*x, w, y, width", "are unpacked"),
        ("T: ct.Constant[int])", "T: ct.Constant[int], *more)", "not all plain ones"),
    ],
)
def test_what_is_refused(before, after, reason):
    assert before in LAUNCHED
    source = LAUNCHED.replace(before, after)
    assert reason in refused(Bounds(), source, "scale", "writes")


def test_comments_stay_with_their_arguments():
    source = LAUNCHED.replace(
        "OFFSET: ct.Constant[int], T: ct.Constant[int])",
        "OFFSET: ct.Constant[int],\n    T: ct.Constant[int]  # tile\n)",
    )
    source = source.replace(
        "(x, w, y, width, offset, tile)", "(\n        x, w, y, width,\n        offset,\n        tile,  # last\n    )"
    )
    after = unchecked(source, "scale")
    assert "    T: ct.Constant[int],  # tile\n    CHECK_BOUNDS: ct.Constant[bool]\n)" in after
    assert "        tile,  # last\n        check_bounds,\n    )" in after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import cuda.tile as ct\n", "from cuda.tile import *\nimport cuda.tile as ct\n"),
        ("import cuda.tile as ct\n", "import cuda.tile as ct\nfrom torch import minimum as min\n"),
        ("def launch(stream, x, z, y)", "def launch(stream, x, z, y, min=None)"),
    ],
)
def test_a_min_that_may_not_be_pythons_is_not_written(before, after):
    assert "min(" in unchecked(TWO_READ, "add")
    assert before in TWO_READ
    assert "may give min a" in refused(Bounds(), TWO_READ.replace(before, after), "add", "all")
