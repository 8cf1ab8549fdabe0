"""What `emulate` promises as a whole: results, order, replaced functions, errors and speed."""

import pickle
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

from emulator_kernels import (  # noqa: E402
    advancing,
    capped_sums,
    doubled,
    endless,
    halves,
    lopsided,
    moved_by_cutile,
    product,
    shared_product,
    softmax,
    stepping,
    wandering,
)
from kdiag.errors import UsageError, WorkloadError  # noqa: E402
from kdiag.executors.emulator import EmulationError, Fault, NotEmulated, control_flow, emulate  # noqa: E402


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


@pytest.mark.parametrize(
    "options", [{}, {"lockstep": False}, {"shuffle": 1}, {"shuffle": 2, "lockstep": False}]
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
    for lockstep in (True, False):
        with emulate(lockstep=lockstep):
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


def test_a_workspace_that_is_gone_need_not_be_filled_but_a_result_must() -> None:
    x, y = torch.arange(100.0), torch.zeros(100)

    def through_a_workspace() -> None:
        workspace = torch.empty(1000)
        ct.launch(None, (4,), doubled, (x, workspace[:100], 32))
        ct.launch(None, (4,), doubled, (workspace[:100], y, 32))

    with emulate():
        through_a_workspace()
    with emulate(on_fault="record") as emulation:
        ct.launch(None, (3,), doubled, (x, torch.empty(100), 32))
        ct.launch(None, (3,), doubled, (x.numpy(), emulation.empty(100), 32))
    (fault,) = emulation.faults
    assert (fault.kind, fault.element, fault.count) == ("unwritten", (96,), 8)


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


@pytest.mark.parametrize("lockstep", [True, False])
def test_what_differs_from_block_to_block_among_what_does_not(lockstep: bool) -> None:
    with emulate(lockstep=lockstep) as emulation:
        sums = emulation.empty(4)
        ct.launch(None, (4,), capped_sums, (np.float32([1, 2, 3, 99]), np.ones(16, np.float32), sums))
        a, c = np.eye(8, dtype=np.float32), emulation.empty((32, 8))
        ct.launch(None, (4,), shared_product, (a, a, c))
    assert sums.tolist() == [1, 2, 3, 16]
    assert (c == np.repeat(np.arange(4), 8)[:, None] + np.tile(a, (4, 1))).all()


@pytest.mark.parametrize("step", [0, -1])
def test_a_step_that_leads_nowhere(step: int) -> None:
    with emulate(on_fault="record") as emulation:
        ct.launch(None, (1,), stepping, (np.zeros(1, np.int32), step))
    (fault,) = emulation.faults
    assert (fault.kind, fault.line) == ("assumption", stepping._pyfunc.__code__.co_firstlineno + 3)


def test_code_that_the_front_end_spoils_is_refused() -> None:
    with pytest.raises(NotEmulated, match="a fault of its front end"), emulate():
        ct.launch(None, (1,), moved_by_cutile, (np.zeros(4, np.float32),))


def test_an_index_that_a_loop_carries_beyond_32_bits() -> None:
    with emulate(on_fault="record") as emulation:
        ct.launch(None, (1,), advancing, (np.zeros(8, np.float32), np.zeros(1, np.float32), 2**30))
    assert [fault.kind for fault in emulation.faults] == ["index-overflow"]


def test_one_thread_at_a_time_and_faults_that_travel() -> None:
    found: list[Exception] = []

    def elsewhere() -> None:
        try:
            with emulate():
                pass
        except UsageError as error:
            found.append(error)

    with emulate():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert "one thread at a time" in str(found[0])
    with pytest.raises(UsageError, match="on_fault"), emulate(on_fault="ignore"):
        pass
    error = EmulationError((Fault("race", "k", "f.py", 1, 1, "text"),))
    assert pickle.loads(pickle.dumps(error)).faults == error.faults


@pytest.mark.parametrize(
    "x",
    [
        torch.arange(64.0).reshape(64, 1),  # both strides are 1
        torch.arange(256.0)[::4].numpy(),  # NumPy does not own its memory
        np.lib.stride_tricks.as_strided(np.arange(65, dtype=np.float32), (64,), (4,)),
    ],
    ids=["column", "torch's memory", "as_strided"],
)
def test_arrays_that_lie_in_odd_ways(x: Any) -> None:
    with emulate() as emulation:
        y = emulation.empty(tuple(x.shape))
        ct.launch(None, (2,), halves if len(x.shape) > 1 else doubled, (x, y, 32))
    assert np.array_equal(y, np.asarray(x) * 2)


def test_a_read_only_output_is_refused() -> None:
    y = np.zeros(64, np.float32)
    y.flags.writeable = False
    with pytest.raises(WorkloadError, match="y, which is a read-only array"), emulate():
        ct.launch(None, (2,), doubled, (np.zeros(64, np.float32), y, 32))


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
