"""What `emulate` promises as a whole: results, order, replaced functions, errors and speed."""

import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

import cuda.tile as ct  # noqa: E402 - after the skips

from kdiag.errors import WorkloadError  # noqa: E402
from kdiag.executors.emulator import EmulationError, NotEmulated, control_flow, emulate  # noqa: E402


@ct.kernel
def softmax(x, y, tile: ct.Constant[int]):
    row = ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
    powers = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(y, (ct.bid(0), 0), powers / ct.sum(powers, axis=1, keepdims=True))


@ct.kernel
def product(a, b, c, rows: ct.Constant[int], columns: ct.Constant[int], depth: ct.Constant[int]):
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(ct.num_tiles(a, 1, (rows, depth))):
        left = ct.load(a, (ct.bid(0), k), (rows, depth), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, ct.bid(1)), (depth, columns), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (ct.bid(0), ct.bid(1)), ct.astype(total, c.dtype))


@ct.kernel
def wandering(y, stop, limit):
    total = 0
    for i in range(ct.bid(0), stop, ct.num_blocks(0)):
        if i % 5 == 3:
            continue
        if total > limit:
            break
        j = 0
        while j < i:
            j += 2
            if j == 6:
                total += 1
                continue
            total += j
    ct.scatter(y, ct.bid(0), total)


def wandered(block: int, blocks: int, stop: int, limit: int) -> int:
    total = 0
    for i in range(block, stop, blocks):
        if i % 5 == 3:
            continue
        if total > limit:
            break
        j = 0
        while j < i:
            j += 2
            if j == 6:
                total += 1
                continue
            total += j
    return total


@ct.kernel
def doubled(x, y, tile: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) * 2)


@ct.kernel
def endless(y):
    while ct.atomic_add(y, 0, 0.0) == 0:  # a load alone would be dropped with its loop
        pass


@ct.kernel
def lopsided(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (3,)))


@pytest.mark.parametrize(
    "options", [{}, {"in_step": False}, {"shuffle": 1}, {"shuffle": 2, "in_step": False}]
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_softmax_with_a_ragged_row(dtype: str, options: dict[str, Any]) -> None:
    x = torch.randn(37, 300, generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype))
    with emulate(**options) as emulation:
        y = torch.empty_like(x)
        ct.launch(torch.cuda.current_stream(), (37,), softmax, (x, y, 512))
    expected = torch.softmax(x.double(), 1)
    assert (y.double() - expected).abs().max() <= torch.finfo(x.dtype).eps * 2 * expected.max()
    assert emulation.faults == ()


