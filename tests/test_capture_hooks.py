"""That a launch is recorded however the code that makes it got hold of `ct.launch`, and nothing is left behind."""

import gc
import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

import cuda.tile as ct

from kdiag.cutile.hooks import launching_through
from kdiag.diagnose.capture.record import Recorder, as_mapping, hints_of
from kdiag.errors import WorkloadError

KERNEL = """
import cuda.tile as ct
from cuda.tile import launch
from cuda.tile._cext import launch as lowest
from cuda.tile.tune import exhaustive_search

@ct.kernel(occupancy=2)
def copy(x, y, TILE: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)))

def made():
    bound = ct.launch
    return lambda *arguments: bound(*arguments)

closure = made()
table = {"launch": ct.launch}
"""


@pytest.fixture
def module():
    """A module that was imported before anything is recorded."""
    module = ModuleType("kernels_bound_early")
    sys.modules[module.__name__] = module
    exec(KERNEL, vars(module))
    yield module
    del sys.modules[module.__name__]


def array(size):
    return torch.empty(size, device="meta")


@pytest.mark.parametrize(
    "launch",
    [lambda m: m.ct.launch, lambda m: m.launch, lambda m: m.lowest, lambda m: m.closure, lambda m: m.table["launch"]],
    ids=["attribute", "name", "lowest", "closure", "table"],
)
def test_early_bindings_are_recorded(module, launch):
    recorder = Recorder("sm_90")
    with launching_through(recorder):
        launch(module)(None, (4,), module.copy, (array(64), array(64), 16))
    (one,) = recorder.launches
    assert (one.launch.kernel, one.launch.grid, one.launch.hints) == ("copy", (4,), {"occupancy": 2})


def test_what_is_imported_meanwhile_is_put_back(module):
    before = (ct.launch, ct.tune.exhaustive_search)
    with launching_through(Recorder("sm_90")):
        assert ct.launch is not before[0]
        scope: dict[str, Any] = {}
        exec("from cuda.tile import launch", scope)
    assert scope["launch"] is before[0]
    assert (ct.launch, ct.tune.exhaustive_search) == before
    assert (module.launch, module.lowest) == (before[0], before[0])


def test_what_nobody_else_has_taken_is_put_back_without_another_search(module, monkeypatch):
    searches = Mock(side_effect=gc.get_referrers)
    monkeypatch.setattr(gc, "get_referrers", searches)
    with launching_through(Recorder("sm_90")):
        assert module.launch is module.lowest
    assert searches.call_count == 1
    assert module.launch is module.lowest is ct.launch


def test_the_search_space_is_kept_with_the_launch_that_uses_it(module):
    recorder = Recorder("sm_90")
    space = [SimpleNamespace(tile=16, occupancy=4), SimpleNamespace(tile=32, occupancy=1)]
    with launching_through(recorder):
        best = module.exhaustive_search(
            space,
            None,
            lambda config: (64 // config.tile,),
            module.copy,
            lambda config: (array(64), array(64), config.tile),
            hints_fn=lambda config: {"occupancy": config.occupancy},
        ).best.config
        tuned = module.copy.replace_hints(occupancy=best.occupancy)
        module.launch(None, (64 // best.tile,), tuned, (array(64), array(64), best.tile))
        module.launch(None, (1,), module.copy, (array(64), array(64), 64))
    tuned, other = recorder.launches
    assert tuned.tuning is not None
    assert tuned.tuning.configurations == ({"tile": 16, "occupancy": 4}, {"tile": 32, "occupancy": 1})
    assert (tuned.tuning.grids, tuned.tuning.hints) == (((4,), (2,)), ({"occupancy": 4}, {"occupancy": 1}))
    assert (tuned.tuning.kernel, tuned.tuning.chosen, tuned.launch.hints) == ("copy", 0, {"occupancy": 4})
    assert other.tuning is None


def test_the_old_tuner_launches_the_first_configuration(module):
    recorder = Recorder("sm_90")
    result = recorder.autotune_launch(
        None,
        lambda tile: (64 // tile,),
        module.copy,
        lambda tile: (array(64), array(64), tile),
        search_space=lambda: iter([32, 16]),
        hints_fn=lambda tile: {"occupancy": 64 // tile},
    )
    (one,) = recorder.launches
    assert (one.launch.grid, one.launch.hints, result.tuned_config) == ((2,), {"occupancy": 2}, 32)
    assert one.tuning is not None
    assert one.tuning.configurations == ({"value": 32}, {"value": 16})


def test_an_empty_search_space_and_a_grid_of_nothing(module):
    recorder = Recorder("sm_90")
    with pytest.raises(WorkloadError, match="search space"):
        recorder.exhaustive_search([], None, lambda _: (1,), module.copy, None)
    with pytest.raises(WorkloadError, match=r"grid \(0,\)"):
        recorder.launch(None, (0,), module.copy, (array(64), array(64), 16))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"a": 1, "b": [2]}, {"a": 1, "b": "[2]"}),
        ((64, True), {"0": 64, "1": True}),
        (SimpleNamespace(a=None), {"a": None}),
        ("fast", {"value": "fast"}),
        (frozenset({1}), {"text": "frozenset({1})"}),
    ],
)
def test_configurations_become_names_and_scalars(config, expected):
    assert as_mapping(config) == expected


def test_hints_by_target(module):
    kernel = module.copy.replace_hints(occupancy=ct.ByTarget(sm_80=2, default=4), opt_level=2)
    assert hints_of(kernel, "sm_80") == {"occupancy": 2, "opt_level": 2}
    assert hints_of(kernel, "sm_90") == {"occupancy": 4, "opt_level": 2}


def test_attributes_and_lists_that_hold_it(module):
    class Runner:
        launch = ct.launch

        def __init__(self):
            self.go = ct.launch

    runner, listed, recorder = Runner(), [ct.launch], Recorder("sm_90")
    original = ct.launch
    for _ in range(3):
        with launching_through(recorder):
            for launch in (Runner.launch, runner.launch, runner.go, listed[0]):
                launch(None, (1,), module.copy, (array(64), array(64), 64))
        assert Runner.launch is runner.go is listed[0] is original
    assert len(recorder.launches) == 12


def test_a_wrapper_around_launch_leads_to_the_stand_in(module, monkeypatch):
    original = ct.launch

    def wrapper(*arguments):
        original(*arguments)

    monkeypatch.setattr(ct, "launch", wrapper)
    recorder = Recorder("sm_90")
    with launching_through(recorder):
        ct.launch(None, (1,), module.copy, (array(64), array(64), 64))
        module.launch(None, (1,), module.copy, (array(64), array(64), 64))
    assert len(recorder.launches) == 2
