"""What `emulate` refuses and reports: rules, memory that is not written, odd arrays, what does not end."""

import pickle
import threading

import numpy as np
import pytest

pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

import cuda.tile as ct

from emulator_kernels import (
    advancing,
    doubled,
    endless,
    halves,
    lopsided,
    moved_by_cutile,
    stepping,
    talkative,
    unknown_type,
)
from kdiag.cutile.signature import signature
from kdiag.errors import UsageError, WorkloadError
from kdiag.executors.emulator import EmulationError, Fault, NotEmulated, control_flow, emulate
from kdiag.executors.emulator.front_end import front_end


def test_a_fault_is_raised_at_the_end_of_its_launch():
    x = torch.arange(96.0)
    with emulate():
        y = torch.empty(96)
        with pytest.raises(EmulationError, match=r"out-of-bounds.*wholly outside") as caught:
            ct.launch(None, (4,), doubled, (x, y, 32))
    assert {fault.kind for fault in caught.value.faults} >= {"out-of-bounds"}
    assert all(fault.block == (3, 0, 0) for fault in caught.value.faults)


def test_what_no_block_writes_is_a_fault_at_the_end():
    with emulate(on_fault="record") as emulation:
        y = torch.empty(100)
        ct.launch(None, (3,), doubled, (torch.arange(100.0), y, 32))
    (fault,) = emulation.faults
    assert (fault.kind, fault.array, fault.element, fault.count) == ("unwritten", "y", (96,), 4)
    with pytest.raises(EmulationError, match=r"unwritten: 4 of 100"):
        three_blocks_of_four(y)


def three_blocks_of_four(kept):
    with emulate() as emulation:
        emulation.poison(kept)
        ct.launch(None, (3,), doubled, (torch.arange(100.0), kept, 32))


def test_a_workspace_that_is_gone_need_not_be_filled_but_a_result_must():
    x, y = torch.arange(100.0), torch.zeros(100)

    def through_a_workspace():
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


def test_what_other_code_writes_is_written():
    x = torch.arange(100.0)
    with emulate():
        y = torch.empty(100)
        ct.launch(None, (3,), doubled, (x, y, 32))
        y[96:] = 0
        z = torch.empty(100)
        ct.launch(None, (4,), doubled, (y, z, 32))
    assert torch.equal(z[:96], 4 * x[:96])


def test_waiting_for_ever_is_said(monkeypatch):
    monkeypatch.setattr(control_flow, "MOST_ITERATIONS", 100)
    running = threading.active_count()
    with pytest.raises(NotEmulated, match="has not ended after 100 iterations"), emulate():
        ct.launch(None, (2,), endless, (torch.zeros(2),))
    assert threading.active_count() == running


def test_a_rule_of_cutile_is_told_with_its_line():
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
def test_what_cannot_be_launched(grid, arguments, sentence):
    with pytest.raises(WorkloadError, match=sentence), emulate():
        ct.launch(None, grid, doubled, arguments)


@pytest.mark.parametrize("step", [0, -1])
def test_a_step_that_leads_nowhere(step):
    with emulate(on_fault="record") as emulation:
        ct.launch(None, (1,), stepping, (np.zeros(1, np.int32), step))
    (fault,) = emulation.faults
    assert (fault.kind, fault.line) == ("assumption", stepping._pyfunc.__code__.co_firstlineno + 3)


def test_code_that_the_front_end_spoils_is_refused():
    with pytest.raises(NotEmulated, match="a fault of its front end"), emulate():
        ct.launch(None, (1,), moved_by_cutile, (np.zeros(4, np.float32),))


def test_an_index_that_a_loop_carries_beyond_32_bits():
    with emulate(on_fault="record") as emulation:
        ct.launch(None, (1,), advancing, (np.zeros(8, np.float32), np.zeros(1, np.float32), 2**30))
    assert [fault.kind for fault in emulation.faults] == ["index-overflow"]


def test_one_thread_at_a_time_and_faults_that_travel():
    found: list[Exception] = []

    def elsewhere():
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
def test_arrays_that_lie_in_odd_ways(x):
    with emulate() as emulation:
        y = emulation.empty(tuple(x.shape))
        ct.launch(None, (2,), halves if len(x.shape) > 1 else doubled, (x, y, 32))
    assert np.array_equal(y, np.asarray(x) * 2)


def test_a_read_only_output_is_refused():
    y = np.zeros(64, np.float32)
    y.flags.writeable = False
    with pytest.raises(WorkloadError, match="y, which is a read-only array"), emulate():
        ct.launch(None, (2,), doubled, (np.zeros(64, np.float32), y, 32))


def test_a_type_that_is_not_known_is_named():
    x = np.zeros(16, np.float32)
    with pytest.raises(NotEmulated, match=r"emulator_kernels.py:\d+: the type float8_e5m3fnu"):
        front_end(unknown_type._pyfunc, signature(unknown_type, (x, x)), "sm_107")


def test_what_a_kernel_prints(capfd):
    with emulate():
        ct.launch(None, (2,), talkative, (np.float32([1, 0.5, 2, 4]),))
    assert capfd.readouterr().out == "block 0 has 1.50\nblock 1 has 6.00\n"