@pytest.mark.parametrize(("m", "n", "k"), [(64, 32, 32), (100, 90, 70), (1, 33, 65)])
def test_a_product_of_matrices_that_are_no_multiple_of_the_tile(m: int, n: int, k: int) -> None:
    a, b = (torch.randn(*shape, generator=torch.Generator().manual_seed(3)) for shape in ((m, k), (k, n)))
    results = []
    for in_step in (True, False):
        with emulate(in_step=in_step):
            c = torch.empty(m, n)
            ct.launch(None, (-(-m // 32), -(-n // 32)), product, (a, b, c, 32, 32, 32))
        results.append(c)
    assert torch.equal(*results)
    torch.testing.assert_close(results[0], a @ b, rtol=1e-5, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(blocks=st.integers(1, 9), stop=st.integers(0, 40), limit=st.integers(0, 200))
def test_blocks_that_go_different_ways(blocks: int, stop: int, limit: int) -> None:
    with emulate() as emulation:
        y = emulation.empty(blocks, np.int32)
        ct.launch(None, (blocks,), wandering, (y, stop, limit))
    assert y.tolist() == [wandered(block, blocks, stop, limit) for block in range(blocks)]


def test_numpy_needs_no_torch() -> None:
    code = """
import sys
sys.modules["torch"] = None
import numpy as np, cuda.tile as ct
from test_emulator_without_torch import doubled
from kdiag.executors.emulator import emulate
with emulate() as emulation:
    x, y = np.arange(100, dtype=np.float32), emulation.empty(100)
    ct.launch(None, (4,), doubled, (x, y, 32))
assert (y == 2 * x).all()
"""
    kernel = (
        "import cuda.tile as ct\n@ct.kernel\ndef doubled(x, y, TILE: ct.Constant[int]):\n"
        "    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)) * 2)\n"
    )
    setup = "import sys, tempfile, pathlib; folder = tempfile.mkdtemp(); sys.path.insert(0, folder)\n"
    setup += f"pathlib.Path(folder, 'test_emulator_without_torch.py').write_text({kernel!r})\n"
    done = subprocess.run([sys.executable, "-c", setup + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_everything_is_as_before_afterwards() -> None:
    before = (ct.launch, ct.tune.exhaustive_search, torch.cuda.is_available(), torch.empty(3).device.type)
    with emulate():
        assert ct.launch is not before[0]
        assert torch.cuda.is_available()
        assert torch.empty(3, device="cuda").is_cuda
    after = (ct.launch, ct.tune.exhaustive_search, torch.cuda.is_available(), torch.empty(3).device.type)
    assert before == after


def test_a_wrapper_that_tunes_itself() -> None:
    x = torch.arange(100.0)

    def grid(tile: int) -> tuple[int]:
        return (-(-100 // tile),)

    with emulate():
        y = torch.empty(100)
        found = ct.tune.exhaustive_search([32, 64], None, grid, doubled, lambda tile: (x, y, tile))
        tile = found.best.config
        ct.launch(None, grid(tile), doubled, (x, y, tile))
    assert torch.equal(y, 2 * x)


def test_a_fault_is_raised_at_the_end_of_its_launch() -> None:
    x = torch.arange(96.0)
    with emulate():
        y = torch.empty(96)
        with pytest.raises(EmulationError, match=r"out-of-bounds.*wholly outside") as caught:
            ct.launch(None, (4,), doubled, (x, y, 32))
    assert {fault.kind for fault in caught.value.faults} >= {"out-of-bounds"}
    assert all(fault.block == (3, 0, 0) for fault in caught.value.faults)


def test_what_no_block_writes_is_a_fault_at_the_end() -> None:
    with emulate(on_fault="record") as emulation:
        y = torch.empty(100)
        ct.launch(None, (3,), doubled, (torch.arange(100.0), y, 32))
    (fault,) = emulation.faults
    assert (fault.kind, fault.array, fault.element, fault.count) == ("unwritten", "y", (96,), 4)
    with pytest.raises(EmulationError, match=r"unwritten: 4 of 100"):
        three_blocks_of_four(y)


def three_blocks_of_four(kept: torch.Tensor) -> None:
    with emulate() as emulation:
        emulation.poison(kept)
        ct.launch(None, (3,), doubled, (torch.arange(100.0), kept, 32))


def test_a_workspace_that_is_gone_need_not_be_written() -> None:
    with emulate():
        ct.launch(None, (3,), doubled, (torch.arange(100.0), torch.empty(100), 32))


def test_what_other_code_writes_is_written() -> None:
    x = torch.arange(100.0)
    with emulate():
        y = torch.empty(100)
        ct.launch(None, (3,), doubled, (x, y, 32))
        y[96:] = 0
        z = torch.empty(100)
        ct.launch(None, (4,), doubled, (y, z, 32))
    assert torch.equal(z[:96], 4 * x[:96])


def test_waiting_for_ever_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_flow, "MOST_ITERATIONS", 100)
    running = threading.active_count()
    with pytest.raises(NotEmulated, match="has not ended after 100 iterations"), emulate():
        ct.launch(None, (2,), endless, (torch.zeros(2),))
    assert threading.active_count() == running


def test_a_rule_of_cutile_is_told_with_its_line() -> None:
    with emulate() as emulation, pytest.raises(ct.TileTypeError, match=r"power of (2|two)"):
        ct.launch(None, (1,), lopsided, (torch.zeros(8), torch.zeros(8)))
    (fault,) = emulation.faults
    assert fault.kind == "type-rule"
    assert fault.line == lopsided._pyfunc.__code__.co_firstlineno + 2


@pytest.mark.parametrize(
    ("grid", "arguments", "sentence"),
    [
        ((0,), (torch.zeros(8), torch.zeros(8), 8), "grid"),
        ((1,), (torch.zeros(8),), "takes 3 arguments"),
        ((1,), (torch.zeros(8), object(), 8), "y is a object"),
    ],
)
def test_what_cannot_be_launched(grid: tuple[int], arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(WorkloadError, match=sentence), emulate():
        ct.launch(None, grid, doubled, arguments)


def test_a_large_softmax_and_a_product_are_quick() -> None:
    """CPU time, so that other tests beside this one do not count; the first launches compile."""
    x = torch.randn(4096, 4096)
    a, b = (torch.randn(256, 256, dtype=torch.bfloat16) for _ in range(2))
    with emulate():
        y, c = torch.empty_like(x), torch.empty(256, 256)
        began = time.process_time()
        ct.launch(None, (4096,), softmax, (x, y, 4096))
        between = time.process_time()
        ct.launch(None, (4, 4), product, (a, b, c, 64, 64, 32))
        ended = time.process_time()
    assert between - began < 2
    assert ended - between < 1
