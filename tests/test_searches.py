"""What searches for its configuration, while it is checked: each search takes another one, and what cannot run is left out."""

import pytest

np = pytest.importorskip("numpy")
ct = pytest.importorskip("cuda.tile")

from kdiag.cutile.hooks import launching_through
from kdiag.executors.correctness.searches import EachOnce, untimed
from kdiag.executors.emulator import emulate
from kdiag.executors.ncu.process import Ended
from kdiag.executors.sanitizer import SEARCHED, judge

SPACE = (16, 32, 48, 64)  # 48 is no tile size: the search leaves it out


@ct.kernel
def double(x, out, tile: ct.Constant[int]):
    at = ct.bid(0)
    ct.store(out, index=(at,), tile=ct.load(x, index=(at,), shape=(tile,)) * 2)


def search(out, space=SPACE):
    x = np.arange(64, dtype=np.float32)
    found = ct.tune.exhaustive_search(
        space, None, lambda tile: (64 // tile,), double, lambda tile: (x, out, tile), lambda tile: {"occupancy": 2}
    )
    return found.best.config


def test_searches_take_what_can_run_in_turn_and_the_first_comes_last():
    out = np.zeros(64, np.float32)
    with emulate(), untimed():
        assert [search(out) for _ in range(4)] == [32, 64, 16, 32]
    assert out[-1] == 126


def test_a_search_of_which_nothing_can_run_says_why():
    with emulate(), untimed(), pytest.raises(ct.TileTypeError, match="power of two"):
        search(np.zeros(64, np.float32), (48,))


@pytest.mark.parametrize(("seconds", "launched"), [(20.0, 3), (0.0, 0)])
def test_memcheck_sees_each_configuration_while_there_is_time(seconds, launched):
    with emulate(), launching_through(each := EachOnce(seconds=seconds)):
        search(np.zeros(64, np.float32))
    assert (each.searched, each.of) == (launched, 4)
    said = judge(Ended(0, SEARCHED.format(each.searched, each.of), ""), "==== ERROR SUMMARY: 0 errors")
    assert said.outcome == "passed"
    assert f"launched {launched} of 4 configurations" in said.reason


def test_shares_launch_each_configuration_once():
    found = []
    for n in range(3):
        with emulate(), launching_through(each := EachOnce(first=n, step=3)):
            assert search(np.zeros(64, np.float32)) in SPACE
        found.append((each.searched, each.of))
    assert found == [(2, 2), (1, 1), (0, 1)], "48 cannot be launched"
