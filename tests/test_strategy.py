"""What is tried next, and what a time says of a cause."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from kdiag.executors.gates.no_op import machine_code
from kdiag.isolate import Died
from kdiag.loop.ahead import AskedOnce
from kdiag.loop.strategy import Strategy, _faster
from kdiag.planner.tree import from_suggestions
from kdiag.records import CompileFailure, ConfigurationTiming, Effect, ExpectedSpeedup
from plan_cases import compiled, resized
from test_tree import suggest
from verdict_cases import ADAPTIVE


def test_one_that_can_gain_nothing_does_not_stop_what_comes_after_it():
    hopeless, hopeful, last = (
        replace(suggest(n, "G", f"tile={n}"), expected_speedup=ExpectedSpeedup(0.9, 1.0, high))
        for n, high in enumerate((1.01, 1.3, 1.0), 1)
    )
    strategy = Strategy(
        SimpleNamespace(policy=ADAPTIVE), "yes", tree=from_suggestions((hopeless, hopeful, last), "memory")
    )
    assert strategy.next() == hopeful
    strategy.tree = strategy.tree.record("G", "tile=2", "reverted", "slower")
    assert strategy.next() is None


def test_one_that_alone_is_worth_a_try_races_beside_its_kind():
    one, like, other = (
        replace(
            suggest(n, name, f"v={n}"), expected_speedup=ExpectedSpeedup(0.9, 1.0, high), proposal=Mock(source=f"s{n}")
        )
        for n, (name, high) in enumerate((("E", 1.3), ("E", 1.0), ("H", 1.0)), 1)
    )
    bench = Mock(checks=Mock(side_effect=lambda _, of: (Died("crash", "at once"),) * len(of)))
    arena = Mock(policy=ADAPTIVE, bench=bench, compiler=Mock(path=lambda text: text))
    strategy = Strategy(arena, "yes", tree=from_suggestions((one, like, other), "memory"))
    assert strategy.choose(one, Mock(source="p")).winner is one
    bench.checks.assert_called_once_with("p", ["s1", "s2"])


def test_a_trial_is_kept_with_what_it_did_to_the_code():
    batched = tuple(replace(launch, kernel="k_batched") for launch in compiled("c", stack=64, blocks=2))
    known = {"source": compiled("p", blocks=4), "x": batched}
    arena = SimpleNamespace(kernel="k", compiler=SimpleNamespace(compile_one=known.__getitem__))
    made = AskedOnce({"source": (resized("tile=512", tile=256),)})
    strategy = Strategy(arena, "yes", Mock(), Mock(), _proposed=made)
    row = Mock(optimization="G", variant="tile=512", verdict="revert", timings=(), prediction=None)

    def remembered():
        strategy.settle(row, suggest(1, "G", "tile=512"), "source", {})
        return strategy.memory.remember.call_args.args[-1]

    assert remembered() == Effect(2.0, "changed", 64)
    assert strategy.earlier == {machine_code(batched)}
    known["x"] = CompileFailure("timeout", "not compiled")
    assert remembered() == Effect(2.0)
    row.variant = "tile=512+all"
    assert remembered() == Effect()


@pytest.mark.parametrize(
    ("low", "high", "faster"), [(1.05, 1.07, True), (0.99, 1.01, False), (0.97, 1.06, None), (1.002, 1.03, None)]
)
def test_a_time_that_leaves_room_for_a_gain_refutes_nothing(low, high, faster):
    timing = ConfigurationTiming("a", 1.0, 1.0, (low + high) / 2, low, high, 0.005, 50)
    assert _faster(SimpleNamespace(timings=(timing,))) is faster
    assert _faster(SimpleNamespace(timings=())) is None
