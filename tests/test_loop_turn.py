"""A turn of a loop, played through from machine code: what waits for what, and which loops count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnose.compiler.loop_turn import MEMORY, loop_turn

LDG, FFMA, ISETP, IADD3, BRA, CALL, UTMALDG = 0x981, 0x223, 0xC0C, 0x810, 0x947, 0x944, 0x5B4
NONE = 7  # no barrier, the predicate that is always true


def word(opcode, *, lifts=NONE, waits=0, stall=1, predicate=NONE, low=0, number=0, high=0):
    """One instruction; `low` are its bits 16 to 31 (two registers), `number` those from 32 on."""
    control = stall << 105 | lifts << 110 | NONE << 113 | waits << 116
    return control | high << 64 | number << 32 | low << 16 | predicate << 12 | opcode


def load(lifts, *, waits=0, size=4):
    return word(LDG, lifts=lifts, waits=waits, high=size << 9)


def branch(distance, *, predicate=NONE, short=False):
    """To as many instructions away, from the next one."""
    units = distance * 4
    low, high = (0, units) if short else (units & 0xFF, units >> 8)
    return word(BRA, predicate=predicate, low=low) | (high & ((1 << 48) - 1)) << 34


def code(*body, step=1, short=False):
    """A loop around the body, that counts register 9 by `step`, and the branch to itself that ends a kernel."""
    count = [word(IADD3, low=9 | 9 << 8, number=step), word(ISETP, low=9 << 8)]
    loop = [*body, *count, branch(-len(body) - 3, predicate=0, short=short)]
    words = [word(FFMA), *loop, branch(-1, short=short)]
    return b"".join(each.to_bytes(16, "little") for each in words)


def turn(*body, architecture="sm_90", **given):
    return loop_turn(code(*body, **given), architecture)


def test_loads_that_wait_for_each_other_add_up_and_others_overlap():
    chained = turn(load(0), load(1, waits=0b01), word(FFMA, waits=0b10))
    together = turn(load(0), load(1), word(FFMA, waits=0b11))
    ahead = turn(word(FFMA, waits=0b01), load(0), *[word(FFMA, stall=15)] * 60)
    assert chained.cycles == pytest.approx(2 * MEMORY, rel=0.02)
    assert together.cycles == pytest.approx(MEMORY, rel=0.02)
    assert ahead.cycles == pytest.approx(60 * 15, rel=0.02), "the next turn's data came while this one computed"
    assert (chained.loads, chained.loaded, chained.step) == (2, 8, 1)


@pytest.mark.parametrize(("architecture", "short"), [("sm_80", True), ("sm_90", False), ("sm_120", False)])
def test_where_a_branch_leads_is_known_on_each_architecture(architecture, short):
    found = turn(load(0, size=6), word(FFMA, waits=1), architecture=architecture, step=4, short=short)
    assert (found.loads, found.loaded, found.step) == (1, 16, 4)


def test_an_access_that_a_branch_skips_is_made_and_a_slow_path_is_not_taken():
    skipped = turn(branch(2, predicate=1), load(0), word(FFMA, waits=1))
    assert skipped.cycles > MEMORY
    slow = [branch(2, predicate=1), word(CALL, stall=15), word(FFMA, stall=15)]
    without, with_it = (turn(load(0), word(FFMA, waits=1), *more) for more in ([], slow))
    assert with_it.cycles == without.cycles + 1


def test_what_an_unrolled_loop_leaves_over_does_not_count_and_other_loops_do():
    one, four = ([load(0), word(FFMA, waits=1)] * n for n in (1, 4))
    main, rest = code(*four, step=4)[:-16], code(*one, step=1)
    assert loop_turn(main + rest, "sm_90") == loop_turn(main + rest[-16:], "sm_90")
    both = loop_turn(code(*one)[:-16] + rest, "sm_90")
    assert (both.loads, both.step) == (2, 1)


def test_it_is_silent_where_it_knows_nothing():
    assert turn(word(FFMA)) is None, "no load"
    assert turn(load(0), word(UTMALDG)) is None, "TMA"
    assert loop_turn(load(0).to_bytes(16, "little"), "sm_90") is None, "no loop"
    assert turn(load(0), architecture="sm_75") is None


@given(st.binary(max_size=800), st.sampled_from(["sm_80", "sm_90", "sm_100"]))
def test_any_bytes_are_read(data, architecture):
    found = loop_turn(data, architecture)
    assert found is None or found.cycles > 0
