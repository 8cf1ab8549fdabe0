"""Races on a bench that knows the true speed of every variant."""

import itertools

import pytest

from kdiag.executors.bench import Heat, Trial
from kdiag.executors.halving import FIRST_ROUNDS, ROUNDS, halved
from kdiag.isolate import Died
from kdiag.loop.racing import Closed, race
from kdiag.records import ConfigurationCheck
from test_tree import suggest


def check(racers, speeds):
    """None is wrong code, a text says how it died."""
    found = [speeds[name(racer)] for racer in racers]
    return [
        Died("crash", each) if isinstance(each, str) else Trial((ConfigurationCheck("a", bool(each), None, None),), ())
        for each in found
    ]


def name(racer):
    return racer.variant.replace("=", "_")


def run(most=FIRST_ROUNDS, **speeds):
    """The result of a race, and who ran in which heat; `most` rounds of the first fit into its time."""
    heats = []

    def time(racers):
        def heat(numbers, least):
            heats.append(([name(racers[n]) for n in numbers], max(least, most)))
            return heats[-1][1], [speeds[each] for each in heats[-1][0]]

        return halved(len(racers), heat, 2.0)

    racers = [suggest(n, "G", each.replace("_", "=")) for n, each in enumerate(speeds, 1)]
    return race(racers, lambda racers: check(racers, speeds), time, 2.0), heats


def test_half_of_them_go_on_with_twice_the_rounds():
    result, heats = run(**{f"v{n}": (1 + n / 10,) for n in range(8)})
    assert result.winner.variant == "v7"
    assert [(len(names), rounds) for names, rounds in heats] == [
        (8, FIRST_ROUNDS),
        (4, 2 * FIRST_ROUNDS),
        (2, 4 * FIRST_ROUNDS),
    ]
    assert [(s.variant, s.fate) for s in result.standings] == [(f"v{n}", "won" if n == 7 else "lost") for n in range(8)]
    assert [s.reason.split()[-2] for s in result.standings] == [*"4444", *"88", "16", "16"]


def test_all_the_rounds_at_once_where_they_are_cheap():
    result, heats = run(most=ROUNDS, a=(1.1,), b=(1.3,), c=(1.2,))
    assert heats == [(["a", "b", "c"], ROUNDS)]
    assert [s.variant for s in result.standings] == ["a", "c", "b"]


@pytest.mark.parametrize("order", list(itertools.permutations([("a", (0.9,)), ("b", (1.1,)), ("c", (1.3,))])))
def test_the_fastest_wins_wherever_it_stands(order):
    assert run(**dict(order))[0].winner.variant == "c"


def test_wrong_code_is_never_timed_and_never_wins():
    result, heats = run(a=(1.0,), b=None, c=(1.2,), d=None)
    assert (result.winner.variant, {racer.variant for racer, _ in result.wrong}) == ("c", {"b", "d"})
    assert not {"b", "d"} & {name for names, _ in heats for name in names}
    nobody, _ = run(a=None, b=None)
    assert (nobody.winner, len(nobody.wrong), nobody.beaten) == (None, 2, {})
    alone, heats = run(a=None, b=(0.5,))
    assert (alone.winner.variant, heats) == ("b", []), "its trial times it"


def test_one_that_is_slower_somewhere_does_not_win_by_its_mean():
    assert run(a=(3.0, 0.9), b=(1.1, 1.1))[0].winner.variant == "b"
    assert run(a=(3.0, 0.99), b=(1.1, 1.1))[0].winner.variant == "a", "within what counts as slower"


def test_a_faster_loser_that_turns_another_knob_stays_open():
    result, _ = run(occupancy_2=(1.1,), ctas_2=(1.05,), occupancy_4=(1.05,), warps_8=(0.9,))
    assert result.winner.variant == "occupancy=2"
    assert (set(result.beaten), set(result.no_gain)) == ({("G", "occupancy=4")}, {("G", "warps=8")})
    assert set(run(exp2=(1.2,), division=(1.1,))[0].beaten) == {("G", "division")}


