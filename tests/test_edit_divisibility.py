"""A declared divisor is true in every launch, changes no result, and widens accesses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_compilation import machine_code
from edit_emulation import edited, emulating, launched, module_of, numbers, refused
from kdiag.executors.edits.divisibility import Divisibility
from kdiag.executors.edits.examples.divisibility import ROWS, WINDOW

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.usefixtures("emulating")


@given(rows=st.integers(1, 4), stride=st.sampled_from([0, 1, 16, 17, 48, 64, 96]))
@settings(max_examples=25, deadline=None)
def test_rows_of_any_stride(rows, stride):
    x = numbers(64 + stride * rows)
    results = []
    for source in (ROWS, edited(Divisibility(), ROWS, "double", "stride")):
        with emulating(on_fault="record") as emulation:
            y = np.zeros_like(x)
            module_of(source).launch(None, x, y, rows, stride)
        assert not any(fault.kind == "assumption" for fault in emulation.faults)
        results.append(y)
    assert np.array_equal(*results)


@pytest.mark.parametrize("first", [0, 1, 15, 16, 32])
def test_a_window_from_any_column(first):
    x = numbers(3, 64)
    after = edited(Divisibility(), WINDOW, "window", "first")
    assert np.array_equal(launched(after, (3, 16), x, first, 16), launched(WINDOW, (3, 16), x, first, 16))


def test_a_guard_that_is_wrong_is_caught():
    from kdiag.executors.emulator import EmulationError

    wrong = edited(Divisibility(), WINDOW, "window", "first").replace("16 if first % 16 == 0 else 1", "16")
    with pytest.raises(EmulationError, match="assumption"):
        launched(wrong, (3, 16), numbers(3, 64), 7, 16)


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_rows_of_a_divisible_stride_take_less_code(target, monkeypatch):
    monkeypatch.setattr("edit_compilation.TILE", 1024)  # several elements for each thread
    declared = edited(Divisibility(), ROWS, "double", "stride")
    after, before = (machine_code(source, "double", target) for source in (declared, ROWS))
    assert after.code_bytes < before.code_bytes


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("    place =", "    stride = stride + 0\n    place =", "the kernel assigns stride anew"),
        ("stride: int", "stride: float", "no run-time scalar"),
        ("(x, y, stride, 64)", "(x, y, *[stride], 64)", "are unpacked"),
        ("rows, stride):", "rows, stride, stride_divisor=1):", "uses the name stride_divisor"),
    ],
)
def test_what_is_refused(before, after, reason):
    assert before in ROWS
    assert reason in refused(Divisibility(), ROWS.replace(before, after), "double", "stride")


def test_a_launch_may_be_returned():
    assert edited(Divisibility(), ROWS.replace("    ct.launch(", "    return ct.launch("), "double", "stride")
