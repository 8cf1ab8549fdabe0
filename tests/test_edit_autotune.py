"""What searched launches compute: as the plain ones, whatever the search does to its arguments; and how often they search."""

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
ct = pytest.importorskip("cuda.tile")

import edit_emulation
from edit_emulation import refused
from kdiag.executors.edits.autotune import Autotune
from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.examples.autotune import BEFORE, HEAD
from kdiag.executors.edits.examples.autotune_legacy import LEGACY
from kdiag.executors.edits.examples.autotune_spaces import BEFORE as PRODUCT
from kdiag.executors.emulator import emulate
from kdiag.records import ArrayArgument, Launch, TuningSpace

pytestmark = pytest.mark.slow

IN_PLACE = """\
import cuda.tile as ct
import torch


@ct.kernel(occupancy=2)
def double(x, T: ct.Constant[int]):
    tile = ct.bid(0)
    ct.store(x, (tile,), 2 * ct.load(x, (tile,), shape=(T,), padding_mode=ct.PaddingMode.ZERO))


def run(x):
    TILE = 256
    blocks = (x.numel() + TILE - 1) // TILE
    ct.launch(torch.cuda.current_stream(), (blocks, 1, 1), double, (x, TILE))
    return x
"""
CHOSEN = {"TILE_M": 128, "TILE_N": 64, "TILE_K": 32, "num_ctas": 2, "occupancy": 1}


edited = partial(edit_emulation.edited, Autotune())
assert_near = partial(torch.testing.assert_close, atol=2e-2, rtol=1e-2)
module_of = edit_emulation.module_of.__wrapped__  # fresh for every call: what a search found is kept in the module


class Searches:
    """A tuner that runs every configuration twice, as the real one does, and prefers the last."""

    def __init__(self):
        self.spaces: list[tuple[Any, ...]] = []
        self.replaced: list[Mapping[str, Any]] = []

    def search(self, space, stream, grid_fn, kernel, args_fn, hints_fn=None, **_):
        self.spaces.append(tuple(space))
        for config in space:
            for _repeat in range(2):
                ct.launch(stream, grid_fn(config), kernel, args_fn(config))
        return SimpleNamespace(best=SimpleNamespace(config=space[-1], mean_us=1.0))


@contextmanager
def searching(monkeypatch, target="sm_90"):
    searches = Searches()
    original = ct.kernel.replace_hints

    def counted(kernel, **hints):
        searches.replaced.append(hints)
        return original(kernel, **hints)

    with emulate(target) as _emulation, monkeypatch.context() as patch:
        patch.setattr(ct.tune, "exhaustive_search", searches.search)
        patch.setattr(ct.kernel, "replace_hints", counted)
        yield searches


@pytest.mark.parametrize("variant", ["hints", "tiles", "tiles-and-hints"])
@pytest.mark.parametrize("length", [1, 997, 4097])
def test_a_searched_launch_gives_the_same_bits(variant, length, monkeypatch):
    x = torch.randn(length)
    with searching(monkeypatch) as searches:
        assert torch.equal(module_of(edited(BEFORE, "negate", variant)).run(x), -x)
    assert len(searches.spaces) <= 1


@pytest.mark.parametrize("variant", ["hints", "tiles", "tiles-and-hints"])
def test_data_that_the_kernel_changes_in_place_is_changed_once(variant, monkeypatch):
    module = module_of(edited(IN_PLACE, "double", variant))
    for shape in [(1000,), (1, 37)]:
        whole = torch.randn(2000)
        x = whole[: 2 * shape[-1] : 2]
        before = whole.clone()
        with searching(monkeypatch) as searches:
            module.run(x)
        assert len(searches.spaces) == 1
        assert torch.equal(x, 2 * before[: 2 * shape[-1] : 2])
        assert torch.equal(whole[1::2], before[1::2])


def test_it_searches_once_for_each_kind_of_arguments_and_keeps_the_kernel(monkeypatch):
    module = module_of(edited(BEFORE, "negate", "tiles-and-hints"))
    with searching(monkeypatch) as searches:
        module.run(torch.ones(5000))
        first = (len(searches.spaces), len(searches.replaced))
        module.run(torch.zeros(5000))
        assert (len(searches.spaces), len(searches.replaced)) == first == (1, 1)
        module.run(torch.ones(5001))
        module.run(torch.ones(5000, dtype=torch.float64))
        assert len(searches.spaces) == len(searches.replaced) == 3
    assert searches.spaces[0][0] == (1024, None, None)


def test_a_graph_capture_and_an_empty_array_launch_without_a_search(monkeypatch):
    module = module_of(edited(BEFORE, "negate", "hints"))
    with searching(monkeypatch) as searches, monkeypatch.context() as patch:
        patch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        assert torch.equal(module.run(torch.ones(9)), -torch.ones(9))
    assert searches.spaces == []


def product(module, seed=1):
    """The result of the example's product on 70x40 and 40x130, and what it should be to a tfloat32 product's error."""
    torch.manual_seed(seed)
    a, b, c = torch.randn(70, 40), torch.randn(40, 130), torch.empty(70, 130)
    module.run(a, b, c)
    return c, a @ b


