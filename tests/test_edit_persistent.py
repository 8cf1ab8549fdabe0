"""What persistent scheduling and the grouped order of tiles compute: the same bits, whatever the card and the sizes."""

import atexit
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kdiag.executors.edits.base import Applied, Skipped, Subject
from kdiag.executors.edits.examples.persistent import COUNTED, PRODUCT, ROWS, ROWS_LOOPED
from kdiag.executors.edits.examples.swizzle import ONE_AXIS
from kdiag.executors.edits.persistent import INVERSE, Persistent
from kdiag.executors.edits.swizzle import Swizzle
from kdiag.records import Variant
from kdiag.workload import load_module

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.compiler
EXAMPLES = Path(__file__).parents[1] / "examples"
QUICK = settings(max_examples=6, deadline=None, phases=(Phase.explicit, Phase.generate))


def persistent(source: str, kernel: str, blocks: int = 1) -> Any:
    settings = {"blocks-per-sm": blocks}
    return Persistent().apply(Subject(source, kernel), Variant("B", f"blocks-per-sm={blocks}", settings))


def swizzled(source: str, kernel: str, size: int = 8) -> Any:
    return Swizzle().apply(
        Subject(source, kernel), Variant("I", f"group_size_m={size}", {"group_size_m": size})
    )


def applied(outcome: Any) -> str:
    assert isinstance(outcome, Applied), outcome
    return outcome.source


