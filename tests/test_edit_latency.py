"""Latency hints change nothing that a kernel computes, and in loops they change the machine code."""

import numpy as np
import pytest

from edit_compilation import machine_code
from edit_emulation import edited, launched, numbers, refused
from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.latency import MOST_VARIANTS, Latency

pytestmark = pytest.mark.slow

pytest.importorskip("cuda.tile")
SOURCE = """\
import cuda.tile as ct


@ct.kernel
def scale(x, w, y, T: ct.Constant[int]):
    columns = ct.arange(T, dtype=ct.int32)
    row = ct.bid(0)
    weight = ct.load(w, (0,), (T,), padding_mode=ct.PaddingMode.ZERO, latency=3)
    for k in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        value = ct.load(x, (row, k), (1, T), padding_mode=ct.PaddingMode.ZERO)
        other = ct.gather(x, (row, k * T + columns))
        ct.store(y, (row, k), value * ct.reshape(other * weight, (1, T)))


def launch(stream, x, w, y, tile):
    ct.launch(stream, (x.shape[0],), scale, (x, w, y, tile))
"""


def names(source=SOURCE):
    return [variant.name for variant in Latency().variants(Subject(source, "scale"))]


def test_kinds_in_loops_come_before_all_and_single_accesses():
    found = names()
    assert found[:2] == ["none", "loads=4"]
    assert found.index("stores=3") < found.index("all=4") < found.index("load-2=10")
    assert not any(name.startswith("load-1=") for name in found)
    assert len(found) <= MOST_VARIANTS


@pytest.mark.parametrize("variant", names())
@pytest.mark.parametrize("width", [1, 13, 64])
def test_every_variant_computes_the_same(variant, width):
    x, w = numbers(2, width), numbers(8)
    before = launched(SOURCE, x.shape, x, w, 8)
    assert np.array_equal(launched(edited(Latency(), SOURCE, "scale", variant), x.shape, x, w, 8), before)


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_a_hint_in_a_loop_changes_the_machine_code_and_one_outside_does_not(target):
    sources = SOURCE, SOURCE.replace("latency=3", "latency=10"), edited(Latency(), SOURCE, "scale", "loads=10")
    plain, outside, inside = (machine_code(source, "scale", target).code_hash for source in sources)
    assert plain == outside != inside


@pytest.mark.parametrize("variant", ["", "loads", "loads=0", "loads=x", "load-=3", "load-0=3", "stores-1=3", "=3"])
def test_a_variant_that_is_none_is_refused(variant):
    assert refused(Latency(), SOURCE, "scale", variant)
