"""A load in front of a loop gives what it gave in the loop, and only loads that no round changes move."""

import numpy as np
import pytest

from edit_compilation import machine_code
from edit_emulation import edited, refused, run
from kdiag.executors.edits.examples.hoisted_loads import EXAMPLES, LINES, gradient
from kdiag.executors.edits.hoisted_loads import HoistedLoads

pytestmark = pytest.mark.usefixtures("emulating")
INSIDE, NESTED = (example.before for example in EXAMPLES[:2])


@pytest.mark.parametrize(("rows", "columns", "blocks"), [(1, 1, 1), (7, 13, 2), (9, 16, 5), (0, 5, 2)])
def test_the_sum_keeps_its_bits(rows, columns, blocks):
    random = np.random.default_rng(2)
    x = random.integers(-8, 8, size=(max(rows, 1), columns)).astype(np.float32)[:rows]
    w = random.integers(1, 4, size=(1, columns)).astype(np.float32)
    sums = [np.zeros((1, columns), np.float32) for _ in range(2)]
    for source, total in zip((INSIDE, edited(HoistedLoads(), INSIDE, "gradient", "loads")), sums, strict=True):
        run(source, "gradient", (blocks, 1, 1), (x, w, total, 2, 16))
    assert np.array_equal(*sums)
    assert np.array_equal(sums[0], (x * w).sum(axis=0, keepdims=True))


@pytest.mark.parametrize(("length", "rounds", "blocks"), [(1, 1, 1), (31, 2, 3), (64, 0, 2), (5, 3, 4)])
def test_a_gather_leaves_both_loops_and_keeps_its_bits(length, rounds, blocks):
    x = np.arange(64, dtype=np.float32)
    w = np.arange(length, dtype=np.float32)
    sums = [np.zeros(8, np.float32) for _ in range(2)]
    for source, total in zip((NESTED, edited(HoistedLoads(), NESTED, "count", "loads")), sums, strict=True):
        run(source, "count", (blocks, 1, 1), (x, w, total, rounds, 8))
    assert np.array_equal(*sums)


def test_reading_the_array_elsewhere_is_no_obstacle():
    source = INSIDE.replace("tile = ct.load(x,", "tile = ct.load(w,")
    assert "weight = " in edited(HoistedLoads(), source, "gradient", "loads").partition("    for ")[0]


@pytest.mark.parametrize(
    "line",
    [
        "ct.store(w, (0, 0), tile)",
        "helper(w)",
        "other = w",
        "ct.scatter(w, (0, columns), 1.0)",
        "part = w.slice(axis=0, start=0, stop=1)",
    ],
)
def test_an_array_that_may_change_is_loaded_in_every_round(line):
    source = INSIDE.replace("        ct.atomic_add", f"        {line}\n        ct.atomic_add")
    assert "may be written" in refused(HoistedLoads(), source, "gradient", "loads")


@pytest.mark.parametrize(
    "before", ["        weight = 0\n", "        TN = row\n", "        if row > 3:\n            weight = 1\n"]
)
def test_a_name_that_the_loop_binds_again_stays(before):
    source = INSIDE.replace("        tile = ", before + "        tile = ")
    assert "the same in every round" in refused(HoistedLoads(), source, "gradient", "loads")


def test_a_load_behind_a_condition_stays():
    source = gradient(inside="        if row > 2:\n" + "".join("            " + line for line in LINES))
    assert "the same in every round" in refused(HoistedLoads(), source, "gradient", "loads")


def test_a_load_that_waits_for_others_stays():
    ordered = INSIDE.replace("(1, TN), padding", "(1, TN), memory_order=ct.MemoryOrder.ACQUIRE, padding")
    assert "memory order" in refused(HoistedLoads(), ordered, "gradient", "loads")


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
@pytest.mark.parametrize(("atomic", "moves_itself"), [("ct.atomic_add(", False), ("ct.scatter(", True)])
def test_the_compiler_moves_the_load_itself_unless_there_is_an_atomic(atomic, moves_itself, target):
    outside = edited(HoistedLoads(), INSIDE, "gradient", "loads")
    one, other = (source.replace("ct.atomic_add(", atomic) for source in (INSIDE, outside))
    codes = [machine_code(source, "gradient", target).code_hash for source in (one, other)]
    assert (codes[0] == codes[1]) is moves_itself
