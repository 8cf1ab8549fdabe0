"""Fixed extents and strides change no result, and take code away."""

from dataclasses import replace

import numpy as np
import pytest

from edit_compilation import machine_code
from edit_emulation import edited, launched, numbers, refused
from kdiag.executors.edits.examples.static_shapes import SAME
from kdiag.executors.edits.examples.static_shapes import _norm as norm
from kdiag.executors.edits.static_shapes import VARIANTS, StaticShapes
from kdiag.records import ArrayArgument

pytestmark = pytest.mark.slow

pytest.importorskip("cuda.tile")
SOURCE = (
    norm()
    + """

def launch(stream, x, y, tile):
    ct.launch(stream, (x.shape[0],), norm, (x, y, 0, tile))
"""
)


@pytest.mark.parametrize("shape", [(1, 1), (3, 100), (5, 127), (2, 128)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_of_any_length(shape, variant):
    x = numbers(*shape)
    after = edited(StaticShapes(), SOURCE, "norm", variant, SAME)
    assert np.array_equal(launched(after, shape, x, 128), launched(SOURCE, shape, x, 128))


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_a_known_extent_takes_code_away(target):
    fixed = edited(StaticShapes(), SOURCE, "norm", "shape", SAME)
    after, before = (machine_code(source, "norm", target) for source in (fixed, SOURCE))
    assert after.code_bytes <= before.code_bytes


def test_strides_that_change_are_left_alone():
    padded = tuple(
        replace(
            launch,
            arguments=tuple(
                replace(each, strides=(128 * n, 1)) if isinstance(each, ArrayArgument) else each
                for each in launch.arguments
            ),
        )
        for n, launch in enumerate(SAME, start=1)
    )
    assert "the strides of x change" in refused(StaticShapes(), SOURCE, "norm", "strides", launches=padded)
    assert edited(StaticShapes(), SOURCE, "norm", "shape", padded)


def test_a_conditional_array_may_have_other_axes():
    source = SOURCE.replace("    ct.store(", "    if N > 0:\n        ct.store(")
    after = edited(StaticShapes(), source, "norm", "shape", launches=SAME)
    assert "    y,\n" in after