@cache
def module_of(source: str) -> ModuleType:
    """The imported source; cuTile reads a kernel's text from its file."""
    folder = Path(tempfile.mkdtemp(prefix="kdiag-edited-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "edited.py").write_text(source)
    return load_module(folder / "edited.py", search=folder)


@contextmanager
def card(sms: int) -> Iterator[Any]:
    """The emulator with a card of so many SMs, blocks in a random order; any fault raises."""
    from kdiag.executors.emulator import emulate

    with emulate(shuffle=sms) as emulation, pytest.MonkeyPatch.context() as patch:
        properties = torch.cuda.get_device_properties(0)
        patch.setattr(properties, "multi_processor_count", sms)
        patch.setattr(torch.cuda, "get_device_properties", lambda *_: properties)
        yield emulation


def random(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def results(source: str, function: str, *arguments: Any, sms: int = 3, **options: Any) -> Any:
    with card(sms):
        return getattr(module_of(source), function)(*arguments, **options)


@pytest.mark.parametrize("rows", [1, 2, 5, 7, 97])
@pytest.mark.parametrize("sms", [1, 3, 200])
def test_rows_are_the_same_on_any_card(rows: int, sms: int) -> None:
    x = random(rows, 33)
    after = applied(persistent(ROWS, "double", 2))
    assert torch.equal(results(after, "launch", x, sms=sms), 2 * x)


@pytest.mark.parametrize("name", ["softmax", "rms_norm", "vector_add", "matmul_bf16"])
@pytest.mark.parametrize("blocks", [1, 4])
def test_the_examples_compute_the_same_bits(name: str, blocks: int) -> None:
    path = next(p for p in (EXAMPLES / name).glob("*.py") if p.name != "workload.py")
    before = path.read_text()
    after = applied(persistent(before, f"{path.stem}_kernel", blocks))
    arguments = {
        "softmax": (random(13, 100),),
        "rms_norm": (random(13, 100), random(100)),
        "vector_add": (random(5003), random(5003)),
        "matmul_bf16": (random(300, 70).bfloat16(), random(70, 130).bfloat16()),
    }[name]
    one, other = (results(source, path.stem, *arguments) for source in (before, after))
    assert torch.equal(one, other)


@pytest.mark.parametrize("first", ["I", "B"])
@pytest.mark.parametrize("source", [PRODUCT, ONE_AXIS], ids=["two-axes", "one-axis"])
@QUICK
@given(m=st.integers(1, 200), n=st.integers(1, 130), k=st.integers(1, 40), sms=st.integers(1, 9))
def test_both_orders_of_i_and_b_give_the_same_bits(
    source: str, first: str, m: int, n: int, k: int, sms: int
) -> None:
    after = source
    for edit in first + ("B" if first == "I" else "I"):
        after = applied(persistent(after, "matmul") if edit == "B" else swizzled(after, "matmul", 4))
    a, b = random(m, k), random(k, n)
    options = {"tile_m": 16, "tile_n": 16, "tile_k": 16}
    plain, both = (results(s, "launch", a, b, sms=sms, **options) for s in (source, after))
    assert torch.equal(plain, both)
    assert len(re.findall(r"\bct\.num_blocks\(0\)\)", after)) == 1


@pytest.mark.parametrize("source", [PRODUCT, ONE_AXIS], ids=["two-axes", "one-axis"])
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (16, 300), (300, 16), (272, 97), (129, 257)])
def test_a_grouped_order_computes_every_tile_once(source: str, size: int, m: int, n: int) -> None:
    a, b = random(m, 20), random(20, n)
    options = {"tile_m": 16, "tile_n": 16, "tile_k": 16}
    before, after = source, applied(swizzled(source, "matmul", size))
    one, other = (results(s, "launch", a, b, **options) for s in (before, after))
    assert torch.equal(one, other)


def test_a_told_number_of_items_and_an_early_return() -> None:
    after = applied(persistent(COUNTED, "scale"))
    for length in (1, 255, 256, 257, 1031):
        x = random(length)
        one, other = torch.zeros(length), torch.zeros(length)
        blocks = -(-length // 256)
        results(COUNTED, "launch", x, one, length, blocks)
        results(after, "launch", x, other, length, blocks, sms=2)
        assert torch.equal(one, other)


BATCHED = """
import cuda.tile as ct
import torch

SPEED = {}


@ct.kernel
def copy(x, y, F: float, T: ct.Constant[int]):
    z, i, j = ct.bid(2), ct.bid(0), ct.bid(1)
    F = F * 2.0
    ct.store(y, (z, i, j), ct.load(x, (z, i, j), (1, T, T), padding_mode=ct.PaddingMode.ZERO) * F)


def launch(x):
    n, rows, columns = x.shape
    x = x.contiguous()
    y = torch.empty_like(x)
    T = 8

    def grid(cfg):
        return ct.cdiv(rows, cfg), (columns + cfg - 1) // cfg, n

    def arguments(cfg):
        return x, y, 1.5, cfg

    ct.launch(torch.cuda.current_stream(), grid(T), copy, arguments(T))
    return y
"""


def test_three_axes_a_parameter_that_changes_and_a_grid_from_a_function() -> None:
    after = applied(persistent(BATCHED, "copy"))
    assert "item // (blocks_x * blocks_y)" in after
    assert after.index("F = F * 2.0") < after.index("for item")
    for shape in ((1, 1, 1), (3, 17, 9), (5, 8, 24)):
        x = random(*shape)
        assert torch.equal(results(after, "launch", x, sms=4), 3 * x)


TUNED = """
from math import ceil
from types import SimpleNamespace

import cuda.tile as ct
import torch
from cuda.tile.tune import exhaustive_search

CACHE = {}


@ct.kernel
def double(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (T,)) * 2)


def launch(x):
    n = x.shape[0]
    y = torch.empty_like(x)
    stream = torch.cuda.current_stream()
    if n not in CACHE:
        result = exhaustive_search(
            [SimpleNamespace(T=16), SimpleNamespace(T=32)],
            stream,
            lambda cfg: (ceil(n / cfg.T), 1, 1),
            double,
            lambda cfg: (x, y, cfg.T),
            lambda cfg: {"occupancy": 2},
        )
        best = result.best.config
        CACHE[n] = (best, double.replace_hints(occupancy=2))
    best, tuned = CACHE[n]
    ct.launch(stream, (ceil(n / best.T), 1, 1), tuned, (x, y, best.T))
    return y
"""


def test_a_tuned_launch_changes_in_the_search_and_at_the_launch() -> None:
    after = applied(persistent(TUNED, "double"))
    assert "range(ct.bid(0), ct.cdiv(x.shape[0], T), ct.num_blocks(0))" in after
    assert after.count("sm_count), 1, 1)") == 2
    x = random(333)
    assert torch.equal(results(after, "launch", x), 2 * x)


HELPED = """
import cuda.tile as ct
import torch


def place(columns, T: ct.Constant[int]):
    block = ct.bid(0)
    across = ct.cdiv(columns, T)
    return block // across, block % across


@ct.kernel
def double(x, y, T: ct.Constant[int]):
    i, j = place(x.shape[1], T)
    ct.store(y, (i, j), ct.load(x, (i, j), (T, T), padding_mode=ct.PaddingMode.ZERO) * 2)


def launch(x):
    (rows, columns), tile = x.shape, 8
    y = torch.empty_like(x)
    blocks = ct.cdiv(rows, tile) * ct.cdiv(columns, tile)
    ct.launch(torch.cuda.current_stream(), (blocks,), double, (x, y, tile))
    return y
"""


def test_a_function_that_asks_for_the_block_is_told_the_item() -> None:
    outcome = persistent(HELPED, "double")
    assert outcome.warnings[0].startswith("place has a new parameter")
    for shape in ((1, 1), (17, 9), (8, 41)):
        x = random(*shape)
        assert torch.equal(results(applied(outcome), "launch", x), 2 * x)
    shared = HELPED + "\n\n@ct.kernel\ndef other(x, T: ct.Constant[int]):\n    place(x.shape[1], T)\n"
    assert "uses ct.bid in place" in persistent(shared, "double").reason


def test_persistent_and_back_computes_the_same() -> None:
    outcome = Persistent().apply(Subject(ROWS_LOOPED, "double"), Variant("B", INVERSE))
    x = random(19, 40)
    assert torch.equal(results(applied(outcome), "launch", x), 2 * x)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ct.bid(0)  #", "ct.bid(axis=x.shape[0])  #", "no number"),
        ("values * 2)", "helper(values))", "not in this file"),
        ("    return y\n", "    return other(double)\n", "not understood"),
        ("(rows, 1, 1)", "tuple(x.shape)", "not written out"),
        ("(rows, 1, 1)", "(1, 1, 1)", "single block"),
        ("import torch\n", "from torch import empty_like\n", "does not import torch"),
        ("    row = ct.bid(0)  # one row per block\n", "    row = 0\n", "does not use its block number"),
        ("    values", "    if x.shape[0] > 3:\n        x.shape\n        return\n    values", "returns"),
        ("    values", "    while row > 3:\n        return\n    values", "returns"),
        (
            "(rows, 1, 1)",
            "(torch.cuda.get_device_properties(0).multi_processor_count, 1, 1)",
            "number of SMs already",
        ),
    ],
)
def test_what_is_not_certain_is_refused(old: str, new: str, reason: str) -> None:
    assert old in ROWS
    outcome = persistent(ROWS.replace(old, new, 1), "double")
    assert isinstance(outcome, Skipped), outcome
    assert reason in outcome.reason


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("index=(row, k)", "index=(ct.bid(0), k)", "more than once"),
        ("index=(row, column), tile", "index=(row, 0), tile", "not decoded row by row"),
        ("index=(row, column), tile", "index=(column, column), tile", "more than once"),
        ("import torch\n", "import torch\nfrom other import helper\n", ""),
    ],
)
def test_an_order_that_is_not_plain_is_refused(old: str, new: str, reason: str) -> None:
    outcome = swizzled(PRODUCT.replace(old, new, 1), "matmul")
    assert isinstance(outcome, Skipped) == bool(reason), outcome
    assert not reason or reason in outcome.reason