def test_a_faster_loser_of_another_optimization_stays_open():
    racers = [suggest(1, "G", "tile=64"), suggest(2, "H", "all"), suggest(3, "E", "loads=4")]
    speeds = {"tile_64": (1.3,), "all": (1.1,), "loads_4": (0.9,)}
    heat = Heat(tuple(speeds.values()), (ROUNDS,) * 3)
    result = race(racers, lambda racers: check(racers, speeds), lambda _: heat, 2.0)
    assert result.winner is racers[0]
    slow = Closed("no-gain", "0.900x of its parent in 16 rounds", pytest.approx(0.9))
    assert (result.no_gain, result.beaten) == ({("E", "loads=4"): slow}, {})


def test_who_gains_wins_though_another_came_further():
    racers, right = (
        [suggest(1, "G", "tile=64"), suggest(2, "H", "all")],
        Trial((ConfigurationCheck("a", True, None, None),), ()),
    )
    result = race(racers, lambda _: [right] * 2, lambda _: Heat(((1.3,), (1.005,)), (4, 16)), 2.0, least=1.01)
    assert (result.winner, set(result.no_gain)) == (racers[0], {("H", "all")})


@pytest.mark.parametrize(("search", "winner"), [(1.21, "G"), (1.24, "C")])
def test_a_search_has_to_be_clearly_faster_than_what_it_searches(search, winner):
    speeds = {"tile_64": (1.2,), "tiles": (search,)}
    racers = [suggest(1, "G", "tile=64"), suggest(2, "C", "tiles")]
    result = race(
        racers, lambda racers: check(racers, speeds), lambda _: Heat(tuple(speeds.values()), (ROUNDS,) * 2), 2
    )
    assert (result.winner.optimization, result.no_gain, result.beaten) == (winner, {}, {})


@pytest.mark.parametrize(("fastest", "winner"), [(1.312, "H"), (1.32, "G")])
def test_of_those_alike_the_one_with_fewer_registers_wins(fastest, winner):
    racers, heat = [suggest(1, "G", "tile=64"), suggest(2, "H", "all")], Heat(((fastest,), (1.3,)), (ROUNDS,) * 2)
    right = [Trial((ConfigurationCheck("a", True, None, None),), ())] * 2
    taken = {"G": 168, "H": 128}
    result = race(racers, lambda _: right, lambda _: heat, 2, registers=lambda one: taken[one.optimization])
    assert [result.winner.optimization, result.standings[-1].optimization] == [winner] * 2


@pytest.mark.parametrize(("best", "tried"), [((1.005,), False), ((1.02,), True), ((1.5, 0.9), False)])
def test_what_gains_nothing_is_not_tried(best, tried):
    racers = [suggest(1, "G", "tile=64"), suggest(2, "H", "all")]
    heat = Heat((best, (0.8,) * len(best)), (ROUNDS,) * 2)
    right = [Trial((ConfigurationCheck("a", True, None, None),), ())] * 2
    result = race(racers, lambda _: right, lambda _: heat, 2.0, least=1.01)
    assert (result.winner is racers[0], len(result.no_gain)) == (tried, 2 - tried)
    assert race(racers, lambda _: right, lambda _: heat, 2.0).winner is racers[0], "any policy without such a limit"


def test_one_that_dies_alone_does_not_end_the_race():
    result, heats = run(a=(1.1,), b="illegal access", c=(1.2,))
    assert (result.winner.variant, result.died) == ("c", None)
    assert [(racer.variant, answer.message) for racer, answer in result.wrong] == [("b", "illegal access")]
    assert "b" not in heats[0][0]


def test_a_race_that_dies_leaves_the_first():
    racers = [suggest(1, "G", "a"), suggest(2, "G", "b")]
    died = Died("crash", "illegal access")
    for checks, time in (((died, died), None), (check(racers, {"a": (1.0,), "b": (1.0,)}), lambda *_: died)):
        result = race(racers, lambda _, checks=checks: checks, time, 2.0)
        assert (result.winner, result.standings, result.died) == (racers[0], (), died)