@pytest.mark.parametrize("variant", ["widen", "narrow"])
def test_another_space_computes_the_same(variant, monkeypatch):
    with searching(monkeypatch) as searches:
        plain, _ = product(module_of(PRODUCT))
        other, expected = product(module_of(edited(PRODUCT, "product", variant)))
    assert_near(other, expected)
    assert torch.equal(plain, other)
    before, after = searches.spaces
    assert after[0] == before[0]
    if variant == "widen":
        assert after[: len(before)] == before
        assert {config.occupancy for config in after} == {1, 2, 4}
        assert {(c.TILE_M, c.TILE_N) for c in after if hasattr(c, "num_worker_warps")} == {(128, 256), (256, 256)}
        assert searches.replaced[-1]["num_worker_warps"] == 8
    else:
        assert after == before[:-1]


@pytest.mark.parametrize("variant", ["widen", "narrow"])
def test_another_card_gets_the_space_as_it_was(variant, monkeypatch):
    source = edited(PRODUCT, "product", variant)
    with searching(monkeypatch, "sm_100") as searches:
        product(module_of(PRODUCT))
        product(module_of(source))
    assert searches.spaces[0] == searches.spaces[1]


def test_before_sm_90_clusters_go(monkeypatch):
    source = edited(PRODUCT, "product", "narrow", target="sm_80")
    with searching(monkeypatch, "sm_80") as searches:
        product(module_of(source))
    assert all(config.num_ctas == 1 for config in searches.spaces[0])


def test_a_frozen_launch_does_not_search_and_is_the_same(monkeypatch):
    frozen = edited(PRODUCT, "product", "freeze", **CHOSEN)
    with searching(monkeypatch) as searches:
        result, expected = product(module_of(frozen))
    assert searches.spaces == []
    assert searches.replaced == [{"num_ctas": 2, "occupancy": 1}]
    assert_near(result, expected)


def test_a_configuration_that_the_space_does_not_hold_is_not_launched(monkeypatch):
    frozen = edited(PRODUCT, "product", "freeze", **(CHOSEN | {"TILE_N": 32}))
    with searching(monkeypatch) as searches:
        product(module_of(frozen))
    assert len(searches.spaces) == 1


def launched(rows, chosen, configurations):
    arrays = ((rows, 40), (40, 130), (rows, 130))
    arguments = tuple(
        ArrayArgument(name, "float32", shape, (shape[1], 1)) for name, shape in zip("abc", arrays, strict=True)
    )
    space = TuningSpace("product", tuple(configurations), ((1,),) * 2, ({},) * 2, chosen)
    return Launch("product", (1,), arguments, tuning=space)


def test_what_launches_found_is_frozen_by_shape(monkeypatch):
    both = (CHOSEN, CHOSEN | {"TILE_N": 256})
    subject = Subject(PRODUCT, "product", launches=(launched(70, 0, both), launched(80, 1, both)))
    (variant,) = [v for v in Autotune().variants(subject) if v.name == "freeze"]
    frozen = Autotune().apply(subject, variant).source
    assert "_PRODUCT_FROZEN.get((tuple(a.shape), tuple(b.shape), tuple(c.shape),))" in frozen
    with searching(monkeypatch) as searches:
        module = module_of(frozen)
        product(module)
        assert searches.spaces == []
        module.run(torch.ones(90, 40), torch.ones(40, 130), torch.empty(90, 130))
        assert len(searches.spaces) == 1
    one = Autotune().variants(replace(subject, launches=(launched(70, 1, both),)))
    assert [v.settings for v in one if v.name == "freeze"] == [both[1]]


def test_a_search_of_this_edit_can_be_frozen(monkeypatch):
    tuned = edited(BEFORE, "negate", "tiles-and-hints")
    frozen = edited(tuned, "negate", "freeze", **{"0": 2048, "1": 4, "2": None})
    x = torch.randn(4097)
    with searching(monkeypatch) as searches:
        assert torch.equal(module_of(frozen).run(x), -x)
    assert searches.spaces == []
    assert searches.replaced == [{"occupancy": 4, "num_worker_warps": None}]


def test_the_old_tuner_is_exchanged(monkeypatch):
    modern = edited(LEGACY, "product", "legacy-to-modern")
    assert "experimental" not in modern
    with searching(monkeypatch) as searches:
        module = module_of(modern)
        result, expected = product(module)
        product(module, seed=2)
    assert len(searches.spaces) == len(searches.replaced) == 1
    assert_near(result, expected)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("ct.launch(torch", "return ct.launch(torch"), "not a statement of its own"),
        (("def run(x):", "from elsewhere import *\n_NEGATE_SPACE = 1\n\n\ndef run(x):"), "has a _NEGATE_SPACE"),
        (("@ct.kernel", "@ct.kernel(occupancy=ct.ByTarget(sm_90=2), num_worker_warps=W)"), "not a literal"),
        (("import torch\n", "import torch as torch2\n"), "does not import torch"),
    ],
)
def test_refusals(change, reason):
    assert HEAD in BEFORE
    assert reason in refused(Autotune(), BEFORE.replace(*change), "negate", "hints")
