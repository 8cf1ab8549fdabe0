"""What `emulate` promises as a whole: results, order, replaced functions and speed."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

import cuda.tile as ct

from emulator_kernels import (
    capped_running_sums,
    capped_sums,
    doubled,
    product,
    shared_product,
    softmax,
    wandered,
    wandering,
)
from kdiag.executors.emulator import emulate


@pytest.mark.parametrize("options", [{}, {"lockstep": False}, {"shuffle": 1}, {"shuffle": 2, "lockstep": False}])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_softmax_with_a_ragged_row(dtype, options):
    x = torch.randn(37, 300, generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype))
    with emulate(**options) as emulation:
        y = torch.empty_like(x)
        ct.launch(torch.cuda.current_stream(), (37,), softmax, (x, y, 512))
    expected = torch.softmax(x.double(), 1)
    assert (y.double() - expected).abs().max() <= torch.finfo(x.dtype).eps * 2 * expected.max()
    assert emulation.faults == ()


@settings(max_examples=25, deadline=None)
@given(blocks=st.integers(1, 9), stop=st.integers(0, 40), limit=st.integers(0, 200))
def test_blocks_that_go_different_ways(blocks, stop, limit):
    with emulate() as emulation:
        y = emulation.empty(blocks, np.int32)
        ct.launch(None, (blocks,), wandering, (y, stop, limit))
    assert y.tolist() == [wandered(block, blocks, stop, limit) for block in range(blocks)]


def test_numpy_needs_no_torch():
    code = f"""
import sys
sys.modules["torch"] = None
sys.path.append({str(Path(__file__).parent)!r})
import numpy as np, cuda.tile as ct
from emulator_kernels import doubled
from kdiag.executors.emulator import emulate
with emulate() as emulation:
    x, y = np.arange(100, dtype=np.float32), emulation.empty(100)
    ct.launch(None, (4,), doubled, (x, y, 32))
assert (y == 2 * x).all()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_everything_is_as_before_afterwards():
    before = (ct.launch, ct.tune.exhaustive_search, torch.cuda.is_available(), torch.empty(3).device.type)
    with emulate():
        assert ct.launch is not before[0]
        assert torch.cuda.is_available()
        assert torch.empty(3, device="cuda").is_cuda
    after = (ct.launch, ct.tune.exhaustive_search, torch.cuda.is_available(), torch.empty(3).device.type)
    assert before == after


def test_a_wrapper_that_tunes_itself():
    x = torch.arange(100.0)

    def grid(tile):
        return (-(-100 // tile),)

    with emulate():
        y = torch.empty(100)
        found = ct.tune.exhaustive_search([32, 64], None, grid, doubled, lambda tile: (x, y, tile))
        tile = found.best.config
        ct.launch(None, grid(tile), doubled, (x, y, tile))
    assert torch.equal(y, 2 * x)


@pytest.mark.parametrize("lockstep", [True, False])
def test_what_differs_from_block_to_block_among_what_does_not(lockstep):
    with emulate(lockstep=lockstep) as emulation:
        sums = emulation.empty(4)
        limits, ones, running = np.float32([1, 2, 3, 99]), np.ones(16, np.float32), emulation.empty((4, 16))
        ct.launch(None, (4,), capped_sums, (limits, ones, sums))
        ct.launch(None, (4,), capped_running_sums, (limits, ones, running))
        a, c = np.eye(8, dtype=np.float32), emulation.empty((32, 8))
        ct.launch(None, (4,), shared_product, (a, a, c))
    assert sums.tolist() == [1, 2, 3, 16]
    assert (running == np.minimum(np.arange(1, 17), limits[:, None])).all()
    assert (c == np.repeat(np.arange(4), 8)[:, None] + np.tile(a, (4, 1))).all()


def test_a_large_softmax_and_a_product_are_quick():
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
