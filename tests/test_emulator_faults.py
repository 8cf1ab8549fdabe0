"""Planted faults are reported with their kind, line, block and element in every order; right kernels have none."""

from contextlib import suppress
from importlib import import_module

import pytest

pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

from cuda.tile._exception import TileError

from kdiag.executors.emulator import emulate

ORDERS = ({}, {"lockstep": False}, {"shuffle": 1}, {"shuffle": 2, "lockstep": False})
ROOMS = [import_module(f"emulator_planted_{room}") for room in ("bounds", "addresses", "blocks", "values", "rules")]
PLANTED = [planted for room in ROOMS for planted in room.PLANTED]
NAMES = [planted.name for planted in PLANTED]


def emulated(run, order):
    out = None
    with emulate(on_fault="record", **order) as emulation, suppress(TileError):
        out = run()
    return out, emulation.faults


def found(planted, order):
    """The faults of the wrong launch, whose places are checked."""
    faults = emulated(planted.wrong, order)[1]
    places = {(fault.kernel, fault.kind, fault.line) for fault in faults}
    must, may = planted.places()
    assert must <= places <= must | may, "\n".join(map(str, faults))
    assert places
    assert {fault.file for fault in faults} == {planted.kernels[0]._pyfunc.__code__.co_filename}
    return faults


@pytest.mark.parametrize("planted", PLANTED, ids=NAMES)
def test_a_planted_fault_is_found(planted):
    faults = found(planted, {})
    if planted.block is not None:
        assert (planted.block, 0, 0) in [fault.block for fault in faults]
    elements = [(fault.array, fault.element) for fault in faults]
    if planted.element is not None:
        assert (planted.array, planted.element) in elements
    elif planted.array is not None:
        assert planted.array in [array for array, _ in elements]
    assert planted.says in "\n".join(fault.text for fault in faults)


@pytest.mark.parametrize("order", ORDERS[1:], ids=str)
@pytest.mark.parametrize("planted", PLANTED, ids=NAMES)
def test_the_order_of_blocks_does_not_hide_it(planted, order):
    found(planted, order)


@pytest.mark.parametrize("planted", PLANTED, ids=NAMES)
def test_the_right_kernel_has_no_faults_and_one_result(planted):
    outs = []
    for order in ORDERS:
        out, faults = emulated(planted.right, order)
        assert not faults, "\n".join(map(str, faults))
        outs.append(out)
    torch.testing.assert_close(outs[0], planted.expected)
    for out in outs[1:]:
        assert torch.equal(outs[0], out)
